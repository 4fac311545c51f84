/* unreachable_pairs.c - see unreachable_pairs.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rendezvous/unreachable_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "sanitize.h"
#include "xalloc.h"

static int                      by_nodes(const void *one, const void *other);
static struct unreachable_pair *find(const struct unreachable_pairs *pairs, size_t from,
                                     size_t to);
static void tell(const struct unreachable_pairs *pairs, const struct unreachable_pair *pair,
                 bool both, struct strlist *lines);

void unreachable_pairs_clear(struct unreachable_pairs *pairs)
{
    size_t i;

    for (i = 0; i < pairs->count; i++)
        free(pairs->pair[i].why);
    free(pairs->pair);
    *pairs = (struct unreachable_pairs){ 0 };
}

bool unreachable_pairs_tries(const struct unreachable_pairs *pairs, size_t from, size_t to)
{
    if (from == to || from >= pairs->nodes || to >= pairs->nodes)
        return false;
    return pairs->nodes <= PAIRS_ALL || to == 0 || to == (from + 1) % pairs->nodes ||
           from == (to + 1) % pairs->nodes;
}

int unreachable_pairs_add(struct unreachable_pairs *pairs, size_t from, size_t to, const char *why)
{
    if (!unreachable_pairs_tries(pairs, from, to) || find(pairs, from, to) != NULL)
        return -1;
    pairs->pair = xreallocarray(pairs->pair, pairs->count + 1, sizeof *pairs->pair);
    pairs->pair[pairs->count++] = (struct unreachable_pair){
        .from = from, .to = to, .why = sanitize_text(why, strnlen(why, PAIR_WHY_MAX))
    };
    return 0;
}

void unreachable_pairs_tell(struct unreachable_pairs *pairs, struct strlist *lines)
{
    size_t i, shown = 0, more = 0;

    if (pairs->count > 1)
        qsort(pairs->pair, pairs->count, sizeof *pairs->pair, by_nodes);
    for (i = 0; i < pairs->count; i++) {
        struct unreachable_pair *pair = &pairs->pair[i], *back = find(pairs, pair->to, pair->from);

        if (pair->told)
            continue;
        if (back != NULL)
            back->told = true;
        if (shown++ < PAIRS_SHOWN)
            tell(pairs, pair, back != NULL, lines);
        else
            more++;
    }
    if (more > 0)
        strlist_addf(lines, "and %zu more pairs of nodes (--json has all)", more);
    if (lines->count == 0)
        strlist_addf(lines, "all %zu nodes can reach each other", pairs->nodes);
    if (pairs->nodes > PAIRS_ALL)
        strlist_addf(lines,
                     "not all pairs were tried: each node tried only its neighbours and %s",
                     pairs->node[0].host);
}

static int by_nodes(const void *one, const void *other)
{
    const struct unreachable_pair *a = one, *b = other;

    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

static struct unreachable_pair *find(const struct unreachable_pairs *pairs, size_t from, size_t to)
{
    size_t i;

    for (i = 0; i < pairs->count; i++)
        if (pairs->pair[i].from == from && pairs->pair[i].to == to)
            return &pairs->pair[i];
    return NULL;
}

/* Adds one line for a pair, with the reason that pair->from gave. */
static void tell(const struct unreachable_pairs *pairs, const struct unreachable_pair *pair,
                 bool both, struct strlist *lines)
{
    const struct reach_node *from = &pairs->node[pair->from], *to = &pairs->node[pair->to];

    if (both)
        strlist_addf(lines, "%s and %s cannot reach each other (%s -> %s: %s)", from->host,
                     to->host, from->addr, to->addr, pair->why);
    else
        strlist_addf(lines, "%s cannot reach %s (%s -> %s: %s)", from->host, to->host,
                     from->addr, to->addr, pair->why);
}

json_t *unreachable_pairs_json(const struct unreachable_pairs *pairs)
{
    json_t *list = json_array();
    size_t  i;

    for (i = 0; i < pairs->count; i++) {
        const struct unreachable_pair *pair = &pairs->pair[i];
        const struct reach_node *from = &pairs->node[pair->from], *to = &pairs->node[pair->to];

        json_array_append_new(list, json_pack("{s:o, s:o, s:s, s:s, s:o}",
                                              "from", json_text(from->host, strlen(from->host)),
                                              "to", json_text(to->host, strlen(to->host)),
                                              "from_addr", from->addr, "to_addr", to->addr,
                                              "why", json_text(pair->why, strlen(pair->why))));
    }
    return list;
}
