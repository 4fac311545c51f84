/* last_world.h - the world that a run has had last: kept for muster resume, and taken up by it
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LAST_WORLD_H
#define MUSTER_LAST_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "elastic/batch.h"
#include "elastic/members.h"
#include "plan/select.h"

struct run;

/* The world, for a muster resume that comes later; status.json and result.json keep it:
 *
 *     {"nodes": [{"host": "te1", "ranks": 8, "is_here": true}, ...], "target": 3,
 *      "batch": [256, 4, 2]}
 *
 * nodes are by node rank; is_here is false of one that was lost, or is to leave. target is what
 * muster scale, or --num_nodes, has asked for (0: nothing). batch is that of the first world of the
 * run: total, micro batch, steps. NULL: this run does not go on. Caller frees. */
json_t *last_world_json(const struct run *run);

/* Put the hosts that it had first, by node rank; others come in only if there can be no world
 * without them. *count: how many of the hosts are the world. False: none can be made of it. */
bool last_world_choose(const json_t *last, const struct member_rules *rules,
                       struct selection *hosts, size_t *count);

/* The number of nodes that was asked for; 0: none. */
size_t last_world_target(const json_t *last);

/* The batch of the run's first world, unless the ds_config has changed since. */
void last_world_batch(const json_t *last, struct batch_rules *batch);

#endif
