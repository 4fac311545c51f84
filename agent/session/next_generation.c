/* next_generation.c - the ranks are over and the agent stays for another generation
 *
 * As always before DONE, no process is left on this node. The agent forgets everything about
 * the ranks and keeps everything about the run: the link, the lease, the guard with its
 * namespace and control group, the environment that a venv script made, the run's name, and
 * the socket where the launcher can reconnect.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include "session/done_report.h"
#include "xalloc.h"
#include "xevent.h"

static bool may_stay(const struct agent *agent);
static void stay_cb(evutil_socket_t fd, short what, void *arg);
static void forget(struct agent *agent);

/* The event loop continues first, since the caller may still use the ranks. */
bool next_generation_await(struct agent *agent)
{
    const struct timeval now = { 0 };

    if (!may_stay(agent))
        return false;
    agent->staying = evtimer_new(agent->base, stay_cb, agent);
    if (agent->staying == NULL)
        xalloc_die();
    xevent_add(agent->staying, &now);
    return true;
}

void next_generation_close(struct agent *agent)
{
    if (agent->staying != NULL)
        event_free(agent->staying);
    agent->staying = NULL;
}

static bool may_stay(const struct agent *agent)
{
    return agent->plan.stays && !agent->has_failed && !agent->link.is_lost &&
           !agent->takeover.is_on && agent->guard.fd >= 0 && agent->ending.left == 0;
}

/* DONE is the last frame of its generation: after it, the launcher sends
 * frames of the next one. */
static void stay_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent *agent = arg;
    json_t       *done;

    (void)fd, (void)what;
    next_generation_close(agent);
    if (!may_stay(agent)) {
        ending_tell_done(agent);
        ending_maybe_done(agent);
        return;
    }
    kernel_watch_end(agent);
    done = done_report_body(agent);
    json_object_set_new(done, "stays", json_true());
    agent_send(agent, FRAME_DONE, 0, done);
    forget(agent);
    guard_again(&agent->guard); /* if the guard is gone, its socket reports that */
    agent->generation++;
    agent_enter(agent, AGENT_STAYING);
    link_flush(&agent->link);
}

static void forget(struct agent *agent)
{
    requests_again(agent); /* they may still read what ranks write */
    if (!ranks_clear(&agent->ranks))
        agent->has_stuck_thread = true;
    output_pump_again(agent);
    input_frames_again(agent);
    master_port_again(agent);
    startup_again(agent);
    notice_clear(agent);
    checkpoint_watch_clear(agent);
    health_watch_end(agent);
    flight_recorder_clear(agent);
    stacks_forget(agent);
    ending_close(agent);
}
