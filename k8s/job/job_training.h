/* job_training.h - a job from a TrainingJob of the ET operator, as Arena's etjob makes them
 *
 * Source: api/v1alpha1/trainingjob_types.go of AliyunContainerService/et-operator.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JOB_TRAINING_H
#define MUSTER_JOB_TRAINING_H

#include "job/job.h"

#define JOB_TRAINING_VERSION "kai.alibabacloud.com/v1alpha1"
#define JOB_TRAINING_KIND    "TrainingJob"

/* Like job_from_mpi(). minReplicas and maxReplicas make the job elastic. */
int job_from_training(struct job *job, const json_t *document, struct error *err);

#endif
