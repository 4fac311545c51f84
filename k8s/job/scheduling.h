/* scheduling.h - all Pods of a job at once, or none: which scheduler's way it is asked for
 *
 * Volcano, the scheduler-plugins and T9k's scheduler each have a PodGroup of their own; kube-queue
 * and its kind hold a job back by an annotation.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SCHEDULING_H
#define MUSTER_SCHEDULING_H

#include "job/fields.h"
#include "job/job.h"

#define SCHEDULING_VOLCANO "volcano"
#define SCHEDULING_T9K     "t9k-scheduler"

/* After the last option: by --gang, --scheduler, --queue and --priority. */
void scheduling_end(struct job *job, bool wants_gang);

/* spec.scheduler of a document, and that field of a job; NULL: it has none. New reference. */
void    scheduling_read(struct job *job, struct fields *spec);
json_t *scheduling_document(const struct job *job);

#endif
