/* next_world.h - which hosts of a membership have which places in the next world
 *
 * Pure functions. A node that stays keeps its place, and a spare takes the place of a node that
 * does not. If an elastic world has no spare, the places close up instead, in order.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NEXT_WORLD_H
#define MUSTER_NEXT_WORLD_H

#include "elastic/membership.h"
#include "err.h"

/* Writes the next world into world, which has room for all members and places: by place, which
 * member. Returns how many places it has; 0: there can be no world now. */
size_t next_world_choose(const struct membership *members, const struct member_rules *rules,
                         size_t *world);
/* The same in a new array, which the caller frees; sets *places. */
size_t *next_world_new(const struct membership *members, const struct member_rules *rules,
                       size_t *places);
/* Returns how many nodes the next world would have; 0: there can be none. */
size_t next_world_size(const struct membership *members, const struct member_rules *rules);
/* Would the next world have the same members in the same places? */
bool next_world_is_same(const struct membership *members, const struct member_rules *rules);

/* May the world have this many nodes, of the known hosts? 0: yes, as a target; -1 with err:
 * why not, and which numbers are allowed. */
int next_world_may_have(const struct membership *members, const struct member_rules *rules,
                        size_t nodes, struct error *err);

/* Parses "16,12,8" into rules. -1: it is malformed. */
int next_world_parse_sizes(const char *text, struct member_rules *rules);

#endif
