/* last_world.h - the world that a run has had last, for muster resume: run/world.h has its form
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

/* Put the hosts that it had first, by node rank; others come in only if there can be no world
 * without them. *count: how many of the hosts are the world. False: none can be made of it. */
bool last_world_choose(const json_t *last, const struct member_rules *rules,
                       struct selection *hosts, size_t *count);

/* The number of nodes that was asked for; 0: none. */
size_t last_world_target(const json_t *last);

/* The batch of the run's first world, unless the ds_config has changed since. */
void last_world_batch(const json_t *last, struct batch_rules *batch);

#endif
