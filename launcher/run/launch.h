/* launch.h - carry a plan out: from the first connection to the exit status
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LAUNCH_H
#define MUSTER_LAUNCH_H

#include "commands/detach.h"
#include "options/options.h"
#include "plan/plan.h"

/* Run it all and print the report. Fills in the plan's master and interfaces
 * on the way. detach: whom to tell, with --detach; else NULL. Returns muster's exit status
 * (outcome.h). */
int launch_run(const struct options *options, struct plan *plan, struct detach *detach);

/* How long a run that was told to end may take at most. */
double launch_end_s(double grace_s);

#endif
