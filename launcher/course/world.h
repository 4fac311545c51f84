/* world.h - the nodes of the next generation: plan, connections and all state kept per node
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WORLD_H
#define MUSTER_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include "elastic/membership.h"
#include "err.h"
#include "options/options.h"
#include "plan/select.h"

struct run;

/* Make run->node, one per node of the plan, not yet connected; free them and their
 * connections. */
void world_make_nodes(struct run *run);
void world_free_nodes(struct run *run);

/* Begins with the world of the plan. Fills in run->rules.members from the options, and from a
 * ds_config among the arguments of the script. They borrow run->batch. */
void world_open(struct run *run);
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
