/* status.h - the state of a job for other programs, in the shape that T9k's DeepSpeedJob has
 *
 * Where T9k's texts contradict each other: a job that has failed is Failed and not Completed, and
 * the first condition is called Initialized.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIFE_STATUS_H
#define MUSTER_LIFE_STATUS_H

#include <jansson.h>

#include "life/plan.h"

/* {phase, reason, conditions, tasks, aggregate, backoffCount ...}, a new reference. */
json_t *status_make(const struct job *job, const struct observed *observed,
                    const struct plan *plan);

/* That of a custom resource that cannot become a job. reason: one word, "Invalid". */
json_t *status_refuse(const char *reason, const char *why);

/* Of that custom resource: a condition that is as it was keeps its time. Changes status; false: it
 * is what the resource has already. */
bool status_stamp(json_t *status, const json_t *resource, int64_t now_s);

#endif
