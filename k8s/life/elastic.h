/* elastic.h - changes of an elastic job's workers while its run continues
 *
 * These functions are a part of plan.h, and pure, too. The hostfile has the workers 0 to N-1;
 * the launcher watches it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIFE_ELASTIC_H
#define MUSTER_LIFE_ELASTIC_H

#include "life/plan.h"

/* Is there a launcher that continues, whatever happens to the other Pods? */
bool elastic_goes_on(const struct job *job, const struct observed *observed);

/* Returns how many workers the hostfile should have: all that the job has, but new ones only
 * when they are ready. */
int64_t elastic_hosts(const struct job *job, const struct observed *observed);

/* May this worker's Pod be deleted? Yes if it has ended, or if it must leave and the launcher
 * has released it or never had it. */
bool elastic_may_go(const struct job *job, const struct observed *observed, size_t number,
                    int64_t now_s);

/* Has the launcher waited in vain for workers? */
bool elastic_has_waited(const struct job *job, const struct observed *observed);

#endif
