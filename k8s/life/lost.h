/* lost.h - workers that a run has lost
 *
 * Parts of plan.h, and as pure.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIFE_LOST_H
#define MUSTER_LIFE_LOST_H

#include "life/plan.h"

/* The first worker besides the launcher that has failed; if one is lost, or else that is gone.
 * 0: none. */
size_t lost_find(const struct job *job, const struct observed *observed, bool is_lost);

/* Is that Pod gone, and its run about to end of it? Until then, or until PLAN_WORKER_S are over, no
 * other one takes its place: the run could not use it. */
bool lost_ends_run(const struct job *job, const struct observed *observed, size_t number,
                   int64_t now_s);

#endif
