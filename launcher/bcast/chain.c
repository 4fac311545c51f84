/* chain.c - see chain.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/chain.h"

#include <stdlib.h>

#include "clock.h"
#include "xalloc.h"

#define STALL_NS  ((int64_t)(CHAIN_STALL_S * NS_PER_S))
#define BRANCHES  2 /* nodes of a tree that each node serves */
#define SILENT_NS (STALL_NS * 3 / 4) /* long enough for several pings */

static int     place_for(const struct chain *chain, size_t node);
static int     last_place(const struct chain *chain, size_t but);
static int     first_room(const struct chain *chain, size_t but);
static bool    is_below(const struct chain *chain, int node, size_t above);
static bool    is_serving(const struct chain *chain, int node);
static int     ancestor(const struct chain *chain, int source);
static bool    judge(struct chain *chain, size_t n, int64_t now_ns, struct chain_move *move);
static int64_t starved_since(const struct chain *chain, const struct chain_node *node);
static bool    is_silent(const struct chain_node *node, int64_t now_ns);
static void    park(struct chain *chain, size_t n, int64_t now_ns, struct chain_move *move);
static void    take(struct chain *chain, size_t n, int source, enum chain_why why, int64_t now_ns,
                    struct chain_move *move);

void chain_init(struct chain *chain, size_t nodes)
{
    *chain = (struct chain){ .node = xcalloc(nodes, sizeof *chain->node), .count = nodes };
}

void chain_clear(struct chain *chain)
{
    free(chain->node);
    *chain = (struct chain){ 0 };
}

int chain_join(struct chain *chain, size_t node, int64_t now_ns)
{
    int source = place_for(chain, node);

    chain->node[node] = (struct chain_node){ .is_member = true, .source = source,
                                             .joined = ++chain->joins, .progress_ns = now_ns,
                                             .heard_ns = now_ns };
    return source;
}

static int place_for(const struct chain *chain, size_t node)
{
    return chain->is_tree ? first_room(chain, node) : last_place(chain, node);
}

/* Returns the last node of the chain that can serve another one. */
static int last_place(const struct chain *chain, size_t but)
{
    size_t n, joined = 0;
    int    last = CHAIN_LAUNCHER;

    for (n = 0; n < chain->count; n++) {
        if (n == but || !is_serving(chain, (int)n) || chain->node[n].joined <= joined ||
            is_below(chain, (int)n, but))
            continue;
        joined = chain->node[n].joined;
        last = (int)n;
    }
    return last;
}

/* Returns the first node of the tree that serves fewer than BRANCHES others. */
static int first_room(const struct chain *chain, size_t but)
{
    int   *served = xcalloc(chain->count, sizeof *served), first = CHAIN_LAUNCHER;
    size_t n;

    for (n = 0; n < chain->count; n++) {
        const struct chain_node *node = &chain->node[n];

        if (n != but && node->is_member && !node->is_gone && !node->is_done && node->source >= 0)
            served[node->source]++;
    }
    for (n = 0; n < chain->count; n++)
        if (n != but && is_serving(chain, (int)n) && served[n] < BRANCHES &&
            (first < 0 || chain->node[n].joined < chain->node[first].joined) &&
            !is_below(chain, (int)n, but))
            first = (int)n;
    free(served);
    return first;
}

/* Does node get its chunks from above, directly or through others? */
static bool is_below(const struct chain *chain, int node, size_t above)
{
    size_t steps;

    for (steps = 0; node >= 0 && steps <= chain->count; steps++) {
        if ((size_t)node == above)
            return true;
        node = chain->node[node].source;
    }
    return false;
}

static bool is_serving(const struct chain *chain, int node)
{
    return node == CHAIN_LAUNCHER ||
           (node >= 0 && chain->node[node].is_member && !chain->node[node].is_gone &&
            chain->node[node].source != CHAIN_NOBODY);
}

void chain_linked(struct chain *chain, size_t node, int64_t now_ns)
{
    chain->node[node].is_linked = true;
    chain->node[node].progress_ns = now_ns;
}

void chain_detach(struct chain *chain, size_t node, int64_t now_ns)
{
    chain->node[node].source = CHAIN_LAUNCHER;
    chain->node[node].progress_ns = now_ns;
}

void chain_finish(struct chain *chain, size_t node)
{
    chain->node[node].is_done = true;
    chain->node[node].is_waiting = false;
}

void chain_leave(struct chain *chain, size_t node)
{
    chain->node[node].is_gone = true;
}

void chain_progress(struct chain *chain, size_t node, int64_t now_ns)
{
    size_t n;

    chain->node[node].progress_ns = now_ns;
    for (n = 0; n < chain->count; n++) {
        struct chain_node *next = &chain->node[n];

        if (next->is_member && next->source == (int)node && next->ahead_ns <= next->progress_ns)
            next->ahead_ns = now_ns;
    }
}

void chain_wait(struct chain *chain, size_t node, bool is_waiting, int64_t now_ns)
{
    if (is_waiting && !chain->node[node].is_waiting)
        chain->node[node].progress_ns = now_ns;
    chain->node[node].is_waiting = is_waiting;
}

void chain_heard(struct chain *chain, size_t node, int64_t heard_ns)
{
    if (heard_ns > chain->node[node].heard_ns)
        chain->node[node].heard_ns = heard_ns;
}

void chain_forgive(struct chain *chain, int64_t now_ns)
{
    size_t n;

    for (n = 0; n < chain->count; n++)
        if (chain->node[n].source != CHAIN_NOBODY)
            chain->node[n].progress_ns = chain->node[n].heard_ns = now_ns;
}

bool chain_is_needed(const struct chain *chain, size_t node)
{
    size_t n;

    for (n = 0; n < chain->count; n++)
        if (chain->node[n].is_member && !chain->node[n].is_gone && !chain->node[n].is_done &&
            chain->node[n].source == (int)node)
            return true;
    return false;
}

bool chain_next_move(struct chain *chain, int64_t now_ns, struct chain_move *move)
{
    size_t n;

    for (n = 0; n < chain->count; n++) {
        struct chain_node *node = &chain->node[n];

        if (!node->is_member || node->is_gone || node->is_done)
            continue;
        if (node->source == CHAIN_NOBODY && node->heard_ns > node->parked_ns) {
            node->joined = ++chain->joins;
            take(chain, n, place_for(chain, n), CHAIN_RETURNED, now_ns, move);
            return true;
        }
        if (node->source >= 0 && !is_serving(chain, node->source)) {
            take(chain, n, ancestor(chain, node->source), CHAIN_BYPASSED, now_ns, move);
            return true;
        }
    }
    for (n = 0; n < chain->count; n++)
        if (judge(chain, n, now_ns, move))
            return true;
    return false;
}

/* Returns the first node that can serve, from source upwards. */
static int ancestor(const struct chain *chain, int source)
{
    size_t steps;

    for (steps = 0; source >= 0 && !is_serving(chain, source) && steps <= chain->count; steps++)
        source = chain->node[source].source == CHAIN_NOBODY ? chain->node[source].former
                                                            : chain->node[source].source;
    return is_serving(chain, source) ? source : CHAIN_LAUNCHER;
}

static bool judge(struct chain *chain, size_t n, int64_t now_ns, struct chain_move *move)
{
    const struct chain_node *node = &chain->node[n];

    if (!node->is_member || node->is_gone || !node->is_waiting || node->source == CHAIN_NOBODY ||
        now_ns - node->progress_ns < STALL_NS)
        return false;
    if (is_silent(node, now_ns)) {
        if (node->source == CHAIN_LAUNCHER && !chain_is_needed(chain, n))
            return false; /* no other node waits for it */
        park(chain, n, now_ns, move);
        return true;
    }
    if (node->source == CHAIN_LAUNCHER)
        return false;
    if (is_silent(&chain->node[node->source], now_ns)) {
        park(chain, (size_t)node->source, now_ns, move);
        return true;
    }
    if (!node->is_linked || now_ns - starved_since(chain, node) < STALL_NS)
        return false;
    chain->node[n].moves++;
    take(chain, n,
         node->moves >= CHAIN_MOVES ? CHAIN_LAUNCHER
                                    : ancestor(chain, chain->node[node->source].source),
         CHAIN_DEAD, now_ns, move);
    return true;
}

/* Returns when the node's source began to have something for it. */
static int64_t starved_since(const struct chain *chain, const struct chain_node *node)
{
    if (node->ahead_ns > node->progress_ns)
        return node->ahead_ns;
    return chain->node[node->source].is_waiting ? INT64_MAX : node->progress_ns;
}

static bool is_silent(const struct chain_node *node, int64_t now_ns)
{
    return now_ns - node->heard_ns >= SILENT_NS;
}

static void park(struct chain *chain, size_t n, int64_t now_ns, struct chain_move *move)
{
    chain->node[n].former = chain->node[n].source;
    chain->node[n].parked_ns = now_ns;
    take(chain, n, CHAIN_NOBODY, CHAIN_PARKED, now_ns, move);
}

static void take(struct chain *chain, size_t n, int source, enum chain_why why, int64_t now_ns,
                 struct chain_move *move)
{
    *move = (struct chain_move){ .node = n, .source = source, .old = chain->node[n].source,
                                 .why = why };
    chain->node[n].source = source;
    chain->node[n].is_linked = false;
    chain->node[n].progress_ns = now_ns;
}
