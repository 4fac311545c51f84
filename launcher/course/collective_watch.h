/* collective_watch.h - asks NCCL how often the ranks have launched each collective
 *
 * One node of each world asks the rank that listens there for NCCL's RAS, which answers for all
 * nodes: whatever the size of a run, this is one frame every 30 s. If a node has no answer, the
 * next one asks. What is known stands in run->collectives (elastic/collectives.h): --hang-timeout,
 * --timeout and muster status use it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COLLECTIVE_WATCH_H
#define MUSTER_COLLECTIVE_WATCH_H

#include <jansson.h>

#include "err.h"

struct node;
struct plan;
struct run;

/* Makes run->collectives and run->collective_watch. */
void collective_watch_open(struct run *run);
void collective_watch_close(struct run *run);
/* The ranks of a world, which may be one role, start again, perhaps on other nodes. */
void collective_watch_again(struct run *run, const struct plan *world);

/* Handles COLLECTIVES. -1 with err: the body is not what doc/PROTOCOL says. */
int collective_watch_take(struct run *run, const struct node *node, const json_t *body,
                          struct error *err);

#endif
