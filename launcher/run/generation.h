/* generation.h - from one start of all ranks to the next
 *
 * When a generation is over, no process of it is left anywhere, and the agents stay. Then
 * elastic/policy.h decides what follows: the end of the run, or, after a pause, another
 * generation of the same ranks on the same nodes, with another MASTER_PORT. It begins as the
 * first one did: every node is prepared, and no rank starts before all are READY.
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

/* Returns the rules for the nodes of a world. */
const struct member_rules *generation_members(const struct run *run);

/* Could another generation follow this one? If so, agents stay when this one is over. */
bool generation_may_follow(const struct run *run);

/* Is the run ending? If only its generation stops, the run may continue. */
bool generation_is_last(const struct run *run);

/* May another generation follow although nodes are missing? Not once the end of the run is
 * decided. */
bool generation_goes_on(const struct run *run);

/* Is this generation over? If so, decides in the next turn of the event loop what follows. */
void generation_look(struct run *run);

/* Called when every node is over: reports why no other generation follows, if one was
 * wanted. */
void generation_end(struct run *run);

/* Handles the loss of a node while the run restarts. */
void generation_lost_node(struct run *run, const struct node *node);

/* Spares have come or gone: checks in the next turn of the event loop what follows. */
void generation_changed(struct run *run);
/* Reads the clock of elastic/members.h. */
double generation_now_s(void);

/* A rank has failed: returns how long to wait for the others to exit before they are
 * stopped. */
double generation_others_s(const struct run *run);

/* Ends this generation so that the next one has other nodes. text: why. */
void generation_end_for_change(struct run *run, const char *text);
/* The same, unless the next generation would have the same nodes. */
void generation_change(struct run *run, const char *text);

/* Makes the run continue with this many nodes, after a checkpoint for which the ranks have
 * within_s. -1 with err: the run may not have that many. */
int generation_scale(struct run *run, size_t nodes, double within_s, struct error *err);

#endif
