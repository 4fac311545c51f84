/* generation.h - when all ranks are started a second time
 *
 * muster chooses MASTER_PORT, and the agent of node 0 holds it, but only until the ranks start:
 * rank 0 must be able to bind it. If somebody takes the port in that moment, the run fails,
 * which is neither the program's fault nor the user's choice. So when everything has ended all
 * ranks start again, as the next generation, with another port.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GENERATION_H
#define MUSTER_GENERATION_H

#include <stdbool.h>

struct run;

/* Everything has ended: must all ranks be started again? Tells the user. */
bool generation_starts_again(const struct run *run);

#endif
