/* world.h - the nodes of the next generation: plan, connections and all state kept per node
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WORLD_H
#define MUSTER_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "elastic/members.h"
#include "err.h"
#include "options/options.h"
#include "plan/select.h"

struct run;

/* Returns the world for a later muster resume; status.json and result.json keep it:
 *
 *     {"nodes": [{"host": "te1", "ranks": 8, "is_here": true}, ...], "target": 3,
 *      "batch": [256, 4, 2]}
 *
 * nodes are in the order of their node ranks; is_here is false for a node that was lost or will
 * leave. target is the number that muster scale or --num_nodes has asked for (0: none). batch
 * is that of the first world of the run: total, micro batch, steps. NULL: this run cannot lose
 * nodes. Caller frees. */
json_t *world_json(const struct run *run);

/* Make run->node, one per node of the plan, not yet connected; free them and their
 * connections. */
void world_make_nodes(struct run *run);
void world_free_nodes(struct run *run);

/* Begins with the world of the plan. Fills in rules from the options, and from a ds_config
 * among the arguments of the script. rules borrows run->batch. */
void world_open(struct run *run, struct member_rules *rules);
void world_close(struct run *run);

/* Could the world have more than this many places, if it need not keep the ds_config's
 * batch? */
bool world_is_held(const struct run *run, const struct member_rules *rules, size_t places);

/* Sets count to how many hosts, from the first, are the first world; the others are spares. If
 * a run is resumed, the hosts that were there in its last world are moved to the front, and
 * others only if there can be no world without them. -1 with err: there are not enough hosts,
 * or the allowed sizes exclude each other. */
int world_first_size(const struct options *options, struct selection *hosts, size_t *count,
                     struct error *err);

/* Changes the world while no rank runs. world: which member has which place. Nodes that lose
 * their place go to the pool; nodes that are over are freed. -1 with err: there can be no such
 * plan, and nothing has changed. */
int world_change(struct run *run, const struct member_rules *rules, const size_t *world,
                 size_t places, struct error *err);

#endif
