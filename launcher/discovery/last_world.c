/* last_world.c - see last_world.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "discovery/last_world.h"

#include <stdlib.h>
#include <string.h>

#include "elastic/next_world.h"
#include "xalloc.h"

#define NATURAL_MAX (1 << 20) /* nodes or ranks */

static bool   last_members(struct membership *members, const json_t *nodes,
                           const struct member_rules *rules, const struct selection *hosts);
static size_t find_host(const struct selection *hosts, const char *name);
static size_t last_places(struct membership *members, const struct member_rules *rules,
                          size_t *world);
static void   put_first(struct selection *hosts, const size_t *world, size_t places,
                        const int *most);
static size_t natural(const json_t *object, const char *key);

bool last_world_choose(const json_t *last, const struct member_rules *rules,
                       struct selection *hosts, size_t *count)
{
    const json_t     *nodes = json_object_get(last, "nodes");
    struct membership members = { 0 };
    size_t            places = 0, *world;

    if (last_members(&members, nodes, rules, hosts)) {
        world = xcalloc(members.count + members.places + 1, sizeof *world);
        places = last_places(&members, rules, world);
        if (places > 0)
            put_first(hosts, world, places, rules->is_elastic ? NULL : members.ranks);
        free(world);
    }
    membership_clear(&members);
    if (places == 0)
        return false;
    *count = places;
    return true;
}

/* Restores the members of the last world. An elastic run needs no other hosts; in other runs
 * they may take an empty place. False: there were no members, or the file is broken. */
static bool last_members(struct membership *members, const json_t *nodes,
                         const struct member_rules *rules, const struct selection *hosts)
{
    size_t        places = json_array_size(nodes), i, j;
    size_t       *world = xcalloc(places + 1, sizeof *world);
    const json_t *node;
    bool          is_whole = places > 0;

    for (i = 0; i < hosts->count; i++)
        membership_add(members, hosts->node[i].host->name, hosts->node[i].slots);
    json_array_foreach(nodes, i, node) {
        const char *host = json_string_value(json_object_get(node, "host"));

        world[i] = find_host(hosts, host != NULL ? host : "");
        if (world[i] == MEMBERSHIP_NONE) { /* the host is no longer listed */
            world[i] = membership_add(members, "", (int)natural(node, "ranks"));
            membership_unlisted(members, world[i], 0, 0);
        }
        for (j = 0; j < i; j++)
            is_whole = is_whole && world[j] != world[i];
    }
    for (i = 0; i < members->count && !rules->is_elastic; i++)
        membership_joined(members, i);
    membership_take(members, rules, world, places);
    json_array_foreach(nodes, i, node) {
        membership_restore_ranks(members, i, (int)natural(node, "ranks"));
        if (!json_is_true(json_object_get(node, "is_here")))
            membership_lost(members, world[i], 0, false);
    }
    free(world);
    return is_whole;
}

static size_t find_host(const struct selection *hosts, const char *name)
{
    size_t i;

    for (i = 0; i < hosts->count; i++)
        if (strcmp(hosts->node[i].host->name, name) == 0)
            return i;
    return MEMBERSHIP_NONE;
}

/* If the members that were there are too few, tries with the members that were away, too. */
static size_t last_places(struct membership *members, const struct member_rules *rules,
                          size_t *world)
{
    size_t places = next_world_choose(members, rules, world), i;

    if (places > 0)
        return places;
    for (i = 0; i < members->count; i++)
        if (members->item[i].state == MEMBER_AWAY)
            membership_joined(members, i);
    return next_world_choose(members, rules, world);
}

/* most: the maximum number of ranks of each place; NULL: all slots. */
static void put_first(struct selection *hosts, const size_t *world, size_t places,
                      const int *most)
{
    struct selected *made = xcalloc(hosts->count, sizeof *made);
    bool            *is_put = xcalloc(hosts->count, sizeof *is_put);
    size_t           i, used = places;

    for (i = 0; i < places; i++) {
        made[i] = hosts->node[world[i]];
        is_put[world[i]] = true;
        if (most != NULL && most[i] < made[i].slots)
            made[i].slots = most[i];
    }
    for (i = 0; i < hosts->count; i++)
        if (!is_put[i])
            made[used++] = hosts->node[i];
    memcpy(hosts->node, made, hosts->count * sizeof *made);
    free(is_put);
    free(made);
}

size_t last_world_target(const json_t *last)
{
    return natural(last, "target");
}

void last_world_batch(const json_t *last, struct batch_rules *batch)
{
    const json_t      *numbers = json_object_get(last, "batch"), *node;
    const struct batch first = { json_integer_value(json_array_get(numbers, 0)),
                                 json_integer_value(json_array_get(numbers, 1)),
                                 json_integer_value(json_array_get(numbers, 2)) };
    struct batch       same;
    int64_t            ranks = 0;
    size_t             i;

    json_array_foreach(json_object_get(last, "nodes"), i, node)
        ranks += (int64_t)natural(node, "ranks");
    if (first.total < 1 || first.micro < 1 || first.steps < 1)
        return;
    batch->first = first;
    if ((batch->given.total > 0 && batch->given.total != first.total) ||
        batch_of(batch, ranks, &same) < 0)
        batch->first = (struct batch){ 0 };
}

static size_t natural(const json_t *object, const char *key)
{
    json_int_t number = json_integer_value(json_object_get(object, key));

    return number > 0 && number <= NATURAL_MAX ? (size_t)number : 0;
}
