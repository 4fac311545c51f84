/* lost.h - workers that a run has lost
 *
 * These functions are a part of plan.h, and pure, too.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIFE_LOST_H
#define MUSTER_LIFE_LOST_H

#include "life/plan.h"

/* Returns the first failed worker other than the launcher; if none has failed and is_lost, the
 * first that is gone. 0: none. */
size_t lost_find(const struct job *job, const struct observed *observed, bool is_lost);

/* Is that Pod gone, and the run about to end because of that? muster replaces the Pod only when
 * the run has ended, or after PLAN_WORKER_S, because the run could not use the new one. */
bool lost_ends_run(const struct job *job, const struct observed *observed, size_t number,
                   int64_t now_s);

#endif
