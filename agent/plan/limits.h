/* limits.h - descriptors and processes that the ranks will take
 *
 * Found out before a rank starts: one too few would else end a run of which half
 * is there already.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_LIMITS_H
#define MUSTER_AGENT_LIMITS_H

#include "plan/node_plan.h"
#include "plan/prepare.h"

/* Take all the descriptors that the hard limit gives. The ranks keep the limit that
 * they would have had, where the guard is forked before. */
void limits_raise(void);

/* -1 with failure when this agent could not start the plan's ranks. That they fit in
 * now is no promise: others may come. */
int limits_check(const struct node_plan *plan, struct failure *failure);

#endif
