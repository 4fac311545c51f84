/* generation.h - from one start of all ranks to the next
 *
 * When a generation is over, no process of it is left anywhere, and the agents stay. Then
 * elastic/policy.h decides what follows: the end of the run, or, after a pause, another
 * generation of the same ranks on the same nodes, with another MASTER_PORT. It begins as the
 * first one did: every node is prepared, and no rank starts before all are READY.
 *
 * Other parts of the run note what has happened and call run_changed(); generation.c decides
 * what follows from it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GENERATION_H
#define MUSTER_GENERATION_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct node;
struct run;
struct generation;

/* Fill in run->rules, run->pool, run->look and run->generation; free the last two (NULL is
 * fine). */
void generation_open(struct run *run);
void generation_close(struct run *run);

/* From now on run_changed() does nothing: all is over, but the event loop runs on for output
 * and for connections that close. */
void generation_look_no_more(struct run *run);

/* Is the run ending? If only its generation stops, the run may continue. */
bool generation_is_last(const struct run *run);

/* Called when every node is over: reports why no other generation follows, if one was
 * wanted. */
void generation_end(struct run *run);

/* Handles the loss of a node while the run restarts. */
void generation_lost_node(struct run *run, const struct node *node);

/* A rank has failed: returns how long to wait for the others to exit before they are
 * stopped. */
double generation_others_s(const struct run *run);

/* Makes the run continue with this many nodes, after a checkpoint for which the ranks have
 * within_s. -1 with err: the run may not have that many. */
int generation_scale(struct run *run, size_t nodes, double within_s, struct error *err);

#endif
