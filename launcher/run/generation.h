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
#include <stddef.h>

#include "err.h"

struct member_rules;
struct node;
struct run;
struct generation;

struct generation *generation_new(struct run *run);
void               generation_free(struct generation *generation); /* NULL is fine */

/* Who may take part. */
const struct member_rules *generation_members(const struct run *run);

/* Could another generation follow this one? Then agents stay when it is over. */
bool generation_may_follow(const struct run *run);

/* The run is ending. One whose generation stops may go on. */
bool generation_is_last(const struct run *run);

/* May one follow though nodes are missing? Not once the end of the run is decided. */
bool generation_goes_on(const struct run *run);

/* Perhaps this generation is over. From the next turn of the event loop: decide what follows. */
void generation_look(struct run *run);

/* Every node is over: tell why there is no other generation, where that was wanted. */
void generation_end(struct run *run);

/* While it restarts: a node was lost. */
void generation_lost_node(struct run *run, const struct node *node);

/* Spares have come or gone: from the next turn of the event loop, look what follows. */
void generation_changed(struct run *run);
/* The clock of elastic/members.h. */
double generation_now_s(void);

/* A rank has failed: how long to wait for the ends of the others before they are stopped. */
double generation_others_s(const struct run *run);

/* End it, as the text says, so that the next one has other nodes. */
void generation_end_for_change(struct run *run, const char *text);
/* The same, unless the next one would have the same nodes. */
void generation_change(struct run *run, const char *text);

/* The run is to go on with so many nodes, after a checkpoint for which the ranks have within_s.
 * -1 with err: it may not. */
int generation_scale(struct run *run, size_t nodes, double within_s, struct error *err);

#endif
