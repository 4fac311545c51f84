/* limits.h - are there enough descriptors and processes for the ranks?
 *
 * Checked before a rank starts: one too few would end a run of which a half is running.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_LIMITS_H
#define MUSTER_AGENT_LIMITS_H

#include "plan/node_plan.h"
#include "plan/prepare.h"

/* Raise our soft limit of descriptors to the hard one. The ranks keep the limit they would
 * have had, if the guard is forked before. */
void limits_raise(void);

/* -1 with failure if this agent could not start the plan's ranks. 0 is no promise: other
 * processes may come. */
int limits_check(const struct node_plan *plan, struct failure *failure);

#endif
