/* gpu_slots.h - the slots of hosts whose line in the hostfile has no slots=N: their GPUs
 *
 * The agents count them before the plan is made. This is a run of its own that starts nothing, as
 * muster clean is.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GPU_SLOTS_H
#define MUSTER_GPU_SLOTS_H

#include "options/options.h"
#include "plan/select.h"

/* Ask the hosts that rules choose, if that is wanted (a run that connects, and hosts without
 * slots). Returns 0; an exit status, when the user was told why, as of slots found; or -1 with err:
 * there are not the hosts that rules want. here: the environment. */
int gpu_slots_find(const struct options *options, struct hostlist *hosts,
                   const struct select_rules *rules, char *const *here, struct error *err);

#endif
