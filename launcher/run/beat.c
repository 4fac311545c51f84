/* beat.c - see beat.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/beat.h"

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

struct beat {
    struct event *event;
    struct event *due;           /* when a node will be lost before the next beat */
    int64_t       last_ns;       /* the last beat, by clock_boot_ns() */
    bool          pause_is_told; /* a pause since then was reported */
};

static void   beat_cb(evutil_socket_t fd, short what, void *arg);
static void   due_cb(evutil_socket_t fd, short what, void *arg);
static void   ping_nodes(struct run *run, bool we_paused);
static void   check_nodes(struct run *run);
static bool   is_checked(const struct node *node);
static double late_s(const struct run *run);

struct beat *beat_new(struct run *run)
{
    struct timeval interval = clock_interval(run->options->heartbeat_s);
    struct beat   *beat = xcalloc(1, sizeof *beat);

    beat->event = event_new(run->base, -1, EV_PERSIST, beat_cb, run);
    beat->due = evtimer_new(run->base, due_cb, run);
    if (beat->event == NULL || beat->due == NULL)
        xalloc_die();
    beat->last_ns = clock_boot_ns();
    xevent_add(beat->event, &interval);
    return beat;
}

void beat_free(struct beat *beat)
{
    if (beat == NULL)
        return;
    event_free(beat->event);
    event_free(beat->due);
    free(beat);
}

/* A late beat means that muster itself did not run. What the nodes sent during that time is
 * still unread, so no node counts as silent. */
static void beat_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;
    bool        we_paused = late_s(run) > run->options->heartbeat_s;

    (void)fd, (void)what;
    beat_tell_pause(run);
    run->beat->last_ns = clock_boot_ns();
    run->beat->pause_is_told = false;
    ping_nodes(run, we_paused);
    check_nodes(run);
    pool_look(run);
    rank_output_check_reader(run);
    hang_look(run);
    costs_look(run);
    run_status_beat(run);
}

/* If muster did not run, beat_cb() handles that. */
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
    double         beat_s = run->options->heartbeat_s, next_s = beat_s, left_s;
    int64_t        now_ns = clock_now_ns();
    struct timeval next;
    size_t         i;

    for (i = 0; i < pool_nodes(run); i++) {
        struct node *node = pool_node(run, i);

        if (node == NULL || !is_checked(node))
            continue;
        left_s = liveness_check(node, run->options->dead_after_s, beat_s, now_ns);
        if (left_s > 0 && left_s < next_s)
            next_s = left_s;
    }
    next = clock_interval(next_s);
    if (next_s < beat_s)
        xevent_add(run->beat->due, &next);
}

static bool is_checked(const struct node *node)
{
    return node_takes_frames(node) && node->state >= NODE_ANSWERED;
}

void beat_tell_pause(struct run *run)
{
    double agents_s = liveness_agent_s(run->options->dead_after_s);

    if (late_s(run) < agents_s || run->beat->pause_is_told)
        return;
    run->beat->pause_is_told = true;
    log_warn("muster itself did not run for %.0f s (was it stopped, or this machine "
             "suspended?); the nodes end the run after %g s without muster",
             late_s(run), agents_s);
}

/* Returns how late the next beat is. */
static double late_s(const struct run *run)
{
    return (double)(clock_boot_ns() - run->beat->last_ns) / NS_PER_S - run->options->heartbeat_s;
}
