/* next_world.c - see next_world.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/next_world.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "xalloc.h"

#define WORLD_MOST (1 << 20) /* ranks */

static bool   is_free(const struct membership *members, const size_t *world, size_t places,
                      size_t which);
static size_t find_spare(const struct membership *members, const size_t *world, size_t places,
                         int slots);
static size_t fit(const struct membership *members, const struct member_rules *rules,
                  const size_t *world, size_t places);
static const char *is_refused(const struct member_rules *rules, size_t nodes, int ranks);
static size_t      hosts_in_order(const struct membership *members, size_t *which);
static int  ranks_of(const struct membership *members, const size_t *which, size_t nodes);
static void list_allowed(const struct membership *members, const struct member_rules *rules,
                         const size_t *which, size_t hosts, char *text, size_t size);

size_t next_world_choose(const struct membership *members, const struct member_rules *rules,
                         size_t *world)
{
    size_t place, kept = 0, spare;

    for (place = 0; place < members->places; place++) /* also a member that has come back */
        world[place] = membership_is_usable(members, members->place[place])
                           ? members->place[place]
                           : MEMBERSHIP_NONE;
    for (place = 0; place < members->places; place++) {
        if (world[place] == MEMBERSHIP_NONE)
            world[place] = find_spare(members, world, members->places,
                                      rules->is_elastic ? 1 : members->ranks[place]);
        if (world[place] == MEMBERSHIP_NONE && !rules->is_elastic)
            return 0;
        if (world[place] != MEMBERSHIP_NONE)
            world[kept++] = world[place];
    }
    if (!rules->is_elastic)
        return kept;
    while ((membership_most_nodes(rules) == 0 || kept < membership_most_nodes(rules)) &&
           (spare = find_spare(members, world, kept, 1)) != MEMBERSHIP_NONE)
        world[kept++] = spare;
    return fit(members, rules, world, kept);
}

/* Returns the first in the order of the hosts. A member with a place in the last world keeps
 * it. */
static size_t find_spare(const struct membership *members, const size_t *world, size_t places,
                         int slots)
{
    size_t i;

    for (i = 0; i < members->count; i++)
        if (membership_is_usable(members, i) && members->item[i].slots >= slots &&
            is_free(members, world, places, i))
            return i;
    return MEMBERSHIP_NONE;
}

static bool is_free(const struct membership *members, const size_t *world, size_t places,
                    size_t which)
{
    size_t i;

    if (members->item[which].state == MEMBER_IN)
        return false;
    for (i = 0; i < places; i++)
        if (world[i] == which)
            return false;
    return true;
}

/* Returns the largest allowed size: drops the last places. */
static size_t fit(const struct membership *members, const struct member_rules *rules,
                  const size_t *world, size_t places)
{
    int    ranks = 0;
    size_t i;

    for (i = 0; i < places; i++)
        ranks += members->item[world[i]].slots;
    while (places > 0 &&
           ((membership_most_nodes(rules) > 0 && places > membership_most_nodes(rules)) ||
            is_refused(rules, places, ranks) != NULL))
        ranks -= members->item[world[--places]].slots;
    return places;
}

/* Returns the option that forbids such a world; NULL: it is allowed. */
static const char *is_refused(const struct member_rules *rules, size_t nodes, int ranks)
{
    bool         is_listed = rules->worlds_count == 0;
    struct batch batch;
    size_t       i;

    if (nodes < rules->min_nodes || (rules->max_nodes > 0 && nodes > rules->max_nodes))
        return "--nnodes";
    if (ranks < rules->min_ranks)
        return "--min-np";
    if (rules->max_ranks > 0 && ranks > rules->max_ranks)
        return "--max-np";
    for (i = 0; i < rules->worlds_count && !is_listed; i++)
        is_listed = rules->worlds[i] == ranks;
    if (!is_listed)
        return "--worlds";
    if (rules->batch != NULL && batch_of(rules->batch, ranks, &batch) < 0)
        return "the batch size of its ds_config";
    return NULL;
}

size_t *next_world_new(const struct membership *members, const struct member_rules *rules,
                       size_t *places)
{
    size_t *world = xcalloc(members->count + members->places + 1, sizeof *world);

    *places = next_world_choose(members, rules, world);
    return world;
}

size_t next_world_size(const struct membership *members, const struct member_rules *rules)
{
    size_t places;

    free(next_world_new(members, rules, &places));
    return places;
}

bool next_world_is_same(const struct membership *members, const struct member_rules *rules)
{
    size_t  places;
    size_t *world = next_world_new(members, rules, &places);
    bool    is_same = places == members->places &&
                   (places == 0 || memcmp(world, members->place, places * sizeof *world) == 0);

    free(world);
    return is_same;
}

/* --- another size ----------------------------------------------------------- */

int next_world_may_have(const struct membership *members, const struct member_rules *rules,
                        size_t nodes, struct error *err)
{
    size_t     *which = xcalloc(members->count + 1, sizeof *which);
    size_t      hosts = hosts_in_order(members, which);
    int         ranks = nodes <= hosts ? ranks_of(members, which, nodes) : 0;
    const char *option = NULL;
    char        allowed[120];
    int         rc = 0;

    list_allowed(members, rules, which, hosts, allowed, sizeof allowed);
    if (rules->max_nodes > 0 && nodes > rules->max_nodes)
        rc = err_set(err, "%zu nodes are more than --nnodes allows; allowed: %s", nodes,
                     allowed);
    else if (nodes > hosts)
        rc = err_set(err,
                     "%zu nodes: there %s only %zu host%s for this run; add hosts to its list "
                     "first",
                     nodes, hosts == 1 ? "is" : "are", hosts, hosts == 1 ? "" : "s");
    else if ((option = is_refused(rules, nodes, ranks)) != NULL)
        rc = err_set(err, "%zu node%s with %d rank%s: %s does not allow that; allowed: %s",
                     nodes, nodes == 1 ? "" : "s", ranks, ranks == 1 ? "" : "s", option,
                     allowed);
    free(which);
    return rc;
}

/* Lists the hosts in the order in which next_world_choose() would take them if all were here.
 */
static size_t hosts_in_order(const struct membership *members, size_t *which)
{
    size_t count = 0, i;

    for (i = 0; i < members->places; i++)
        if (membership_is_usable(members, members->place[i]) &&
            members->item[members->place[i]].state == MEMBER_IN)
            which[count++] = members->place[i];
    for (i = 0; i < members->count; i++)
        if (members->item[i].state != MEMBER_IN && members->item[i].is_listed &&
            !membership_is_due(members, i))
            which[count++] = i;
    return count;
}

static int ranks_of(const struct membership *members, const size_t *which, size_t nodes)
{
    int    ranks = 0;
    size_t i;

    for (i = 0; i < nodes; i++)
        ranks += members->item[which[i]].slots;
    return ranks;
}

/* "1, 2, 4 ..." */
static void list_allowed(const struct membership *members, const struct member_rules *rules,
                         const size_t *which, size_t hosts, char *text, size_t size)
{
    size_t nodes, used = 0;

    snprintf(text, size, "none");
    for (nodes = 1; nodes <= hosts; nodes++) {
        if (is_refused(rules, nodes, ranks_of(members, which, nodes)) != NULL)
            continue;
        if (used > size - 40) {
            snprintf(text + used, size - used, " ...");
            return;
        }
        used +=
            (size_t)snprintf(text + used, size - used, "%s%zu", used > 0 ? ", " : "", nodes);
    }
}

int next_world_parse_sizes(const char *text, struct member_rules *rules)
{
    char        *copy = xstrdup(text), *rest = copy, *word;
    struct error err;
    int64_t      ranks;
    int          rc = 0;

    rules->worlds_count = 0;
    while (rc == 0 && (word = strsep(&rest, ",")) != NULL) {
        if (rules->worlds_count == MEMBERSHIP_WORLDS ||
            parse_number(word, 1, WORLD_MOST, &ranks, &err) < 0)
            rc = -1;
        else
            rules->worlds[rules->worlds_count++] = (int)ranks;
    }
    free(copy);
    return rc;
}
