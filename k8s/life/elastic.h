/* elastic.h - what happens to the workers of an elastic job while its run goes on
 *
 * Parts of plan.h, and as pure. The hostfile has the workers 0 to N-1; the launcher watches it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIFE_ELASTIC_H
#define MUSTER_LIFE_ELASTIC_H

#include "life/plan.h"

/* Is there a launcher that goes on, whatever happens to the others? */
bool elastic_goes_on(const struct job *job, const struct observed *observed);

/* How many workers the hostfile is to have: as many as the job, but new ones only when they are
 * ready. */
int64_t elastic_hosts(const struct job *job, const struct observed *observed);

/* May this worker's Pod be deleted: it has ended, or is to go and the launcher has let it go, or
 * never had it? */
bool elastic_may_go(const struct job *job, const struct observed *observed, size_t number,
                    int64_t now_s);

/* Has the launcher waited in vain for workers? */
bool elastic_has_waited(const struct job *job, const struct observed *observed);

#endif
