/* members.c - see members.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/members.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "xalloc.h"

#define WORLD_MOST (1 << 20) /* ranks */

static bool   is_usable(const struct members *members, size_t which);
static bool   is_free(const struct members *members, const size_t *world, size_t places,
                      size_t which);
static size_t find_spare(const struct members *members, const size_t *world, size_t places,
                         int slots);
static size_t fit(const struct members *members, const struct member_rules *rules,
                  const size_t *world, size_t places);
static const char *is_refused(const struct member_rules *rules, size_t nodes, int ranks);
static size_t most_nodes(const struct member_rules *rules);
static size_t count_needed(const struct members *members, const struct member_rules *rules);
static size_t count_present(const struct members *members);
static size_t hosts_in_order(const struct members *members, size_t *which);
static int    ranks_of(const struct members *members, const size_t *which, size_t nodes);
static void   list_allowed(const struct members *members, const struct member_rules *rules,
                           const size_t *which, size_t hosts, char *text, size_t size);
static bool   may_be_dialled(const struct member *member);
static double dialled_s(const struct member *member);

size_t members_add(struct members *members, int slots)
{
    members->item = xreallocarray(members->item, members->count + 1, sizeof *members->item);
    members->item[members->count] = (struct member){ .slots = slots, .is_offered = true };
    return members->count++;
}

void members_clear(struct members *members)
{
    free(members->item);
    free(members->place);
    free(members->ranks);
    *members = (struct members){ 0 };
}

/* --- the world -------------------------------------------------------------- */

size_t members_choose(const struct members *members, const struct member_rules *rules,
                      size_t *world)
{
    size_t place, kept = 0, spare;

    for (place = 0; place < members->places; place++) /* also a member that has come back */
        world[place] = is_usable(members, members->place[place]) ? members->place[place]
                                                                 : MEMBERS_NONE;
    for (place = 0; place < members->places; place++) {
        if (world[place] == MEMBERS_NONE)
            world[place] = find_spare(members, world, members->places,
                                      rules->is_elastic ? 1 : members->ranks[place]);
        if (world[place] == MEMBERS_NONE && !rules->is_elastic)
            return 0;
        if (world[place] != MEMBERS_NONE)
            world[kept++] = world[place];
    }
    if (!rules->is_elastic)
        return kept;
    while ((most_nodes(rules) == 0 || kept < most_nodes(rules)) &&
           (spare = find_spare(members, world, kept, 1)) != MEMBERS_NONE)
        world[kept++] = spare;
    return fit(members, rules, world, kept);
}

static bool is_usable(const struct members *members, size_t which)
{
    const struct member *member = &members->item[which];

    return (member->state == MEMBER_IN || (member->state == MEMBER_SPARE && !member->is_silent)) &&
           !member->is_leaving && member->is_offered;
}

/* Returns the first in the order of the hosts. A member with a place in the last world keeps
 * it. */
static size_t find_spare(const struct members *members, const size_t *world, size_t places,
                         int slots)
{
    size_t i;

    for (i = 0; i < members->count; i++)
        if (is_usable(members, i) && members->item[i].slots >= slots &&
            is_free(members, world, places, i))
            return i;
    return MEMBERS_NONE;
}

static bool is_free(const struct members *members, const size_t *world, size_t places,
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
static size_t fit(const struct members *members, const struct member_rules *rules,
                  const size_t *world, size_t places)
{
    int    ranks = 0;
    size_t i;

    for (i = 0; i < places; i++)
        ranks += members->item[world[i]].slots;
    while (places > 0 && ((most_nodes(rules) > 0 && places > most_nodes(rules)) ||
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

/* 0: no limit. */
static size_t most_nodes(const struct member_rules *rules)
{
    if (rules->target == 0 || rules->max_nodes == 0)
        return rules->target + rules->max_nodes;
    return rules->target < rules->max_nodes ? rules->target : rules->max_nodes;
}

void members_take(struct members *members, const struct member_rules *rules, const size_t *world,
                  size_t places)
{
    int   *ranks = xcalloc(places, sizeof *ranks);
    size_t i;

    for (i = 0; i < places; i++)
        ranks[i] = members_ranks(members, rules, i, world[i]);
    for (i = 0; i < members->count; i++)
        if (members->item[i].state == MEMBER_IN) {
            members->item[i].state = MEMBER_SPARE;
            members->item[i].is_silent = false; /* it was heard just now */
        }
    for (i = 0; i < places; i++)
        members->item[world[i]].state = MEMBER_IN;
    free(members->place);
    free(members->ranks);
    members->place = xmemdup(world, places * sizeof *world);
    members->ranks = ranks;
    members->places = places;
}

size_t *members_next(const struct members *members, const struct member_rules *rules,
                     size_t *places)
{
    size_t *world = xcalloc(members->count + members->places + 1, sizeof *world);

    *places = members_choose(members, rules, world);
    return world;
}

size_t members_next_size(const struct members *members, const struct member_rules *rules)
{
    size_t places;

    free(members_next(members, rules, &places));
    return places;
}

bool members_next_is_same(const struct members *members, const struct member_rules *rules)
{
    size_t  places;
    size_t *world = members_next(members, rules, &places);
    bool    is_same = places == members->places &&
                   (places == 0 || memcmp(world, members->place, places * sizeof *world) == 0);

    free(world);
    return is_same;
}

int members_ranks(const struct members *members, const struct member_rules *rules, size_t place,
                  size_t member)
{
    return rules->is_elastic || place >= members->places ? members->item[member].slots
                                                         : members->ranks[place];
}

/* --- connections ------------------------------------------------------------ */

void members_stay(struct members *members, size_t which)
{
    struct member *member = &members->item[which];

    member->state = MEMBER_SPARE;
    member->is_told = member->is_silent = false;
}

void members_leave(struct members *members, size_t which)
{
    members->item[which].is_leaving = true;
}

void members_expect_back(struct members *members, size_t which, double at_s)
{
    members->item[which].back_s = at_s;
}

void members_failed(struct members *members, size_t which, double now_s, bool ended)
{
    struct member *member = &members->item[which];
    double         cool_s = MEMBERS_COOL_S;
    int            i;

    for (i = 0; i < member->failures && cool_s < MEMBERS_COOL_MAX_S; i++)
        cool_s *= 2;
    member->failures++;
    member->taken_down += ended;
    member->state = MEMBER_AWAY;
    member->free_s = now_s + (cool_s < MEMBERS_COOL_MAX_S ? cool_s : MEMBERS_COOL_MAX_S);
}

void members_blame(struct members *members, int rank)
{
    size_t i;

    for (i = 0; i < members->places && rank >= members->ranks[i]; i++)
        rank -= members->ranks[i];
    if (rank >= 0 && i < members->places)
        members->item[members->place[i]].failed_first++;
}

void members_proved(struct members *members)
{
    size_t i;

    for (i = 0; i < members->count; i++)
        if (members->item[i].state == MEMBER_IN)
            members->item[i].failures = 0;
}

size_t members_dial(struct members *members, const struct member_rules *rules, double now_s)
{
    size_t i;

    for (i = 0; i < members->count && count_present(members) < count_needed(members, rules); i++) {
        if (!may_be_dialled(&members->item[i]) || dialled_s(&members->item[i]) > now_s)
            continue;
        members->item[i].state = MEMBER_JOINING;
        members->item[i].is_leaving = false;
        members->item[i].back_s = 0;
        return i;
    }
    return MEMBERS_NONE;
}

double members_due_s(const struct members *members, const struct member_rules *rules, double now_s)
{
    double due_s = -1, left_s;
    size_t i;

    for (i = 0; i < members->count && count_present(members) < count_needed(members, rules); i++) {
        if (!may_be_dialled(&members->item[i]))
            continue;
        left_s = dialled_s(&members->item[i]) - now_s;
        left_s = left_s > 0 ? left_s : 0;
        if (due_s < 0 || left_s < due_s)
            due_s = left_s;
    }
    return due_s;
}

/* Returns how many members the places need, or those that an elastic world might have, and the
 * spares. */
static size_t count_needed(const struct members *members, const struct member_rules *rules)
{
    size_t wanted = members->places;

    if (!rules->goes_on)
        return 0;
    if (rules->is_elastic)
        wanted = most_nodes(rules) > 0 ? most_nodes(rules) : members->count;
    return wanted + rules->spares;
}

static size_t count_present(const struct members *members)
{
    size_t i, has = 0;

    for (i = 0; i < members->count; i++)
        has += members->item[i].state == MEMBER_JOINING || is_usable(members, i);
    return has;
}

static bool may_be_dialled(const struct member *member)
{
    return member->state == MEMBER_AWAY && member->is_offered &&
           (!member->is_leaving || member->back_s > 0);
}

static double dialled_s(const struct member *member)
{
    return member->is_leaving && member->back_s > member->free_s ? member->back_s
                                                                 : member->free_s;
}

/* Returns the last in the order of the hosts. A world of a fixed size needs all its
 * members. */
size_t members_surplus(struct members *members, const struct member_rules *rules)
{
    size_t i = members->count;

    if (!rules->is_elastic || count_present(members) <= count_needed(members, rules))
        return MEMBERS_NONE;
    while (i-- > 0) {
        if (members->item[i].state != MEMBER_SPARE || !is_usable(members, i))
            continue;
        members->item[i].state = MEMBER_GOING;
        return i;
    }
    return MEMBERS_NONE;
}

/* --- another size ----------------------------------------------------------- */

int members_may_be(const struct members *members, const struct member_rules *rules, size_t nodes,
                   struct error *err)
{
    size_t     *which = xcalloc(members->count + 1, sizeof *which);
    size_t      hosts = hosts_in_order(members, which);
    int         ranks = nodes <= hosts ? ranks_of(members, which, nodes) : 0;
    const char *option = NULL;
    char        allowed[120];
    int         rc = 0;

    list_allowed(members, rules, which, hosts, allowed, sizeof allowed);
    if (rules->max_nodes > 0 && nodes > rules->max_nodes)
        rc = err_set(err, "%zu nodes are more than --nnodes allows; allowed: %s", nodes, allowed);
    else if (nodes > hosts)
        rc = err_set(err, "%zu nodes: there %s only %zu host%s for this run; add hosts to its list "
                     "first", nodes, hosts == 1 ? "is" : "are", hosts, hosts == 1 ? "" : "s");
    else if ((option = is_refused(rules, nodes, ranks)) != NULL)
        rc = err_set(err, "%zu node%s with %d rank%s: %s does not allow that; allowed: %s", nodes,
                     nodes == 1 ? "" : "s", ranks, ranks == 1 ? "" : "s", option, allowed);
    free(which);
    return rc;
}

/* Lists the hosts in the order in which members_choose() would take them if all were here. */
static size_t hosts_in_order(const struct members *members, size_t *which)
{
    size_t count = 0, i;

    for (i = 0; i < members->places; i++)
        if (is_usable(members, members->place[i]) &&
            members->item[members->place[i]].state == MEMBER_IN)
            which[count++] = members->place[i];
    for (i = 0; i < members->count; i++)
        if (members->item[i].state != MEMBER_IN && members->item[i].is_offered &&
            !members->item[i].is_leaving)
            which[count++] = i;
    return count;
}

static int ranks_of(const struct members *members, const size_t *which, size_t nodes)
{
    int    ranks = 0;
    size_t i;

    for (i = 0; i < nodes; i++)
        ranks += members->item[which[i]].slots;
    return ranks;
}

/* "1, 2, 4 ..." */
static void list_allowed(const struct members *members, const struct member_rules *rules,
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
        used += (size_t)snprintf(text + used, size - used, "%s%zu", used > 0 ? ", " : "", nodes);
    }
}

int members_parse_worlds(const char *text, struct member_rules *rules)
{
    char        *copy = xstrdup(text), *rest = copy, *word;
    struct error err;
    int64_t      ranks;
    int          rc = 0;

    rules->worlds_count = 0;
    while (rc == 0 && (word = strsep(&rest, ",")) != NULL) {
        if (rules->worlds_count == MEMBERS_WORLDS ||
            parse_number(word, 1, WORLD_MOST, &ranks, &err) < 0)
            rc = -1;
        else
            rules->worlds[rules->worlds_count++] = (int)ranks;
    }
    free(copy);
    return rc;
}
