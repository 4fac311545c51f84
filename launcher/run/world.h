/* world.h - which nodes the next generation has: plan, connections and all that is kept by node
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

/* The world, for a muster resume that comes later; status.json and result.json keep it:
 *
 *     {"nodes": [{"host": "te1", "ranks": 8, "is_here": true}, ...], "target": 3,
 *      "batch": [256, 4, 2]}
 *
 * nodes are by node rank; is_here is false of one that was lost, or is to leave. target is what
 * muster scale, or --num_nodes, has asked for (0: nothing). batch is that of the first world of the
 * run: total, micro batch, steps. NULL: this run does not go on. Caller frees. */
json_t *world_json(const struct run *run);

/* Make run->node: one for each of the plan's, which waits for its connection. And free them, with
 * the connections. */
void world_make_nodes(struct run *run);
void world_free_nodes(struct run *run);

/* The first world is that of the plan. What the options say of members, and of a ds_config among
 * the arguments of the script, into rules. They borrow run->batch. */
void world_open(struct run *run, struct member_rules *rules);
void world_close(struct run *run);

/* The batch of the ds_config alone keeps nodes that are here out of a world of so many places. */
bool world_is_held(const struct run *run, const struct member_rules *rules, size_t places);

/* How many of the hosts, the first ones, are the first world; the others are spares. If a run is
 * resumed, those of its last world that were there become the first ones, and others only if there
 * can be no world without them. -1: there are not enough, or the sizes
 * that are allowed exclude each other. */
int world_first_size(const struct options *options, struct selection *hosts, size_t *count,
                     struct error *err);

/* No rank runs. world: which member has which place. Nodes that lose their place go to the pool,
 * and those that are over are forgotten. -1 with err if there can be no such plan: all is as it
 * was. */
int world_change(struct run *run, const struct member_rules *rules, const size_t *world,
                 size_t places, struct error *err);

#endif
