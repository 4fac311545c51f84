/* job_document.h - a job as a DeepSpeedJob document
 *
 * Read: muster's own (muster.dev/v1beta1), T9k's (batch.tensorstack.dev/v1beta1), and MPIJobs
 * (job_mpi.h). Written: the first alone, with what it means in muster's words; reading that gives
 * the same job.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JOB_DOCUMENT_H
#define MUSTER_JOB_DOCUMENT_H

#include "job/job.h"

/* job must be { 0 }; on failure it is cleared. Does not call job_check(). */
int job_from_document(struct job *job, const json_t *document, struct error *err);

json_t *job_document(const struct job *job); /* a new reference */

#endif
