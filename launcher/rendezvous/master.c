/* master.c - see master.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rendezvous/master.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static void   add_candidate(struct master *master, const char *given,
                            struct master_candidate candidate);
static int    rank_of(const struct master_candidate *candidate, const char *given);
static size_t best(const struct master *master);
static bool   reached_by_all(const struct master *master, size_t candidate, bool without_loss);
static int    nobody_wins(const struct master *master, const struct plan *plan,
                          struct error *err);
static char **reached_by(const struct master *master, size_t node, size_t candidate);
static void   set_iface(struct plan_node *node, const char *iface);

int master_init(struct master *master, const struct plan *plan, size_t first, const json_t *hello,
                struct error *err)
{
    const char   *given = plan_world(plan, first)->master_addr, *only = plan->node[first].iface;
    const json_t *entry;
    size_t        i;

    *master = (struct master){ .nodes = plan->nodes, .first = first };
    master->reached_by = xcalloc(plan->nodes * MASTER_CANDIDATES_MAX, sizeof *master->reached_by);
    master->is_lossy = xcalloc(plan->nodes * MASTER_CANDIDATES_MAX, sizeof *master->is_lossy);
    json_array_foreach(json_object_get(hello, "addresses"), i, entry) {
        const char *iface = json_string_value(json_object_get(entry, "if"));
        const char *addr = json_string_value(json_object_get(entry, "addr"));

        if (iface == NULL || addr == NULL || (only != NULL && strcmp(only, iface) != 0))
            continue;
        if (master->candidates < MASTER_CANDIDATES_MAX)
            add_candidate(master, given, (struct master_candidate){
                xstrdup(addr), xstrdup(iface), json_is_true(json_object_get(entry, "loopback")) });
    }
    master->has_given = given != NULL && master->candidates > 0 &&
                        strcmp(master->candidate[0].addr, given) == 0;
    if (master->candidates > 0)
        return 0;
    return err_set(err, "%s: no network interface has an address", plan->node[first].host);
}

/* Inserting keeps the node's own order among candidates of the same rank. */
static void add_candidate(struct master *master, const char *given,
                          struct master_candidate candidate)
{
    size_t at = master->candidates++;

    while (at > 0 && rank_of(&master->candidate[at - 1], given) > rank_of(&candidate, given)) {
        master->candidate[at] = master->candidate[at - 1];
        at--;
    }
    master->candidate[at] = candidate;
}

/* Lower is better. IPv4 comes first because many scripts build "tcp://%s:%d". With the address
 * that the user gave, the interfaces are those by which nodes reach it. */
static int rank_of(const struct master_candidate *candidate, const char *given)
{
    if (given != NULL && strcmp(candidate->addr, given) == 0)
        return -1;
    return (candidate->is_loopback ? 2 : 0) + (strchr(candidate->addr, ':') != NULL ? 1 : 0);
}

void master_clear(struct master *master)
{
    size_t i;

    for (i = 0; i < master->candidates; i++) {
        free(master->candidate[i].addr);
        free(master->candidate[i].iface);
    }
    for (i = 0; master->reached_by != NULL && i < master->nodes * MASTER_CANDIDATES_MAX; i++)
        free(master->reached_by[i]);
    free(master->reached_by);
    free(master->is_lossy);
    *master = (struct master){ 0 };
}

json_t *master_addresses(const struct master *master)
{
    json_t *list = json_array();
    size_t  i;

    for (i = 0; i < master->candidates; i++)
        json_array_append_new(list, json_string(master->candidate[i].addr));
    return list;
}

int master_answer(struct master *master, size_t node, const json_t *body, struct error *err)
{
    const json_t *entry, *list = json_object_get(body, "reached");
    size_t        i, c;

    if (!json_is_array(list))
        return err_set(err, "PROBED frame without \"reached\"");
    json_array_foreach(list, i, entry) {
        const char *addr = json_string_value(json_object_get(entry, "addr"));
        const char *iface = json_string_value(json_object_get(entry, "if"));

        for (c = 0; addr != NULL && iface != NULL && c < master->candidates; c++) {
            if (strcmp(master->candidate[c].addr, addr) != 0)
                continue;
            free(*reached_by(master, node, c));
            *reached_by(master, node, c) = xstrdup(iface);
            master->is_lossy[node * MASTER_CANDIDATES_MAX + c] =
                json_is_true(json_object_get(entry, "lossy"));
        }
    }
    return 0;
}

const char *master_found(const struct master *master)
{
    size_t c = best(master);

    return c < master->candidates ? master->candidate[c].addr : NULL;
}

void master_lossy(const struct master *master, bool *is_lossy)
{
    size_t c = best(master), node;

    for (node = 0; node < master->nodes; node++)
        is_lossy[node] =
            c < master->candidates && master->is_lossy[node * MASTER_CANDIDATES_MAX + c];
}

/* Returns the first candidate that all have reached, the user's or without loss if there is one, or
 * the number of candidates. */
static size_t best(const struct master *master)
{
    size_t c, first = 0;

    while (first < master->candidates && !reached_by_all(master, first, false))
        first++;
    if (first == 0 && master->has_given)
        return first;
    for (c = first; c < master->candidates; c++)
        if (reached_by_all(master, c, true))
            return c;
    return first;
}

int master_choose(const struct master *master, struct plan *plan, struct error *err)
{
    struct plan *world = plan_world(plan, master->first);
    size_t       c = best(master), node;

    if (c == master->candidates)
        return nobody_wins(master, plan, err);
    if (world->master_addr == NULL)
        world->master_addr = xstrdup(master->candidate[c].addr);
    for (node = 0; node < master->nodes; node++)
        if (plan->node[node].role == plan->node[master->first].role)
            set_iface(&plan->node[node], node == master->first ? master->candidate[c].iface
                                                               : *reached_by(master, node, c));
    return 0;
}

void master_apart(const struct master *master, bool *is_apart)
{
    size_t c, node, reached, most = 0, where = 0;

    for (c = 0; c < master->candidates; c++) {
        reached = 0;
        for (node = 0; node < master->nodes; node++)
            reached += node != master->first && *reached_by(master, node, c) != NULL;
        if (reached > most) {
            most = reached;
            where = c;
        }
    }
    is_apart[master->first] = most * 2 < master->nodes - 1;
    for (node = 0; node < master->nodes; node++)
        if (node != master->first)
            is_apart[node] = !is_apart[master->first] &&
                             *reached_by(master, node, where) == NULL;
}

static bool reached_by_all(const struct master *master, size_t candidate, bool without_loss)
{
    size_t node;

    for (node = 0; node < master->nodes; node++)
        if (node != master->first &&
            (*reached_by(master, node, candidate) == NULL ||
             (without_loss && master->is_lossy[node * MASTER_CANDIDATES_MAX + candidate])))
            return false;
    return true;
}

/* Sets err to "no address of te1 is reached by all other nodes: 10.0.0.1 (eth0): 2 of 3, not
 * te4; ..." and returns -1. */
static int nobody_wins(const struct master *master, const struct plan *plan, struct error *err)
{
    char        text[900] = "";
    size_t      used = 0, c, node, reached;
    const char *missing;

    for (c = 0; c < master->candidates && used < sizeof text; c++) {
        reached = 0;
        missing = "";
        for (node = 0; node < master->nodes; node++) {
            if (node == master->first)
                continue;
            if (*reached_by(master, node, c) != NULL)
                reached++;
            else if (missing[0] == '\0')
                missing = plan->node[node].host;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s (%s): %zu of %zu, not %s",
                                 c > 0 ? "; " : "", master->candidate[c].addr,
                                 master->candidate[c].iface, reached, master->nodes - 1, missing);
    }
    return err_set(err, "no address of %s is reached by all other nodes: %s",
                   plan->node[master->first].host, text);
}

static char **reached_by(const struct master *master, size_t node, size_t candidate)
{
    return &master->reached_by[node * MASTER_CANDIDATES_MAX + candidate];
}

static void set_iface(struct plan_node *node, const char *iface)
{
    if (node->iface == NULL && iface != NULL)
        node->iface = xstrdup(iface);
}
