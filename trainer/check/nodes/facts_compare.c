/* facts_compare.c - compares the nodes; see facts.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/nodes/facts.h"

#define VALUES_MAX 4 /* printed per name */
#define HOSTS_MAX  3 /* printed per value; if there are more, only their number is printed */

struct view {
    const struct strlist *facts;
    const int            *node_of_rank;
    const char *const    *host_of_rank;
    int                   ranks;
};

static void        add_name(struct strlist *lines, const struct view *view, const char *name);
static void        add_wrong(struct strlist *lines, const struct view *view, const char *text);
static size_t      add_hosts(char *line, size_t size, const struct view *view, const char *name,
                             const char *value, bool is_fact);
static bool        has(const struct view *view, int rank, const char *name, const char *value);
static const char *value_of(const struct strlist *facts, const char *name);
static bool        is_new(struct strlist *seen, const char *text);

void facts_compare(struct strlist *lines, const struct strlist *facts, const int *node_of_rank,
                   const char *const *host_of_rank, int ranks)
{
    const struct view view = { facts, node_of_rank, host_of_rank, ranks };
    struct strlist    seen = { 0 };
    const char       *fact;
    char              name[64];
    size_t            i;
    int               rank;

    for (rank = 0; rank < ranks; rank++) {
        for (i = 0; i < facts[rank].count; i++) {
            fact = facts[rank].item[i];
            if (!is_new(&seen, *fact == '!' ? fact : (snprintf(name, sizeof name, "%.*s",
                                                                (int)strcspn(fact, "\t"), fact),
                                                       name)))
                continue;
            if (*fact == '!')
                add_wrong(lines, &view, fact);
            else
                add_name(lines, &view, name);
        }
    }
    strlist_clear(&seen);
}

static bool is_new(struct strlist *seen, const char *text)
{
    if (strlist_has(seen, text))
        return false;
    strlist_add(seen, text);
    return true;
}

static void add_name(struct strlist *lines, const struct view *view, const char *name)
{
    struct strlist values = { 0 };
    char           line[900];
    size_t         used = (size_t)snprintf(line, sizeof line, "%s: ", name), i;
    int            rank;

    for (rank = 0; rank < view->ranks; rank++)
        is_new(&values, value_of(&view->facts[rank], name));
    for (i = 0; i < values.count && i < VALUES_MAX && used < sizeof line; i++) {
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%.100s on ",
                                 i > 0 ? "; " : "", values.item[i]);
        if (used < sizeof line)
            used += add_hosts(line + used, sizeof line - used, view, name, values.item[i], true);
    }
    if (values.count > VALUES_MAX && used < sizeof line)
        snprintf(line + used, sizeof line - used, "; %zu more", values.count - VALUES_MAX);
    if (values.count > 1)
        strlist_add(lines, line);
    strlist_clear(&values);
}

static void add_wrong(struct strlist *lines, const struct view *view, const char *text)
{
    char line[900];

    add_hosts(line, sizeof line, view, text, "", false);
    strlist_addf(lines, "%s: %s", line, strchr(text, '\t') + 1);
}

/* Appends the nodes with a value: "te1, te4" or "6 nodes". Counts a node once, by the first of
 * its ranks that has the value. */
static size_t add_hosts(char *line, size_t size, const struct view *view, const char *name,
                        const char *value, bool is_fact)
{
    size_t used = 0;
    int    rank, last = -1, count = 0;

    for (rank = 0; rank < view->ranks; rank++) {
        if (view->node_of_rank[rank] == last ||
            (is_fact ? !has(view, rank, name, value)
                     : !strlist_has(&view->facts[rank], name)))
            continue;
        last = view->node_of_rank[rank];
        if (count++ < HOSTS_MAX && used < size)
            used += (size_t)snprintf(line + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     view->host_of_rank[rank]);
    }
    if (count > HOSTS_MAX)
        used = (size_t)snprintf(line, size, "%d nodes", count);
    return used < size ? used : size - 1;
}

static bool has(const struct view *view, int rank, const char *name, const char *value)
{
    return strcmp(value_of(&view->facts[rank], name), value) == 0;
}

static const char *value_of(const struct strlist *facts, const char *name)
{
    const size_t size = strlen(name);
    size_t       i;

    for (i = 0; i < facts->count; i++)
        if (strncmp(facts->item[i], name, size) == 0 && facts->item[i][size] == '\t')
            return facts->item[i] + size + 1;
    return "not set";
}
