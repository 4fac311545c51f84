/* ending.c - from "stop" to DONE
 *
 * Usually: the last rank ends, the guard is told to stop what may be left, it
 * says EMPTY, the streams have ended, DONE. The same from any earlier state on
 * STOP, on a failure of our own or when the launcher is gone; then with TERM
 * and grace first. When the guard itself was killed, the agent takes its place:
 * it is a subreaper too, so whatever the guard has left is below it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "node/port.h"
#include "node/process.h"
#include "xalloc.h"
#include "xevent.h"

/* What outlives the last rank gets TERM and this long. */
#define LEFTOVER_GRACE_S 1.0
/* Nothing is left that could write, but a pipe is open: somebody outside has it, or
 * what is in it waits for a reader who rests. */
#define LINGER_S 2
/* For log files to be written when all else is over: the same after a stop, when the
 * launcher waits for DONE 15 s; and when it has had to wait for processes already. */
#define LOGS_S       60
#define LOGS_STOP_S  10
#define LOGS_STUCK_S 1

static void order_stop(struct agent *agent, double grace_s);
static bool all_is_told(const struct agent *agent);
static bool logs_are_over(struct agent *agent);
static void cancel_waiting(struct agent *agent);
static void linger_begin(struct agent *agent);
static void linger_cb(evutil_socket_t fd, short what, void *arg);
static void limit_logs(struct agent *agent);
static void log_limit_cb(evutil_socket_t fd, short what, void *arg);
static void again_cb(evutil_socket_t fd, short what, void *arg);
static bool reap_all(void);
static json_t *done_body(struct agent *agent);

void agent_stop(struct agent *agent, double grace_s)
{
    if (agent->stopped_ns == 0) {
        agent->stopped_ns = clock_now_ns();
        if (agent->is_empty)
            limit_logs(agent);
    }
    if (agent->state < AGENT_ENDING)
        agent_enter(agent, AGENT_ENDING);
    if (agent->guard_gone)
        stop_begin(&agent->stop, 0);
    else if (agent->guard.fd >= 0)
        order_stop(agent, grace_s);
    cancel_waiting(agent);
    probe_end(agent->probe);
    if (agent->guard.fd < 0)
        agent_empty(agent, 0, 0); /* nothing was ever started */
}

/* Between our letting go of MASTER_PORT and rank 0's bind somebody may have taken it: that
 * is why rank 0 fails, or the others, who meet a stranger there. Asked when rank 0 fails
 * and when a stop begins, while who has it is still to be seen. */
void agent_look_at_port(struct agent *agent)
{
    char holder[sizeof agent->port_taken];

    if (agent->master_port > 0 && agent->port_taken[0] == '\0' && agent->stopped_ns == 0 &&
        port_is_taken(agent->master_port, getpid(), agent->rank[0].state >= RANK_ENDED, holder,
                      sizeof holder))
        memcpy(agent->port_taken, holder, sizeof holder);
}

void agent_rank_over(struct agent *agent)
{
    agent->ended++;
    if (agent->ended < agent->ranks || agent->guard_gone || agent->guard.fd < 0)
        return;
    if (agent->state < AGENT_ENDING)
        agent_enter(agent, AGENT_ENDING);
    order_stop(agent, LEFTOVER_GRACE_S);
}

/* Of several graces the one that is over first counts. */
static void order_stop(struct agent *agent, double grace_s)
{
    int64_t kill_ns = clock_now_ns() + (int64_t)(grace_s * NS_PER_S);

    if (agent->kill_ns == 0 || kill_ns < agent->kill_ns)
        agent->kill_ns = kill_ns;
    guard_stop(&agent->guard, grace_s);
}

void agent_empty(struct agent *agent, int left, int killed)
{
    int i;

    if (agent->is_empty)
        return;
    agent->is_empty = true;
    agent->left = left;
    agent->killed = killed;
    if (agent->guard_news != NULL) {
        event_del(agent->guard_news);
        event_del(agent->guard_watch);
    }
    for (i = 0; i < agent->ranks && left > 0; i++) { /* these never close */
        rank_give_up(&agent->rank[i]);
        if (agent->rank[i].state < RANK_ENDED)
            rank_cancel(&agent->rank[i], SIGKILL);
    }
    linger_begin(agent);
    limit_logs(agent);
    agent_pump(agent);
}

/* Its ranks died with it (PDEATHSIG, or the namespace). */
void agent_guard_lost(struct agent *agent)
{
    struct failure failure;

    event_del(agent->guard_news);
    agent->guard_gone = true;
    failure_set(&failure, EXIT_LOST, "", "muster's guard process %s; everything that it had started on"
                " this node is being ended",
                agent->guard.was_silent ? "stood still (stopped, or held by a debugger?)"
                                        : "was killed");
    stop_init(&agent->stop, &agent->guard.contain, getpid());
    agent->again = evtimer_new(agent->base, again_cb, agent);
    if (agent->again == NULL)
        xalloc_die();
    agent_fail(agent, "guard", &failure);
    again_cb(-1, EV_TIMEOUT, agent);
}

void agent_maybe_done(struct agent *agent)
{
    if (agent->state < AGENT_DONE && agent->is_empty && all_is_told(agent) &&
        (logs_are_over(agent) || agent->logs_given_up)) {
        agent_enter(agent, AGENT_DONE);
        agent_send(agent, FRAME_DONE, 0, done_body(agent));
        link_flush(&agent->link);
    }
    if (agent->state == AGENT_DONE && link_is_flushed(&agent->link))
        event_base_loopbreak(agent->base);
}

/* Every EXIT and every end of output was sent. Without a launcher there is
 * only the rest for the log files. */
static bool all_is_told(const struct agent *agent)
{
    int i;

    for (i = 0; i < agent->ranks; i++)
        if (agent->link.is_lost ? !rank_is_closed(&agent->rank[i])
                                : agent->rank[i].state != RANK_REPORTED ||
                                      !rank_is_silent(&agent->rank[i]))
            return false;
    return true;
}

/* All that comes into them is there. If the run did not begin nobody wants them. */
static bool logs_are_over(struct agent *agent)
{
    bool are_over = true;
    int  i;

    for (i = 0; i < agent->ranks; i++) {
        struct log_file *log = agent->rank[i].log;

        if (log == NULL)
            continue;
        log_file_end(log, agent->has_begun);
        are_over = log_file_is_over(log) && are_over;
    }
    return are_over;
}

/* Those that were not asked for yet never will be. */
static void cancel_waiting(struct agent *agent)
{
    int i;

    for (i = 0; i < agent->ranks; i++)
        if (agent->rank[i].state == RANK_WAITING ||
            (agent->guard_gone && agent->rank[i].state < RANK_ENDED)) {
            rank_cancel(&agent->rank[i], agent->guard_gone ? SIGKILL : SIGTERM);
            agent_rank_over(agent);
        }
    agent->next_start = agent->ranks;
}

static void linger_begin(struct agent *agent)
{
    const struct timeval limit = { .tv_sec = LINGER_S };

    agent->linger = evtimer_new(agent->base, linger_cb, agent);
    if (agent->linger == NULL)
        xalloc_die();
    xevent_add(agent->linger, &limit);
}

static void linger_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent *agent = arg;
    int           i;

    (void)fd, (void)what;
    for (i = 0; i < agent->ranks; i++)
        rank_give_up(&agent->rank[i]);
    agent_pump(agent);
}

/* A file system may stand still for ever. */
static void limit_logs(struct agent *agent)
{
    const struct timeval limit = { .tv_sec = agent->left > 0          ? LOGS_STUCK_S
                                             : agent->stopped_ns != 0 ? LOGS_STOP_S
                                                                      : LOGS_S };

    if (agent->plan.log_dir == NULL)
        return;
    if (agent->log_limit == NULL)
        agent->log_limit = evtimer_new(agent->base, log_limit_cb, agent);
    if (agent->log_limit == NULL)
        xalloc_die();
    xevent_add(agent->log_limit, &limit);
}

static void log_limit_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent *agent = arg;

    (void)fd, (void)what;
    agent->logs_given_up = true;
    agent_maybe_done(agent);
}

/* In the guard's place: kill, reap, look again. */
static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent  *agent = arg;
    struct timeval pause = { 0 };
    int            wait_ms;

    (void)fd, (void)what;
    if (reap_all() && cgroup_is_empty(&agent->guard.contain.cgroup)) {
        cgroup_remove(&agent->guard.contain.cgroup);
        agent_empty(agent, 0, 0);
        return;
    }
    wait_ms = stop_step(&agent->stop);
    if (wait_ms == STOP_STUCK) {
        agent_empty(agent, stop_left(&agent->stop), 0);
        return;
    }
    pause.tv_usec = wait_ms * 1000;
    xevent_add(agent->again, &pause);
}

/* True when there is no child, not even the guard, whose namespace may take a
 * moment to die. */
static bool reap_all(void)
{
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        ;
    return pid < 0 && errno == ECHILD;
}

static json_t *done_body(struct agent *agent)
{
    struct processes left;
    json_t          *stuck = json_array(), *unsure = json_array(), *body;
    json_int_t       lost = 0, log_lost = 0, unread = 0;
    size_t           i;
    int              j, log_error = 0;

    for (j = 0; j < agent->ranks; j++) {
        const struct stream *out = &agent->rank[j].out, *errors = &agent->rank[j].err;
        struct log_file      *log = agent->rank[j].log;
        const char          *path;

        lost += (json_int_t)(out->lost_bytes + errors->lost_bytes);
        unread += (json_int_t)(out->unread_bytes + errors->unread_bytes);
        if (log != NULL) {
            log_lost += (json_int_t)log_file_lost(log);
            log_error = log_error != 0 ? log_error : log_file_error(log);
        }
        if (log != NULL && (path = log_file_unsure(log)) != NULL)
            json_array_append_new(unsure, json_text(path, strlen(path)));
    }
    if (agent->left > 0) {
        processes_below(&left, getpid());
        for (i = 0; i < left.count; i++)
            if (left.item[i].pid != agent->guard.pid)
                json_array_append_new(stuck, process_json(left.item[i].pid));
        processes_clear(&left);
    }
    body = json_pack("{s:i, s:i, s:I, s:I, s:o, s:I, s:o}", "left", agent->left, "killed",
                     agent->killed, "lost_bytes", lost, "log_lost_bytes", log_lost, "log_unsure",
                     unsure, "unread_bytes", unread, "stuck", stuck);
    if (log_error != 0)
        json_object_set_new(body, "log_error", json_string(strerror(log_error)));
    if (agent->port_taken[0] != '\0')
        json_object_set_new(body, "port_taken",
                            json_text(agent->port_taken, strlen(agent->port_taken)));
    return body;
}
