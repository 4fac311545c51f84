/* status.h - the state of a job for other programs, in the format of T9k's DeepSpeedJob
 *
 * T9k's documents contradict each other. Here a job that has failed is Failed and not
 * Completed, and the first condition is called Initialized.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIFE_STATUS_H
#define MUSTER_LIFE_STATUS_H

#include <jansson.h>

#include "life/plan.h"

/* Returns {phase, reason, conditions, tasks, aggregate, backoffCount ...}, a new reference. */
json_t *status_make(const struct job *job, const struct observed *observed,
                    const struct plan *plan);

/* Returns the status of a resource that cannot become a job. reason: one word, "Invalid". */
json_t *status_refuse(const char *reason, const char *why);

/* Adds times to the conditions: one that has not changed keeps the time that it has in the
 * custom resource. False: the resource has this status already. */
bool status_stamp(json_t *status, const json_t *resource, int64_t now_s);

#endif
