/* replicas.h - the workers and the launcher of another operator's document
 *
 * MPI operator and ET operator describe both by a Pod template. muster has one template, that of
 * the workers, and makes its launcher from it; each field of the launcher's that is lost on the
 * way becomes a warning of the job.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REPLICAS_H
#define MUSTER_REPLICAS_H

#include "job/fields.h"
#include "job/job.h"

#define REPLICAS_RETRIES 6 /* both operators' backoffLimit, if the document has none */

/* Reads replicas and template. container is the name of that with the ranks; NULL: not given.
 * The caller reads the other fields. */
void replicas_read_worker(struct job *job, struct fields *worker, const char *container);

/* Reads replicas and template, and from it the command. Call it after replicas_read_worker(). */
void replicas_read_launcher(struct job *job, struct fields *launcher, const char *container);

/* Warns about labels of the document, which may be a queue's: muster's objects do not get them. */
void replicas_warn_labels(struct job *job, const struct fields *metadata);

#endif
