/* job_document.h - a job as a DeepSpeedJob document
 *
 * Reads muster's own format (muster.dev/v1beta1), T9k's (batch.tensorstack.dev/v1beta1), MPIJobs
 * (job_mpi.h) and TrainingJobs (job_training.h). Writes only muster's; reading that document gives
 * the same job.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JOB_DOCUMENT_H
#define MUSTER_JOB_DOCUMENT_H

#include "job/job.h"

/* job must be { 0 }; on failure it is { 0 } again. Does not call job_check(). */
int job_from_document(struct job *job, const json_t *document, struct error *err);

json_t *job_document(const struct job *job); /* returns a new reference */

#endif
