/* guard_events.c - what the guard says, and what follows from it
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include "clock.h"
#include "xalloc.h"
#include "xevent.h"

/* Agent and guard may be silent for the lease, but not for less than some beats: no
 * network is between them, yet a loaded machine is. */
#define LEASE_LEAST_S   5.0
/* Once KILL is due there is nothing to lose by killing the guard; but to find what is to
 * be killed takes its time on a node with many processes. The launcher waits longer. */
#define KILL_PATIENCE_S 10.0

static void watch_cb(evutil_socket_t fd, short what, void *arg);
static void news_cb(evutil_socket_t fd, short what, void *arg);
static void take(struct agent *agent, const struct guard_message *message);
static void tell_dumping(struct agent *agent, int processes);

void agent_watch_guard(struct agent *agent)
{
    const struct timeval beat = clock_interval(GUARD_BEAT_S);

    agent->guard_news = event_new(agent->base, agent->guard.fd, EV_READ | EV_PERSIST, news_cb,
                                  agent);
    agent->guard_watch = event_new(agent->base, -1, EV_PERSIST, watch_cb, agent);
    if (agent->guard_news == NULL || agent->guard_watch == NULL)
        xalloc_die();
    event_priority_set(agent->guard_news, 1); /* behind signals to us: see session_end_cb */
    event_priority_set(agent->guard_watch, 0);
    xevent_add(agent->guard_news, NULL);
    xevent_add(agent->guard_watch, &beat);
    watch_cb(-1, EV_TIMEOUT, agent);
}

/* The guard, or we in its place. */
static void watch_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent *agent = arg;
    double        lease_s = agent->plan.lease_s > LEASE_LEAST_S ? agent->plan.lease_s
                                                                : LEASE_LEAST_S;
    bool          kill_is_due = agent->kill_ns != 0 && clock_now_ns() > agent->kill_ns;

    (void)fd, (void)what;
    if (!agent->guard_gone)
        guard_watch(&agent->guard, lease_s, kill_is_due ? KILL_PATIENCE_S : lease_s);
    else
        tell_dumping(agent, agent->stop.dumping);
}

static void news_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent        *agent = arg;
    struct guard_message message;
    int                  rc;

    (void)fd, (void)what;
    while ((rc = guard_receive(&agent->guard, &message)) > 0) {
        take(agent, &message);
        if (agent->is_empty)
            return; /* its last word */
    }
    if (rc < 0)
        agent_guard_lost(agent);
    else
        agent_pump(agent);
}

static void take(struct agent *agent, const struct guard_message *message)
{
    struct rank *rank = NULL;

    if (message->id >= 0 && message->id < agent->ranks)
        rank = &agent->rank[message->id];
    switch (message->type) {
    case GUARD_STARTED:
        if (rank == NULL)
            break;
        agent->starting--;
        rank_started(rank, message);
        agent_start_ranks(agent);
        break;
    case GUARD_EXITED:
        if (rank == NULL) {
            venv_exited(agent->venv, message);
            break;
        }
        if (rank->state == RANK_STARTING)
            agent->starting--;
        rank_ended(rank, message);
        if (rank->index == 0 && message->value != 0)
            agent_look_at_port(agent);
        agent_start_ranks(agent);
        agent_rank_over(agent);
        break;
    case GUARD_ALIVE:
        tell_dumping(agent, message->value);
        break;
    case GUARD_EMPTY:
        agent_empty(agent, message->left, message->killed);
        break;
    }
}

/* The launcher would else take us for lost, when DONE does not come. */
static void tell_dumping(struct agent *agent, int processes)
{
    if (processes == 0)
        return;
    agent_send(agent, FRAME_DUMPING, 0, json_pack("{s:i}", "processes", processes));
    link_flush(&agent->link);
}
