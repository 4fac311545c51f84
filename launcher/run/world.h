/* world.h - which nodes the next generation has: plan, connections and all that is kept by node
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WORLD_H
#define MUSTER_WORLD_H

#include <stddef.h>

#include "elastic/members.h"
#include "err.h"
#include "options/options.h"
#include "plan/select.h"

struct run;

/* What the options say of members. */
void world_rules(const struct options *options, struct member_rules *rules);

/* How many of the hosts, the first ones, are the first world; the others are spares. -1: there are
 * not enough, or the sizes that are allowed exclude each other. */
int world_first_size(const struct options *options, const struct selection *hosts, size_t *count,
                     struct error *err);

/* No rank runs. world: which member has which place. Nodes that lose their place go to the pool,
 * and those that are over are forgotten. -1 with err if there can be no such plan: all is as it
 * was. */
int world_change(struct run *run, const struct member_rules *rules, const size_t *world,
                 size_t places, struct error *err);

#endif
