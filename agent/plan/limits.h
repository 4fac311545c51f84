/* limits.h - are there enough descriptors and processes for the ranks? If not, why?
 *
 * Checked before a rank is forked, so that the message can say how many are missing.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_LIMITS_H
#define MUSTER_AGENT_LIMITS_H

#include "plan/node_plan.h"
#include "plan/prepare.h"

/* -1 with failure if this agent could not start the plan's ranks. 0 is no promise:
 * other processes may start. */
int limits_check(const struct node_plan *plan, struct failure *failure);

/* A step failed with that errno. Fills failure with the text and, if a limit was reached, with
 * its name and value, and hint with how to raise it; else hint is "". */
void limits_failure(struct failure *failure, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
