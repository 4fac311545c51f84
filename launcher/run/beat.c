/* beat.c - see beat.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/beat.h"

#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "node/liveness.h"
#include "run/hang.h"
#include "run/rank_output.h"
#include "run/run.h"
#include "run/run_status.h"
#include "xalloc.h"
#include "xevent.h"

struct beat {
    struct event *event;
    int64_t       last_ns;       /* by clock_boot_ns() */
    bool          pause_is_told; /* since then */
};

static void   beat_cb(evutil_socket_t fd, short what, void *arg);
static void   check_nodes(struct run *run, bool we_paused);
static double late_s(const struct run *run);

struct beat *beat_new(struct run *run)
{
    struct timeval interval = clock_interval(run->options->heartbeat_s);
    struct beat   *beat = xcalloc(1, sizeof *beat);

    beat->event = event_new(run->base, -1, EV_PERSIST, beat_cb, run);
    beat->last_ns = clock_boot_ns();
    xevent_add(beat->event, &interval);
    return beat;
}

void beat_free(struct beat *beat)
{
    if (beat != NULL)
        event_free(beat->event);
    free(beat);
}

/* A beat that comes late says that we ourselves did not run. What the nodes sent meanwhile is
 * still unread, so nobody is judged. */
static void beat_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;
    bool        we_paused = late_s(run) > run->options->heartbeat_s;

    (void)fd, (void)what;
    beat_tell_pause(run);
    run->beat->last_ns = clock_boot_ns();
    run->beat->pause_is_told = false;
    check_nodes(run, we_paused);
    rank_output_check_reader(run);
    hang_look(run);
    run_status_beat(run);
}

static void check_nodes(struct run *run, bool we_paused)
{
    const struct options *options = run->options;
    int64_t               now_ns = clock_now_ns();
    size_t                i;

    for (i = 0; i < run->plan->nodes; i++) {
        struct node *node = &run->node[i];

        if (!node_takes_frames(node) || node->state < NODE_ANSWERED)
            continue;
        if (we_paused)
            liveness_heard(&node->liveness, now_ns);
        liveness_check(node, options->dead_after_s, options->heartbeat_s, now_ns);
        if (!node_is_over(node))
            node_ping(node);
    }
}

void beat_tell_pause(struct run *run)
{
    double dead_after_s = run->options->dead_after_s;

    if (late_s(run) < dead_after_s || run->beat->pause_is_told)
        return;
    run->beat->pause_is_told = true;
    log_warn("muster itself did not run for %.0f s (stopped, or this machine suspended?);"
             " its nodes end the run after %g s", late_s(run), dead_after_s);
}

/* How late the next beat is. */
static double late_s(const struct run *run)
{
    return (double)(clock_boot_ns() - run->beat->last_ns) / NS_PER_S - run->options->heartbeat_s;
}
