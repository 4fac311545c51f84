/* launch.h - carry a plan out: from the first connection to the exit status
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LAUNCH_H
#define MUSTER_LAUNCH_H

#include "options.h"
#include "plan.h"

/* Run it all and print the report. Fills in the plan's master and interfaces
 * on the way. Returns muster's exit status (outcome.h). */
int launch_run(const struct options *options, struct plan *plan);

#endif
