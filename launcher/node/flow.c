/* flow.c - see flow.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/flow.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "xalloc.h"

/* All agents together may have this much output in flight to us. The rest of the 64 MiB that we
 * promise is for lines that we assemble and write. */
#define WINDOW_TOTAL (32u << 20)
#define WINDOW_LEAST (16u << 10)
#define WINDOW_MOST  (4u << 20)
#define GRANT_PART   4 /* the smallest CREDIT is a quarter of what may be in flight */
#define MEASURE_S    1.0
/* As many bytes as come in this time may be in flight. It is longer than a round trip, so that
 * the amount grows. */
#define AHEAD_S      1.5
/* If this many times the bytes that may be in flight came within MEASURE_S, the amount is
 * doubled at once. While it is small, a CREDIT is due every 32 KiB, which slows down short
 * runs. */
#define FAST         4

struct flow {
    uint32_t window;
    struct node_flow {
        int64_t  left;  /* bytes that it may still send; negative after flow_make_room() */
        uint64_t due;   /* bytes of the window that are not yet granted as credit */
        uint32_t ahead; /* upper limit of left */
        uint64_t came;  /* bytes that came since since_ns */
        int64_t  since_ns;
        bool     has_begun;
    } * node;
    size_t  nodes;
    int64_t last_ns;
};

static uint32_t window_of_each(size_t nodes);
static void     measure(const struct flow *flow, struct node_flow *at, size_t size, int64_t now_ns);
static uint32_t least(uint64_t bytes, uint32_t most);
static int64_t  above_zero(int64_t bytes);

struct flow *flow_new(size_t nodes)
{
    struct flow *flow = xcalloc(1, sizeof *flow);

    flow->window = window_of_each(nodes);
    flow->node = xcalloc(nodes, sizeof *flow->node);
    flow->nodes = nodes;
    return flow;
}

/* The array never shrinks: output of a node that is gone may still wait for its reader. With
 * more nodes each has a smaller window, and may send nothing until some of its output has been
 * written. */
void flow_make_room(struct flow *flow, size_t nodes)
{
    uint32_t window = window_of_each(nodes), less = flow->window - window, of_due;
    size_t   i;

    if (nodes <= flow->nodes)
        return;
    for (i = 0; i < flow->nodes; i++)
        if (flow->node[i].has_begun) {
            of_due = least(flow->node[i].due, less);
            flow->node[i].due -= of_due;
            flow->node[i].left -= less - of_due;
            flow->node[i].ahead = least(flow->node[i].ahead, window);
        }
    flow->window = window;
    flow->node = xreallocarray(flow->node, nodes, sizeof *flow->node);
    memset(&flow->node[flow->nodes], 0, (nodes - flow->nodes) * sizeof *flow->node);
    flow->nodes = nodes;
}

static uint32_t window_of_each(size_t nodes)
{
    size_t window = WINDOW_TOTAL / nodes;

    if (window > WINDOW_MOST)
        window = WINDOW_MOST;
    return (uint32_t)(window < WINDOW_LEAST ? WINDOW_LEAST : window);
}

void flow_free(struct flow *flow)
{
    if (flow != NULL)
        free(flow->node);
    free(flow);
}

uint32_t flow_window(const struct flow *flow)
{
    return flow->window;
}

uint32_t flow_begin(struct flow *flow, size_t node)
{
    struct node_flow *at = &flow->node[node];
    int64_t           all = at->has_begun ? at->left + (int64_t)at->due : flow->window;

    *at = (struct node_flow){ .has_begun = true, .ahead = least(FLOW_FIRST, flow->window) };
    at->left = all < at->ahead ? all : at->ahead;
    at->due = (uint64_t)(all - at->left);
    return (uint32_t)above_zero(at->left);
}

int flow_take(struct flow *flow, size_t node, size_t size, int64_t now_ns)
{
    if ((int64_t)size > flow->node[node].left)
        return -1; /* the place keeps its credit for the next node there */
    flow->node[node].left -= (int64_t)size;
    flow->last_ns = now_ns;
    measure(flow, &flow->node[node], size, now_ns);
    return 0;
}

static void measure(const struct flow *flow, struct node_flow *at, size_t size, int64_t now_ns)
{
    double seconds = (double)(now_ns - at->since_ns) / NS_PER_S, ahead;

    if (at->since_ns == 0)
        at->since_ns = now_ns;
    else if (seconds >= MEASURE_S) {
        ahead = (double)at->came / seconds * AHEAD_S;
        at->ahead = least(ahead < FLOW_FIRST ? FLOW_FIRST : (uint64_t)ahead, flow->window);
        at->came = 0;
        at->since_ns = now_ns;
    } else if (at->came >= (uint64_t)FAST * at->ahead && at->ahead < flow->window) {
        at->ahead = least(2 * (uint64_t)at->ahead, flow->window);
        at->came = 0;
        at->since_ns = now_ns;
    }
    at->came += size;
}

static uint32_t least(uint64_t bytes, uint32_t most)
{
    return bytes < most ? (uint32_t)bytes : most;
}

void flow_written(struct flow *flow, size_t node, size_t bytes)
{
    flow->node[node].due += bytes;
}

uint32_t flow_grant(struct flow *flow, size_t node)
{
    struct node_flow *at = &flow->node[node];
    int64_t           before = above_zero(at->left), room = at->ahead - at->left;
    int64_t           grant = (int64_t)at->due < room ? (int64_t)at->due : room;

    if (grant < at->ahead / GRANT_PART || grant <= 0)
        return 0;
    at->left += grant;
    at->due -= (uint64_t)grant;
    return (uint32_t)(above_zero(at->left) - before);
}

static int64_t above_zero(int64_t bytes)
{
    return bytes > 0 ? bytes : 0;
}

bool flow_is_used_up(const struct flow *flow, size_t node)
{
    return flow->node[node].left <= 0;
}

int64_t flow_last_ns(const struct flow *flow)
{
    return flow->last_ns;
}
