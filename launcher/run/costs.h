/* costs.h - what the nodes of a run cost, as it happens (elastic/cost.h)
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COSTS_H
#define MUSTER_COSTS_H

#include <stdbool.h>

struct node;
struct run;

/* The run begins, or is resumed with what it has cost so far. */
void costs_open(struct run *run);
void costs_close(struct run *run);

/* With each heartbeat: which nodes are there? */
void costs_look(struct run *run);

/* Its cloud says that the node's machine is "spot" or "on-demand". */
void costs_class(struct run *run, const struct node *node, const char *class);

/* A generation has its ranks; a checkpoint was written; its ranks are gone. */
void costs_running(struct run *run);
void costs_checkpoint(struct run *run);
void costs_over(struct run *run, bool is_good);

#endif
