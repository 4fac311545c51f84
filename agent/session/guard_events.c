/* guard_events.c - handles the guard's messages
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include "clock.h"
#include "lease.h"
#include "xalloc.h"
#include "xevent.h"

/* Once KILL is due, killing the guard loses nothing. But on a node with many processes the
 * guard needs time to find those to be killed. The launcher waits longer. */
#define KILL_PATIENCE_S 10.0

static void watch_cb(evutil_socket_t fd, short what, void *arg);
static void readable_cb(evutil_socket_t fd, short what, void *arg);
static double longer(double lease_s);
static void take(struct agent *agent, const struct guard_message *message);
static void tell_dumping(struct agent *agent, int processes);

void guard_events_open(struct agent *agent)
{
    const struct timeval beat = clock_interval(GUARD_BEAT_S);
    struct guard_events *events = &agent->guard_events;

    events->readable = event_new(agent->base, agent->guard.fd, EV_READ | EV_PERSIST, readable_cb,
                                 agent);
    events->watch = event_new(agent->base, -1, EV_PERSIST, watch_cb, agent);
    if (events->readable == NULL || events->watch == NULL)
        xalloc_die();
    event_priority_set(events->readable, 1); /* after signals to us: see readable_cb */
    event_priority_set(events->watch, 0);
    xevent_add(events->readable, NULL);
    xevent_add(events->watch, &beat);
    watch_cb(-1, EV_TIMEOUT, agent);
}

void guard_events_stop_reading(struct agent *agent)
{
    event_del(agent->guard_events.readable);
    guard_unwatch(&agent->guard);
}

void guard_events_stop(struct agent *agent)
{
    if (agent->guard_events.readable == NULL)
        return;
    event_del(agent->guard_events.readable);
    event_del(agent->guard_events.watch);
    guard_unwatch(&agent->guard);
}

void guard_events_close(struct agent *agent)
{
    if (agent->guard_events.readable == NULL)
        return;
    event_free(agent->guard_events.readable);
    event_free(agent->guard_events.watch);
}

/* Watches the guard, or reports in its place. */
static void watch_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent *agent = arg;
    double        lease_s = longer(agent->plan.lease_s);
    int64_t       kill_ns = agent->ending.kill_ns;
    bool          kill_is_due = kill_ns != 0 && clock_now_ns() > kill_ns;

    (void)fd, (void)what;
    if (!agent->takeover.is_on)
        guard_watch(&agent->guard, longer(heartbeat_left_s(agent)),
                    kill_is_due ? KILL_PATIENCE_S : lease_s);
    else
        tell_dumping(agent, agent->takeover.stop.dumping);
}

static double longer(double lease_s)
{
    return lease_s > LEASE_LOCAL_S ? lease_s : LEASE_LOCAL_S;
}

/* The end of a login session signals all its processes. Ranks die of that at once; if we
 * learned of their ends before our own signal arrived (session_end_cb), we would take them for
 * failures. The signal may come when the loop already knows of the guard's message: then its
 * next turn sees the signal. */
static void readable_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent        *agent = arg;
    struct guard_message message;
    int                  rc;

    (void)fd, (void)what;
    agent->guard_events.has_looked = !agent->guard_events.has_looked;
    if (agent->guard_events.has_looked)
        return; /* the message is still there in the next turn */
    while ((rc = guard_receive(&agent->guard, &message)) > 0) {
        take(agent, &message);
        if (!event_pending(agent->guard_events.readable, EV_READ, NULL))
            return; /* the guard has finished */
    }
    if (rc < 0)
        takeover_begin(agent);
    else
        output_pump_run(agent);
}

static void take(struct agent *agent, const struct guard_message *message)
{
    struct rank *rank;

    switch (message->type) {
    case GUARD_STANDS:
        ranks_stands(&agent->ranks, message);
        startup_continue(agent);
        break;
    case GUARD_STARTED:
        ranks_started(&agent->ranks, message);
        break;
    case GUARD_EXITED:
        if (message->id == GUARD_SERVER) {
            ranks_pmix_exited(&agent->ranks, message);
            break;
        }
        if ((rank = ranks_exited(&agent->ranks, message)) == NULL) {
            venv_exited(agent->startup.venv, message);
            break;
        }
        if (agent->state < AGENT_RUNNING)
            startup_rank_fell(agent, rank);
        else if (rank->index == 0 && message->value != 0)
            master_port_look(agent);
        if (message->value != 0)
            agent_rank_failed(agent);
        ending_rank_ended(agent);
        break;
    case GUARD_ALIVE:
        tell_dumping(agent, message->value);
        break;
    case GUARD_EMPTY:
        ending_empty(agent, message->left, message->killed);
        break;
    }
}

/* Otherwise the launcher would count us as lost, since DONE does not come. */
static void tell_dumping(struct agent *agent, int processes)
{
    if (processes == 0)
        return;
    agent_send(agent, FRAME_DUMPING, 0, json_pack("{s:i}", "processes", processes));
    link_flush(&agent->link);
}
