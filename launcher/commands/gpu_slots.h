/* gpu_slots.h - counts the GPUs of hosts without slots=N in the hostfile, as their slots
 *
 * The agents count the GPUs before the plan is made. Counting is a separate run that starts no
 * ranks, like muster clean.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GPU_SLOTS_H
#define MUSTER_GPU_SLOTS_H

#include "options/options.h"
#include "plan/select.h"

/* Asks the hosts that rules choose, if it is necessary (the run connects, and hosts lack
 * slots). Reports the slots found. Returns 0; an exit status after it reported the reason to
 * the user; or -1 with err if the hosts do not satisfy rules. here: the environment. */
int gpu_slots_find(const struct options *options, struct hostlist *hosts,
                   const struct select_rules *rules, char *const *here, struct error *err);

#endif
