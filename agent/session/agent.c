/* agent.c - an agent's life: see agent.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "exit_code.h"
#include "link/relay.h"
#include "node/facts.h"
#include "node/own_limits.h"
#include "xalloc.h"
#include "xevent.h"

/* When the session ends: time for the launcher to log in again and learn why. */
#define HEAR_WHY_S 5.0
/* If the node is busy, the ranks may have received the signal this long before us. */
#define TOLD_BEFORE_S 3.0

static void          open_all(struct agent *agent, const char *nonce);
static void          open_base(struct agent *agent);
static struct event *catch_signal(struct agent *agent, int number);
static void          close_all(struct agent *agent);
static void          room_cb(void *arg);
static void          lost_cb(const struct error *err, void *arg);
static void          session_end_cb(evutil_socket_t signal_number, short what, void *arg);
static void          session_late_cb(evutil_socket_t fd, short what, void *arg);
static bool          may_save(const struct agent *agent);
static void          session_has_ended(struct agent *agent);

int agent_run(const char *nonce)
{
    struct agent agent = { .guard.fd = -1, .reconnect.relay_fd = -1 };
    bool         in_order;

    own_limits_set();
    open_all(&agent, nonce);
    if (agent.state < AGENT_DONE) /* else the launcher was gone before we sent HELLO */
        event_base_dispatch(agent.base);
    in_order = !agent.link.is_lost;
    guard_events_stop(&agent);
    /* The guard has nothing left to do. End it, so that no process of ours remains after us. */
    if (agent.guard.fd >= 0 && agent.ending.left == 0)
        guard_end(&agent.guard);
    close_all(&agent);
    if (agent.sudo.nonce[0] != '\0')
        return sudo_run(STDIN_FILENO, STDOUT_FILENO, &agent.sudo);
    if (agent.reconnect.relay_fd >= 0)
        return relay_run(STDIN_FILENO, STDOUT_FILENO, agent.reconnect.relay_fd, -1);
    return in_order ? 0 : agent.heartbeat.is_over ? EXIT_LOST : 1;
}

void agent_send(struct agent *agent, enum frame_type type, uint32_t rank, json_t *body)
{
    if (agent->link.is_lost)
        json_decref(body);
    else
        frame_put_json(agent->link.wire, type, agent->generation, rank, body);
}

void agent_enter(struct agent *agent, enum agent_state state)
{
    agent->state = state;
}

void agent_fail(struct agent *agent, const char *stage, const struct failure *failure)
{
    json_t *text = json_text(failure->why.text, strlen(failure->why.text));
    json_t *hint = json_text(failure->hint, strlen(failure->hint));
    json_t *body = json_pack("{s:s, s:o, s:o, s:i}", "stage", stage, "text", text, "hint", hint,
                             "code", failure->code);

    agent->has_failed = true;
    if (failure->missing[0] != '\0')
        json_object_set_new(body, "missing", json_text(failure->missing,
                                                       strlen(failure->missing)));
    agent_send(agent, FRAME_ERROR, 0, body);
    agent_stop(agent, agent->state < AGENT_RUNNING ? 0 : agent->plan.grace_s);
    link_flush(&agent->link);
}

/* The launcher knows everything and only waits for our exit. */
void agent_leave(struct agent *agent)
{
    agent_enter(agent, AGENT_DONE);
    event_base_loopbreak(agent->base);
}

static void open_all(struct agent *agent, const char *nonce)
{
    static const struct link_ops ops = { launcher_frames_take, room_cb, reconnect_cut, lost_cb };

    open_base(agent);
    startup_open(agent);
    agent->on_term = catch_signal(agent, SIGTERM);
    agent->on_hup = catch_signal(agent, SIGHUP);
    agent->session_late = xevent_new(agent->base, -1, session_late_cb, agent);
    requests_open(agent);
    link_open(&agent->link, agent->base, STDIN_FILENO, STDOUT_FILENO, &ops, agent);
    evbuffer_add_printf(agent->link.wire, "%s\n", nonce); /* not a frame */
    agent_send(agent, FRAME_HELLO, 0, facts_hello());
    resend_queue_count_from_here(&agent->link.resend);
    heartbeat_open(agent);
    link_flush(&agent->link);
}

static void open_base(struct agent *agent)
{
    struct event_config *config = event_config_new();

    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    agent->base = event_base_new_with_config(config);
    event_config_free(config);
    if (agent->base == NULL)
        xalloc_die();
    event_base_priority_init(agent->base, 4); /* events without one get 2 */
}

static struct event *catch_signal(struct agent *agent, int number)
{
    struct event *event = evsignal_new(agent->base, number, session_end_cb, agent);

    if (event == NULL)
        xalloc_die();
    event_priority_set(event, 0);
    xevent_add(event, NULL);
    return event;
}

/* Exiting would not close the connection while a thread of ours hangs in a file system. So
 * close it explicitly: the launcher knows everything. */
static void close_all(struct agent *agent)
{
    bool is_alone;

    startup_close(agent);
    next_generation_close(agent);
    requests_close(agent); /* they may still read what ranks write */
    is_alone = ranks_clear(&agent->ranks) && !agent->has_stuck_thread;
    stacks_forget(agent);
    health_watch_end(agent);
    health_close(agent);
    kernel_watch_close(agent);
    notice_close(agent);
    checkpoint_watch_clear(agent);
    flight_recorder_clear(agent);
    bcast_frames_close(agent);
    give_frames_close(agent);
    task_frames_end(agent);
    blobs_clear(&agent->blobs);
    node_plan_clear(&agent->plan);
    reconnect_close(agent);
    if (!is_alone)
        link_hang_up(&agent->link);
    link_close(&agent->link);
    guard_events_close(agent);
    takeover_close(agent);
    ending_close(agent);
    heartbeat_close(agent);
    event_free(agent->on_term);
    event_free(agent->on_hup);
    event_free(agent->session_late);
    event_base_free(agent->base);
}

static void room_cb(void *arg)
{
    output_pump_run(arg);
}

/* The ranks may have something to save, so they get their grace, but not beyond the lease:
 * after the lease they may already have successors. */
static void lost_cb(const struct error *err, void *arg)
{
    struct agent *agent = arg;
    double        left_s = heartbeat_left_s(agent), grace_s = agent->plan.grace_s;

    (void)err; /* the launcher cannot receive it: stderr is lost too */
    if (agent->state < AGENT_RUNNING)
        grace_s = 0;
    ranks_discard(&agent->ranks);
    reconnect_refuse(agent);
    heartbeat_stop(agent);
    agent_stop(agent, grace_s < left_s ? grace_s : left_s);
    ending_maybe_done(agent);
}

/* All processes of the session get the signal at once. That includes the ranks: their end is
 * not a failure of theirs, and is reported after this, since signals go first. It also includes
 * sshd: the launcher learns of the signal over a new connection. The ranks that survive may
 * save: systemd waits for a minute and a half. It also sends more than one signal. */
static void session_end_cb(evutil_socket_t signal_number, short what, void *arg)
{
    struct agent  *agent = arg;
    struct timeval limit = clock_interval(agent->plan.grace_s);

    (void)what;
    if (agent->state >= AGENT_ENDING || agent->session_signal != 0)
        return;
    agent->session_signal = (int)signal_number;
    ranks_stopped(&agent->ranks, clock_now_ns() - (int64_t)(TOLD_BEFORE_S * NS_PER_S));
    reconnect_extend(agent, HEAR_WHY_S);
    if (!may_save(agent)) {
        session_has_ended(agent);
        return;
    }
    notice_session_ends(agent, agent->plan.grace_s);
    xevent_add(agent->session_late, &limit);
}

/* May the ranks save, and are all of them still running? */
static bool may_save(const struct agent *agent)
{
    return agent->plan.term_is_notice && agent->state == AGENT_RUNNING &&
           agent->ranks.ended == 0;
}

static void session_late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent *agent = arg;

    (void)fd, (void)what;
    if (agent->state < AGENT_ENDING)
        session_has_ended(agent);
}

void agent_rank_failed(struct agent *agent)
{
    if (agent->session_signal != 0 && agent->state < AGENT_ENDING)
        session_has_ended(agent);
}

static void session_has_ended(struct agent *agent)
{
    struct failure failure;

    failure_set(&failure, EXIT_LOST,
                "its machine or Pod is going down; if not, logind ended the session: run "
                "loginctl enable-linger, or set KillUserProcesses=no in logind.conf",
                "the login session ended (%s to muster's agent)",
                signal_name(agent->session_signal).text);
    agent_fail(agent, "run", &failure);
}
