/* unreachable_pairs.c - see unreachable_pairs.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/unreachable_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "visible.h"
#include "xalloc.h"

#define WHY_MAX 100 /* bytes of what a node gives as its reason */

static int         by_nodes(const void *one, const void *other);
static struct gap *find(const struct gaps *gaps, size_t from, size_t to);
static void        tell(const struct gaps *gaps, const struct gap *gap, bool both,
                        struct strlist *lines);

void gaps_clear(struct gaps *gaps)
{
    size_t i;

    for (i = 0; i < gaps->count; i++)
        free(gaps->gap[i].why);
    free(gaps->gap);
    *gaps = (struct gaps){ 0 };
}

bool gaps_tries(const struct gaps *gaps, size_t from, size_t to)
{
    if (from == to || from >= gaps->nodes || to >= gaps->nodes)
        return false;
    return gaps->nodes <= GAPS_ALL || to == 0 || to == (from + 1) % gaps->nodes ||
           from == (to + 1) % gaps->nodes;
}

int gaps_add(struct gaps *gaps, size_t from, size_t to, const char *why)
{
    if (!gaps_tries(gaps, from, to) || find(gaps, from, to) != NULL)
        return -1;
    gaps->gap = xreallocarray(gaps->gap, gaps->count + 1, sizeof *gaps->gap);
    gaps->gap[gaps->count++] = (struct gap){ .from = from, .to = to,
                                             .why = visible_text(why, strnlen(why, WHY_MAX)) };
    return 0;
}

void gaps_tell(struct gaps *gaps, struct strlist *lines)
{
    size_t i, shown = 0, more = 0;

    if (gaps->count > 1)
        qsort(gaps->gap, gaps->count, sizeof *gaps->gap, by_nodes);
    for (i = 0; i < gaps->count; i++) {
        struct gap *gap = &gaps->gap[i], *back = find(gaps, gap->to, gap->from);

        if (gap->told)
            continue;
        if (back != NULL)
            back->told = true;
        if (shown++ < GAPS_SHOWN)
            tell(gaps, gap, back != NULL, lines);
        else
            more++;
    }
    if (more > 0)
        strlist_addf(lines, "and %zu more pairs of nodes (--json has all)", more);
    if (lines->count == 0)
        strlist_addf(lines, "the %zu nodes reach each other", gaps->nodes);
    if (gaps->nodes > GAPS_ALL)
        strlist_addf(lines, "not all pairs were tried: each node its neighbours and %s",
                     gaps->node[0].host);
}

static int by_nodes(const void *one, const void *other)
{
    const struct gap *a = one, *b = other;

    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

static struct gap *find(const struct gaps *gaps, size_t from, size_t to)
{
    size_t i;

    for (i = 0; i < gaps->count; i++)
        if (gaps->gap[i].from == from && gaps->gap[i].to == to)
            return &gaps->gap[i];
    return NULL;
}

/* Of a pair one is told of, and what it met. */
static void tell(const struct gaps *gaps, const struct gap *gap, bool both,
                 struct strlist *lines)
{
    const struct gap_node *from = &gaps->node[gap->from], *to = &gaps->node[gap->to];

    if (both)
        strlist_addf(lines, "%s and %s do not reach each other (%s -> %s: %s)", from->host,
                     to->host, from->addr, to->addr, gap->why);
    else
        strlist_addf(lines, "%s does not reach %s (%s -> %s: %s)", from->host, to->host,
                     from->addr, to->addr, gap->why);
}

json_t *gaps_json(const struct gaps *gaps)
{
    json_t *list = json_array();
    size_t  i;

    for (i = 0; i < gaps->count; i++) {
        const struct gap      *gap = &gaps->gap[i];
        const struct gap_node *from = &gaps->node[gap->from], *to = &gaps->node[gap->to];

        json_array_append_new(list, json_pack("{s:o, s:o, s:s, s:s, s:o}",
                                              "from", json_text(from->host, strlen(from->host)),
                                              "to", json_text(to->host, strlen(to->host)),
                                              "from_addr", from->addr, "to_addr", to->addr,
                                              "why", json_text(gap->why, strlen(gap->why))));
    }
    return list;
}
