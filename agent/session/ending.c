/* ending.c - from a stop to DONE
 *
 * Usually the last rank ends, the guard receives STOP and ends the remaining processes, it
 * reports EMPTY, the streams end, DONE. The same happens in any earlier state on STOP, on a
 * failure of our own, or if the launcher is lost; but then TERM and the grace come first. If
 * the guard itself died: see takeover.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <signal.h>

#include "clock.h"
#include "session/done_report.h"
#include "xalloc.h"
#include "xevent.h"

/* Processes that outlive the last rank get TERM and this grace. */
#define LEFTOVER_GRACE_S 1.0
/* No process is left that could write, but a pipe is open: a process outside the run holds it,
 * or its bytes wait for a slow reader. */
#define LINGER_S 2
/* Time to write the log files when all else is over: normally; after a stop, when the launcher
 * waits 15 s for DONE; and after processes that could not be killed. */
#define LOGS_S       60
#define LOGS_STOP_S  10
#define LOGS_STUCK_S 1

static void stop_guard(struct agent *agent, double grace_s);
static void hang_up(struct agent *agent);
static void cancel_waiting(struct agent *agent);
static bool look_last(struct agent *agent);
static bool all_is_told(const struct agent *agent);
static void begin_linger(struct agent *agent);
static void linger_cb(evutil_socket_t fd, short what, void *arg);
static void limit_logs(struct agent *agent);
static void log_limit_cb(evutil_socket_t fd, short what, void *arg);

void agent_stop(struct agent *agent, double grace_s)
{
    if (ranks_stopped(&agent->ranks, clock_now_ns()) && agent->ending.is_empty)
        limit_logs(agent);
    if (agent->state < AGENT_ENDING)
        agent_enter(agent, AGENT_ENDING);
    if (agent->takeover.is_on)
        takeover_stop(agent);
    else if (agent->guard.fd >= 0) {
        hang_up(agent);
        stop_guard(agent, grace_s);
    }
    cancel_waiting(agent);
    requests_end_probe(agent);
    task_frames_end(agent);
    health_stop(agent);
    if (agent->guard.fd < 0)
        ending_empty(agent, 0, 0); /* no process was ever started */
}

void ending_close(struct agent *agent)
{
    if (agent->ending.linger != NULL)
        event_free(agent->ending.linger);
    if (agent->ending.log_limit != NULL)
        event_free(agent->ending.log_limit);
    agent->ending = (struct ending){ 0 };
}

void ending_rank_ended(struct agent *agent)
{
    if (!ranks_all_ended(&agent->ranks) || agent->takeover.is_on || agent->guard.fd < 0)
        return;
    if (agent->state < AGENT_ENDING)
        agent_enter(agent, AGENT_ENDING);
    ranks_end_pmix(&agent->ranks);
    stop_guard(agent, LEFTOVER_GRACE_S);
}

/* If there are several graces, the one that is over first counts. */
static void stop_guard(struct agent *agent, double grace_s)
{
    int64_t kill_ns = clock_now_ns() + (int64_t)(grace_s * NS_PER_S);

    if (agent->ending.kill_ns == 0 || kill_ns < agent->ending.kill_ns)
        agent->ending.kill_ns = kill_ns;
    guard_stop(&agent->guard, grace_s);
}

/* A shell in a terminal ignores TERM, but ends when its line is cut. The rank of a run may handle
 * TERM, and gets only that. */
static void hang_up(struct agent *agent)
{
    const struct ranks *ranks = &agent->ranks;
    int                 i;

    for (i = 0; i < ranks->count && agent->plan.is_exec; i++)
        if (ranks->rank[i].plan->input == INPUT_TERMINAL && ranks->rank[i].state == RANK_RUNNING)
            guard_signal(&agent->guard, i, SIGHUP);
}

/* Ranks that were not started yet will not start. */
static void cancel_waiting(struct agent *agent)
{
    if (ranks_cancel(&agent->ranks, agent->takeover.is_on) > 0)
        ending_rank_ended(agent);
}

void ending_empty(struct agent *agent, int left, int killed)
{
    if (agent->ending.is_empty)
        return;
    agent->ending.is_empty = true;
    agent->ending.left = left;
    agent->ending.killed = killed;
    if (left > 0 || !agent->plan.stays)
        guard_events_stop(agent);
    if (left > 0)
        ranks_abandon(&agent->ranks);
    begin_linger(agent);
    limit_logs(agent);
    output_pump_run(agent);
}

void ending_maybe_done(struct agent *agent)
{
    if (agent->state < AGENT_DONE && agent->ending.is_empty && all_is_told(agent) &&
        (ranks_end_logs(&agent->ranks) || agent->ending.logs_given_up) &&
        look_last(agent)) {
        agent_enter(agent, AGENT_DONE);
        if (!next_generation_await(agent))
            ending_tell_done(agent);
    }
    if (agent->state == AGENT_DONE && agent->staying == NULL && link_is_flushed(&agent->link))
        event_base_loopbreak(agent->base);
}

/* All looks begin at once. */
static bool look_last(struct agent *agent)
{
    const bool has_checkpoint = checkpoint_watch_look_last(agent);
    const bool has_records = flight_recorder_look_last(agent);
    const bool has_samples = health_look_last(agent);
    const bool has_log = kernel_watch_look_last(agent);

    return notice_look_last(agent) && has_checkpoint && has_records && has_samples && has_log;
}

void ending_tell_done(struct agent *agent)
{
    guard_events_stop(agent);
    kernel_watch_end(agent);
    agent_send(agent, FRAME_DONE, 0, done_report_body(agent));
    link_flush(&agent->link);
}

/* Without a launcher, only the remaining log output counts. */
static bool all_is_told(const struct agent *agent)
{
    return agent->link.is_lost ? ranks_are_closed(&agent->ranks)
                               : ranks_are_reported(&agent->ranks);
}

static void begin_linger(struct agent *agent)
{
    const struct timeval limit = { .tv_sec = LINGER_S };

    agent->ending.linger = evtimer_new(agent->base, linger_cb, agent);
    if (agent->ending.linger == NULL)
        xalloc_die();
    xevent_add(agent->ending.linger, &limit);
}

static void linger_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent *agent = arg;

    (void)fd, (void)what;
    ranks_give_up(&agent->ranks);
    output_pump_run(agent);
}

/* A file system may hang forever. */
static void limit_logs(struct agent *agent)
{
    const struct timeval limit = { .tv_sec = agent->ending.left > 0           ? LOGS_STUCK_S
                                             : agent->ranks.stopped_ns != 0 ? LOGS_STOP_S
                                                                            : LOGS_S };

    if (agent->plan.log_dir == NULL)
        return;
    if (agent->ending.log_limit == NULL)
        agent->ending.log_limit = evtimer_new(agent->base, log_limit_cb, agent);
    if (agent->ending.log_limit == NULL)
        xalloc_die();
    xevent_add(agent->ending.log_limit, &limit);
}

static void log_limit_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent *agent = arg;

    (void)fd, (void)what;
    agent->ending.logs_given_up = true;
    ending_maybe_done(agent);
}
