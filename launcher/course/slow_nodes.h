/* slow_nodes.h - names the nodes that are slower than the others, while the run goes on
 *
 * elastic/slow_node.h decides, by the samples that the agents send. A slow node ends no run and
 * loses no place: the user learns of it, by a warning, muster status, the event "slow" and the end
 * report, and once more only if it was well since.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SLOW_NODES_H
#define MUSTER_SLOW_NODES_H

#include <jansson.h>

struct node;
struct plan;
struct run;
struct slow_nodes;

/* Makes run->slow_nodes. */
void slow_nodes_open(struct run *run);
void slow_nodes_free(struct slow_nodes *slow_nodes); /* NULL is fine */
/* The ranks of a world, which may be one role, start again. */
void slow_nodes_again(struct run *run, const struct plan *world);

/* Handles SAMPLES, which may hold anything. */
void slow_nodes_take(struct run *run, const struct node *node, const json_t *body);
/* The ranks of that node have reported steps. */
void slow_nodes_stepped(struct run *run, const struct node *node);

#endif
