/* generation.h - from one start of all ranks to the next
 *
 * When a generation is over, no process of it is left anywhere, and the agents stay. Then
 * elastic/policy.h decides what follows: the end of the run, or, after a pause, another generation
 * of the same ranks on the same nodes, with another MASTER_PORT. It begins as the first one did:
 * every node is prepared, and no rank starts before all are READY.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GENERATION_H
#define MUSTER_GENERATION_H

#include <stdbool.h>

#include "err.h"

struct run;
struct generation;

struct generation *generation_new(struct run *run);
void               generation_free(struct generation *generation); /* NULL is fine */

/* Could another generation follow this one? Then agents stay when it is over. */
bool generation_may_follow(const struct run *run);

/* Perhaps this generation is over. From the next turn of the event loop: decide what follows. */
void generation_look(struct run *run);

/* Every node is over: tell why there is no other generation, where that was wanted. */
void generation_end(struct run *run);

/* While it restarts: a node was lost. */
void generation_lost_node(struct run *run);

#endif
