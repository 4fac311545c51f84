/* agent.c - see agent.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup/name_lock.h"
#include "clock.h"
#include "link/reconnect_relay.h"
#include "node/facts.h"
#include "xalloc.h"
#include "xevent.h"

/* Before PLAN says otherwise. The launcher may wait long for other nodes. */
#define HEARTBEAT_FIRST_S 2.0
#define LEASE_FIRST_S     300.0
/* In which the launcher must be heard after we slept for longer than the lease. */
#define BEATS_LEFT 3.0
/* At a session's end: for the launcher to log in again and hear why. */
#define HEAR_WHY_S 5.0
/* Ranks may have been told so long before us, when the node is busy. */
#define TOLD_BEFORE_S 1.0

static void open_all(struct agent *agent, const char *nonce);
static void close_all(struct agent *agent);
static void room_cb(void *arg);
static void lost_cb(const struct error *err, void *arg);
static void session_end_cb(evutil_socket_t signal_number, short what, void *arg);
static void heartbeat_cb(evutil_socket_t fd, short what, void *arg);
static void notice_sleep(struct agent *agent);

int agent_run(const char *nonce)
{
    struct agent agent = { 0 };
    bool         in_order;

    open_all(&agent, nonce);
    if (agent.state < AGENT_DONE) /* else the launcher was gone before we had said HELLO */
        event_base_dispatch(agent.base);
    in_order = !agent.link.is_lost;
    /* It has nothing left to do; then nothing of ours is here when we are gone. */
    if (agent.guard.fd >= 0 && agent.left == 0)
        waitpid(agent.guard.pid, NULL, 0);
    close_all(&agent);
    if (agent.relay_fd >= 0)
        return reconnect_relay_run(STDIN_FILENO, STDOUT_FILENO, agent.relay_fd);
    return in_order ? 0 : 1;
}

void agent_send(struct agent *agent, enum frame_type type, uint32_t rank, json_t *body)
{
    if (agent->link.is_lost)
        json_decref(body);
    else
        frame_put_json(agent->link.wire, type, agent->generation, rank, body);
}

void agent_set_heartbeat(struct agent *agent, double seconds)
{
    struct timeval every = clock_interval(seconds);

    agent->beat_ns = clock_boot_ns();
    xevent_add(agent->heartbeat, &every);
}

void agent_enter(struct agent *agent, enum agent_state state)
{
    agent->state = state;
}

void agent_fail(struct agent *agent, const char *stage, const struct failure *failure)
{
    json_t *text = json_text(failure->why.text, strlen(failure->why.text));
    json_t *hint = json_text(failure->hint, strlen(failure->hint));

    agent_send(agent, FRAME_ERROR, 0,
               json_pack("{s:s, s:o, s:o, s:i}", "stage", stage, "text", text, "hint", hint,
                         "code", failure->code));
    agent_stop(agent, agent->state < AGENT_RUNNING ? 0 : agent->plan.grace_s);
    link_flush(&agent->link);
}

static void open_all(struct agent *agent, const char *nonce)
{
    static const struct link_ops ops = { agent_frame, room_cb, agent_cut, lost_cb };
    struct event_config *config = event_config_new();
    size_t               i;

    for (i = 0; environ[i] != NULL; i++)
        strlist_add(&agent->environment, environ[i]);
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    agent->base = event_base_new_with_config(config);
    event_config_free(config);
    if (agent->base == NULL)
        xalloc_die();
    event_base_priority_init(agent->base, 4); /* what has none given gets 2 */
    agent->guard.fd = agent->relay_fd = -1;
    agent->on_term = evsignal_new(agent->base, SIGTERM, session_end_cb, agent);
    agent->on_hup = evsignal_new(agent->base, SIGHUP, session_end_cb, agent);
    agent->heartbeat = event_new(agent->base, -1, EV_PERSIST, heartbeat_cb, agent);
    if (agent->on_term == NULL || agent->on_hup == NULL || agent->heartbeat == NULL)
        xalloc_die();
    event_priority_set(agent->on_term, 0);
    event_priority_set(agent->on_hup, 0);
    event_priority_set(agent->heartbeat, 0);
    xevent_add(agent->on_term, NULL);
    xevent_add(agent->on_hup, NULL);
    agent->plan.heartbeat_s = HEARTBEAT_FIRST_S;
    agent->plan.lease_s = LEASE_FIRST_S;
    agent->probe = probe_new(agent->base, agent_probed, agent);
    dprintf(STDOUT_FILENO, "%s\n", nonce); /* no frame, and the pipe is still empty */
    link_open(&agent->link, agent->base, STDIN_FILENO, STDOUT_FILENO, &ops, agent);
    agent_send(agent, FRAME_HELLO, 0, facts_hello());
    resend_queue_count_from_here(&agent->link.resend);
    agent_set_heartbeat(agent, HEARTBEAT_FIRST_S);
    link_flush(&agent->link);
}

/* Our end would not close the connection while a thread of ours hangs in a file system, so
 * that is done apart: the launcher knows all. */
static void close_all(struct agent *agent)
{
    bool is_alone = true;
    int  i;

    if (agent->pid_file_made)
        unlink(agent->plan.pid_file);
    for (i = 0; i < agent->ranks; i++)
        is_alone = rank_clear(&agent->rank[i]) && is_alone;
    free(agent->rank);
    venv_free(agent->venv);
    probe_free(agent->probe);
    clean_free(agent->clean);
    bcast_receive_free(agent->receiver);
    stacks_free(agent->stacks);
    pmi_free(agent->pmi);
    bind_clear(&agent->binding);
    blobs_clear(&agent->blobs);
    node_plan_clear(&agent->plan);
    strlist_clear(&agent->environment);
    reconnect_socket_close(agent->socket);
    name_lock_release(agent->name_lock);
    if (!is_alone)
        link_hang_up(&agent->link);
    link_close(&agent->link);
    if (agent->guard_news != NULL) {
        event_free(agent->guard_news);
        event_free(agent->guard_watch);
    }
    event_free(agent->heartbeat);
    event_free(agent->on_term);
    event_free(agent->on_hup);
    if (agent->again != NULL)
        event_free(agent->again);
    if (agent->linger != NULL)
        event_free(agent->linger);
    if (agent->log_limit != NULL)
        event_free(agent->log_limit);
    if (agent->window != NULL)
        event_free(agent->window);
    event_base_free(agent->base);
}

static void room_cb(void *arg)
{
    agent_pump(arg);
}

/* The ranks may have something to save, so they get their grace. */
static void lost_cb(const struct error *err, void *arg)
{
    struct agent *agent = arg;
    int           i;

    (void)err; /* nobody to tell: stderr goes the same way */
    for (i = 0; i < agent->ranks; i++) {
        stream_discard(&agent->rank[i].out);
        stream_discard(&agent->rank[i].err);
    }
    reconnect_socket_close(agent->socket);
    agent->socket = NULL;
    event_del(agent->heartbeat);
    agent_stop(agent, agent->state < AGENT_RUNNING ? 0 : agent->plan.grace_s);
    agent_maybe_done(agent);
}

/* Everything in the session gets the signal at once. The ranks too: that they end is no
 * failure of theirs, and is told after this, since signals go first. And sshd: the
 * launcher hears of it over a new connection. */
static void session_end_cb(evutil_socket_t signal_number, short what, void *arg)
{
    struct agent  *agent = arg;
    struct failure failure;

    (void)what;
    if (agent->state >= AGENT_ENDING)
        return;
    failure_set(&failure, EXIT_LOST, "if the session's end did it: loginctl enable-linger, or"
                " KillUserProcesses=no in logind.conf",
                "muster's agent was killed by session end (SIG%s)",
                sigabbrev_np((int)signal_number));
    agent->stopped_ns = clock_now_ns() - (int64_t)(TOLD_BEFORE_S * NS_PER_S);
    if (agent->plan.reconnect_s < HEAR_WHY_S)
        agent->plan.reconnect_s = HEAR_WHY_S;
    if (agent->link.is_cut)
        agent_cut(agent);
    agent_fail(agent, "run", &failure);
}

static void heartbeat_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent *agent = arg;
    unsigned char now[8];
    struct frame  ping = { .type = FRAME_PING, .generation = agent->generation,
                           .body = now, .size = sizeof now };
    struct error  why;

    (void)fd, (void)what;
    notice_sleep(agent);
    if (clock_now_ns() - agent->link.heard_ns > (int64_t)(agent->plan.lease_s * NS_PER_S)) {
        err_set(&why, "nothing was heard for %g s", agent->plan.lease_s);
        link_lose(&agent->link, why.text);
        return;
    }
    if (agent->link.is_cut || agent->state == AGENT_DONE)
        return; /* behind DONE nothing comes that would have to be acknowledged too */
    if (agent->state == AGENT_RUNNING && agent->plan.hang_s > 0)
        agent_send(agent, FRAME_IDLE, 0, json_pack("{s:f}", "idle_s",
                                                   idle_seconds(&agent->idle, agent)));
    resend_queue_put_ack(&agent->link.resend, agent->generation);
    put_u64(now, (uint64_t)clock_now_ns());
    frame_put(agent->link.wire, &ping);
    link_flush(&agent->link);
}

/* If we did not run for longer than the lease (stopped, frozen, or the machine suspended,
 * when CLOCK_MONOTONIC and with it the lease stood still), it says nothing when we last
 * heard somebody. A launcher that slept as well is heard soon; another has given us up. */
static void notice_sleep(struct agent *agent)
{
    double  lease_s = agent->plan.lease_s, beat_s = agent->plan.heartbeat_s;
    double  silent_s = lease_s > BEATS_LEFT * beat_s ? lease_s - BEATS_LEFT * beat_s : 0;
    int64_t now = clock_boot_ns();

    if ((double)(now - agent->beat_ns) / NS_PER_S - beat_s > lease_s)
        agent->link.heard_ns = clock_now_ns() - (int64_t)(silent_s * NS_PER_S);
    agent->beat_ns = now;
}
