/* job_training.h - a job from a TrainingJob of the ET operator, as Arena's etjob makes them
 *
 * Source: api/v1alpha1/trainingjob_types.go of AliyunContainerService/et-operator.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JOB_TRAINING_H
#define MUSTER_JOB_TRAINING_H

#include "job/fields.h"
#include "job/job.h"

#define JOB_TRAINING_VERSION "kai.alibabacloud.com/v1alpha1"
#define JOB_TRAINING_KIND    "TrainingJob"

/* Like job_mpi_read(). minReplicas and maxReplicas make the job elastic. */
void job_training_read(struct job *job, struct fields *root);

#endif
