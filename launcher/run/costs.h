/* costs.h - counts what the nodes of a run cost, while it runs (elastic/cost.h)
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COSTS_H
#define MUSTER_COSTS_H

#include <stdbool.h>

struct node;
struct run;

/* Starts to count; a resumed run starts with what it has cost so far. */
void costs_open(struct run *run);
void costs_close(struct run *run);

/* Checks which nodes are there. Called with each heartbeat. */
void costs_look(struct run *run);

/* Notes that the node's cloud calls the machine "spot" or "on-demand". */
void costs_class(struct run *run, const struct node *node, const char *class);

/* Called when the ranks of a generation start, when a checkpoint is seen that was written age_s
 * ago, and when the ranks are gone. */
void costs_running(struct run *run);
void costs_checkpoint(struct run *run, double age_s);
void costs_over(struct run *run, bool is_good);

#endif
