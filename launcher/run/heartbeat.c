/* heartbeat.c - see heartbeat.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/heartbeat.h"

#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "node/liveness.h"
#include "run/costs.h"
#include "run/hang.h"
#include "run/pool.h"
#include "run/rank_output.h"
#include "run/run.h"
#include "run/run_status.h"
#include "xalloc.h"
#include "xevent.h"

struct heartbeat {
    struct event *event;
    struct event *due;           /* when a node will be lost before the next heartbeat */
    int64_t       last_ns;       /* the last heartbeat, by clock_boot_ns() */
    bool          pause_is_told; /* a pause since then was reported */
};

static void   heartbeat_cb(evutil_socket_t fd, short what, void *arg);
static void   due_cb(evutil_socket_t fd, short what, void *arg);
static void   ping_nodes(struct run *run, bool we_paused);
static void   check_nodes(struct run *run);
static bool   is_checked(const struct node *node);
static double late_s(const struct run *run);

struct heartbeat *heartbeat_new(struct run *run)
{
    struct timeval    interval = clock_interval(run->options->heartbeat_s);
    struct heartbeat *heartbeat = xcalloc(1, sizeof *heartbeat);

    heartbeat->event = event_new(run->base, -1, EV_PERSIST, heartbeat_cb, run);
    heartbeat->due = evtimer_new(run->base, due_cb, run);
    if (heartbeat->event == NULL || heartbeat->due == NULL)
        xalloc_die();
    heartbeat->last_ns = clock_boot_ns();
    xevent_add(heartbeat->event, &interval);
    return heartbeat;
}

void heartbeat_free(struct heartbeat *heartbeat)
{
    if (heartbeat == NULL)
        return;
    event_free(heartbeat->event);
    event_free(heartbeat->due);
    free(heartbeat);
}

/* A late heartbeat means that muster itself did not run. What the nodes sent during that time
 * is still unread, so no node counts as silent. */
static void heartbeat_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;
    bool        we_paused = late_s(run) > run->options->heartbeat_s;

    (void)fd, (void)what;
    heartbeat_tell_pause(run);
    run->heartbeat->last_ns = clock_boot_ns();
    run->heartbeat->pause_is_told = false;
    ping_nodes(run, we_paused);
    check_nodes(run);
    pool_look(run);
    rank_output_check_reader(run);
    hang_look(run);
    costs_look(run);
    run_status_beat(run);
}

/* If muster did not run, heartbeat_cb() handles that. */
static void due_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;

    (void)fd, (void)what;
    if (late_s(run) <= run->options->heartbeat_s)
        check_nodes(run);
}

static void ping_nodes(struct run *run, bool we_paused)
{
    int64_t now_ns = clock_now_ns();
    size_t  i;

    for (i = 0; i < pool_nodes(run); i++) {
        struct node *node = pool_node(run, i);

        if (node == NULL || !is_checked(node))
            continue;
        if (we_paused)
            liveness_heard(&node->liveness, now_ns);
        node_ping(node);
    }
}

static void check_nodes(struct run *run)
{
    double         interval_s = run->options->heartbeat_s, next_s = interval_s, left_s;
    int64_t        now_ns = clock_now_ns();
    struct timeval next;
    size_t         i;

    for (i = 0; i < pool_nodes(run); i++) {
        struct node *node = pool_node(run, i);

        if (node == NULL || !is_checked(node))
            continue;
        left_s = liveness_check(node, run->options->dead_after_s, interval_s, now_ns);
        if (left_s > 0 && left_s < next_s)
            next_s = left_s;
    }
    next = clock_interval(next_s);
    if (next_s < interval_s)
        xevent_add(run->heartbeat->due, &next);
}

static bool is_checked(const struct node *node)
{
    return node_takes_frames(node) && node->state >= NODE_ANSWERED;
}

void heartbeat_tell_pause(struct run *run)
{
    double agents_s = liveness_agent_s(run->options->dead_after_s);

    if (late_s(run) < agents_s || run->heartbeat->pause_is_told)
        return;
    run->heartbeat->pause_is_told = true;
    log_warn("muster itself did not run for %.0f s (was it stopped, or this machine "
             "suspended?); the nodes end the run after %g s without muster",
             late_s(run), agents_s);
}

/* Returns how late the next heartbeat is. */
static double late_s(const struct run *run)
{
    return (double)(clock_boot_ns() - run->heartbeat->last_ns) / NS_PER_S -
           run->options->heartbeat_s;
}
