/* last_world.h - the last world of a run, for muster resume; run/run_status.h has its format
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LAST_WORLD_H
#define MUSTER_LAST_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "elastic/batch.h"
#include "elastic/membership.h"
#include "plan/select.h"

/* Puts the hosts of the last world first in hosts, by node rank. Other hosts join only if no
 * world is possible without them. *count: the number of hosts in the world. False: no world is
 * possible. */
bool last_world_choose(const json_t *last, const struct member_rules *rules,
                       struct selection *hosts, size_t *count);

/* Returns the number of nodes that the user requested; 0: none. */
size_t last_world_target(const json_t *last);

/* Sets the batch of the run's first world, unless the ds_config has changed since then. */
void last_world_batch(const json_t *last, struct batch_rules *batch);

#endif
