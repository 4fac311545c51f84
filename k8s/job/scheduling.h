/* scheduling.h - gang scheduling, which places all Pods of a job or none, and queues
 *
 * Volcano, the scheduler-plugins and T9k's scheduler each have their own kind of PodGroup.
 * Queues like kube-queue hold a job back with an annotation.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SCHEDULING_H
#define MUSTER_SCHEDULING_H

#include "job/fields.h"
#include "job/job.h"

#define SCHEDULING_VOLCANO "volcano"
#define SCHEDULING_T9K     "t9k-scheduler"

/* Applies --gang, --scheduler, --queue and --priority; call it after the last option. */
void scheduling_end(struct job *job, bool wants_gang);

/* Reads spec.scheduler of a document into a job, and makes that field from a job: a new
 * reference, or NULL if the job needs none. */
void    scheduling_read(struct job *job, struct fields *spec);
json_t *scheduling_document(const struct job *job);

#endif
