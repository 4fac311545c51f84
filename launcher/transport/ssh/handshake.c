/* handshake.c - see handshake.h
 *
 * Each of stages[] has one step, which is called whenever the socket or the route has news,
 * until it is done. Nothing here blocks, except where libssh itself blocks (ssh_auth.c).
 *
 * The socket belongs to the route, and from ssh_connect() on to the session; ssh_free() closes
 * it. We never call ssh_disconnect(), which leaves a socket open that was set by
 * SSH_OPTIONS_FD.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <libssh/libssh.h>

#include "clock.h"
#include "exit_code.h"
#include "log.h"
#include "transport/dial.h"
#include "transport/login.h"
#include "transport/ssh/known_hosts.h"
#include "transport/ssh/proxy_turn.h"
#include "transport/ssh/retry.h"
#include "transport/ssh/route.h"
#include "transport/ssh/ssh_auth.h"
#include "transport/ssh/ssh_config.h"
#include "transport/ssh/ssh_session.h"
#include "xalloc.h"
#include "xevent.h"

#define PROXY_SAID_SIZE 512 /* bytes of its stderr in a message */

enum stage {
    STAGE_RESOLVE, STAGE_CONNECT, STAGE_KEX, STAGE_HOST_KEY, STAGE_AUTH, STAGE_AGENT,
    STAGE_DONE
};

struct handshake {
    struct event_base          *base;
    char                       *name; /* name in the hostfile */
    double                      timeout_s;
    struct ssh_host            *host;
    const struct agent_file    *agent;
    const struct handshake_ops *ops;
    void                       *arg;
    enum stage                  stage;
    struct conn_failure         why;

    struct event *ready; /* the socket; NULL before "key exchange" */
    struct event *late;  /* the stage's deadline; in a pause between retries, its end */
    int           retries;
    bool          is_waiting_to_retry;
    bool          is_waiting_for_password;
    bool          has_own_password; /* it refuses the one for all nodes */

    struct proxy_turn *turn; /* NULL: no turn is needed now */
    struct route       route;
    ssh_session        session;
    struct ssh_auth   *auth;
    struct remote      remote;
};

static int   step_resolve(struct handshake *h);
static int   step_connect(struct handshake *h);
static bool  take_turn(struct handshake *h);
static void  turn_cb(void *arg);
static void  end_turn(struct handshake *h);
static int   step_kex(struct handshake *h);
static int   kex_failed(struct handshake *h);
static int   proxy_failed(struct handshake *h);
static int   retry(struct handshake *h);
static void  drop_session(struct handshake *h);
static int   step_host_key(struct handshake *h);
static int   step_auth(struct handshake *h);
static int   await_password(struct handshake *h);
static int   ask_own_password(struct handshake *h);
static void  password_cb(void *arg);
static int   step_agent(struct handshake *h);
static void  late_cb(evutil_socket_t fd, short what, void *arg);
static void  kex_late(struct handshake *h);
static void  silent(struct handshake *h);
static bool  was_silent(const struct handshake *h);
static bool  has_banner(const struct handshake *h);
static void  news_cb(void *arg);
static void  advance(struct handshake *h);
static void  enter(struct handshake *h, enum stage next);
static void  set_deadline(struct handshake *h, double seconds);
static void  fail(struct handshake *h);
static void  stop_waiting(struct handshake *h);
static void  stop_watching(struct handshake *h);
static void  wait_ready(struct handshake *h);
static void  ready_cb(evutil_socket_t fd, short what, void *arg);
static bool  wants_write(const struct handshake *h);

/* The stages in order. A step that is done leads to the next row. The only ways back are to
 * "connect", by retry() and by ask_own_password(). */
static const struct {
    const char *name;
    int       (*step)(struct handshake *h); /* 1: done; 0: would block; -1: failed, see why */
} stages[] = {
    [STAGE_RESOLVE] = { "resolve", step_resolve },
    [STAGE_CONNECT] = { "connect", step_connect },
    [STAGE_KEX] = { "key exchange", step_kex },
    [STAGE_HOST_KEY] = { "host key", step_host_key },
    [STAGE_AUTH] = { "authenticate", step_auth },
    [STAGE_AGENT] = { "agent", step_agent },
};

struct handshake *handshake_new(struct event_base *base, const struct conn_target *target,
                                struct ssh_host *host, const struct agent_file *agent,
                                const struct handshake_ops *ops, void *arg)
{
    struct handshake *h = xcalloc(1, sizeof *h);

    h->base = base;
    h->name = xstrdup(target->host);
    h->timeout_s = target->connect_timeout_s;
    h->host = host;
    h->agent = agent;
    h->ops = ops;
    h->arg = arg;
    h->late = xevent_new(base, -1, late_cb, h);
    route_init(&h->route, base, &host->config, target->segment_bytes, news_cb, h);
    return h;
}

void handshake_start(struct handshake *h)
{
    enter(h, STAGE_RESOLVE);
    advance(h);
}

bool handshake_close_input(struct handshake *h)
{
    return h->stage >= STAGE_AGENT && remote_close_input(&h->remote);
}

void handshake_free(struct handshake *h)
{
    if (h == NULL)
        return;
    drop_session(h);
    event_free(h->late);
    route_clear(&h->route);
    ssh_host_free(h->host);
    free(h->name);
    free(h);
}

/* ---- resolve, connect ---- */

static int step_resolve(struct handshake *h)
{
    return route_resolve(&h->route, &h->why);
}

static int step_connect(struct handshake *h)
{
    if (!route_is_tcp(&h->route) && !take_turn(h))
        return 0;
    return route_connect(&h->route, &h->why);
}

/* While we wait for our turn there is no deadline: each turn before ours has one. */
static bool take_turn(struct handshake *h)
{
    if (h->turn == NULL)
        h->turn = proxy_turn_new(h->base, h->host->config.proxy_name, turn_cb, h);
    if (proxy_turn_has_come(h->turn))
        return true;
    evtimer_del(h->late);
    return false;
}

static void turn_cb(void *arg)
{
    struct handshake *h = arg;

    set_deadline(h, h->timeout_s);
    advance(h);
}

static void end_turn(struct handshake *h)
{
    proxy_turn_free(h->turn);
    h->turn = NULL;
}

/* ---- key exchange ---- */

static int step_kex(struct handshake *h)
{
    struct error err;
    int          rc;

    if (h->session == NULL) {
        h->session = ssh_session_new(h->route.fd, &h->host->config, &h->host->known, &err);
        if (h->session == NULL)
            return conn_failure_set(&h->why, EXIT_INTERNAL, "%s", err.text);
        dial_limit_silence(h->route.fd, h->timeout_s);
        h->route.fd = -1; /* the session owns it from now on */
    }
    rc = ssh_connect(h->session);
    if (has_banner(h))
        end_turn(h); /* the login at the proxy is done */
    if (rc == SSH_AGAIN)
        return 0;
    if (rc != SSH_OK)
        return kex_failed(h);
    /* libssh has made the socket blocking; a hung peer would block the event loop. */
    fcntl(ssh_get_fd(h->session), F_SETFL, O_NONBLOCK);
    return 1;
}

static int kex_failed(struct handshake *h)
{
    const struct ssh_config *config = &h->host->config;
    const char              *text = ssh_get_error(h->session);

    if (was_silent(h))
        return -1;
    if (has_banner(h))
        return conn_failure_set(&h->why, EXIT_PROTOCOL, "%s (server: %s)", text,
                                ssh_get_serverbanner(h->session));
    if (!route_is_tcp(&h->route))
        return proxy_failed(h);
    if (h->retries < RETRY_TIMES)
        return retry(h);
    conn_failure_set(&h->why, EXIT_UNREACHABLE, "port %d of %s closed the connection before "
                     "sending its banner (%d attempts): %s", config->port, config->hostname,
                     RETRY_TIMES + 1, text);
    return conn_failure_hint(&h->why,
                             "sshd's MaxStartups or PerSourcePenalties may be too low, or this "
                             "is not sshd; a smaller --fanout opens fewer connections at once");
}

/* A proxy that prints nothing has either reached a server that dropped the connection, or was
 * dropped itself. */
static int proxy_failed(struct handshake *h)
{
    char said[PROXY_SAID_SIZE];

    child_stderr(&h->route.proxy, said, sizeof said);
    if (retry_may_be_drop(said) && h->retries < RETRY_TIMES)
        return retry(h);
    conn_failure_set(
        &h->why, EXIT_UNREACHABLE,
        "the proxy command exited before the server answered (attempts: %d): %s%s%s",
        h->retries + 1, h->host->config.proxy_command, said[0] != '\0' ? ": " : "", said);
    if (h->retries > 0)
        conn_failure_hint(&h->why,
                          "MaxStartups or PerSourcePenalties of the proxy's sshd may be too "
                          "low; a smaller --fanout opens fewer connections at once");
    return -1;
}

/* Waits a while, then connects again. */
static int retry(struct handshake *h)
{
    double pause_s = retry_pause_s(h->retries);

    h->retries++;
    log_debug("%s: closed before the banner; next is attempt %d of %d", h->name,
              h->retries + 1, RETRY_TIMES + 1);
    drop_session(h);
    enter(h, STAGE_CONNECT);
    h->is_waiting_to_retry = true;
    set_deadline(h, pause_s);
    return 0;
}

/* Drops everything except config and addresses. */
static void drop_session(struct handshake *h)
{
    stop_watching(h);
    login_forget(h);
    h->is_waiting_for_password = false;
    ssh_auth_free(h->auth);
    h->auth = NULL;
    remote_clear(&h->remote);
    ssh_free(h->session);
    h->session = NULL;
    end_turn(h);
    route_hang_up(&h->route);
}

/* ---- host key, authenticate, agent ---- */

static int step_host_key(struct handshake *h)
{
    return known_hosts_check(&h->host->known, h->session, &h->why) < 0 ? -1 : 1;
}

static int step_auth(struct handshake *h)
{
    int rc;

    if (h->auth == NULL)
        h->auth = ssh_auth_new(h->session, &h->host->config,
                               h->has_own_password ? h->name : NULL);
    if (ssh_auth_wants_password(h->auth) && (rc = await_password(h)) <= 0)
        return rc;
    rc = ssh_auth_step(h->auth, &h->why);
    if (rc == 0 && ssh_auth_wants_password(h->auth) && (rc = await_password(h)) > 0)
        rc = ssh_auth_step(h->auth, &h->why);
    if (rc < 0 && ssh_auth_refused_password(h->auth))
        return ask_own_password(h);
    if (rc > 0) {
        ssh_auth_free(h->auth);
        h->auth = NULL;
    }
    return rc;
}

/* Waits for the password; only the user's time to type it is limited. Returns 1 if it is
 * there. */
static int await_password(struct handshake *h)
{
    struct error err;

    switch (login_await(LOGIN_BY_SSH, h->has_own_password ? h->name : NULL, h->base, password_cb,
                        h, &err)) {
    case LOGIN_HAVE:
        return 1;
    case LOGIN_WAIT:
        h->is_waiting_for_password = true;
        evtimer_del(h->late);
        return 0;
    default:
        return conn_failure_set(&h->why, EXIT_REFUSED, "the server accepts no key, and %s",
                                err.text);
    }
}

/* Asks once, and then connects again: the server would not wait for the answer, and counts the
 * attempts of a connection. */
static int ask_own_password(struct handshake *h)
{
    struct error err;

    if (h->has_own_password || !login_asks_again(LOGIN_BY_SSH))
        return -1;
    drop_session(h);
    h->has_own_password = true;
    if (login_await(LOGIN_BY_SSH, h->name, h->base, password_cb, h, &err) != LOGIN_WAIT)
        return -1;
    enter(h, STAGE_CONNECT);
    h->is_waiting_for_password = true;
    evtimer_del(h->late);
    return 0;
}

static void password_cb(void *arg)
{
    struct handshake *h = arg;

    h->is_waiting_for_password = false;
    set_deadline(h, h->timeout_s);
    advance(h);
}

static int step_agent(struct handshake *h)
{
    int pushes, rc;

    if (h->remote.session == NULL)
        remote_init(&h->remote, h->session, &h->host->config, h->agent, h->name, h->timeout_s);
    pushes = h->remote.start.pushes;
    rc = remote_step(&h->remote, &h->why);
    if (h->remote.start.pushes > pushes && rc == 0)
        set_deadline(h, h->remote.timeout_s);
    return rc;
}

/* ---- deadlines ---- */

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct handshake *h = arg;
    double            limit_s = h->timeout_s;

    (void)fd;
    (void)what;
    if (h->is_waiting_to_retry) {
        h->is_waiting_to_retry = false;
        set_deadline(h, limit_s);
        advance(h);
        return;
    }
    if (h->stage == STAGE_AGENT &&
        (remote_push_goes_on(&h->remote) || remote_try_elsewhere(&h->remote))) {
        set_deadline(h, h->remote.timeout_s);
        advance(h);
        return;
    }
    if (h->stage <= STAGE_CONNECT)
        route_late(&h->route, limit_s, &h->why);
    else if (has_banner(h) && dial_is_silent(ssh_get_fd(h->session), limit_s / 2))
        silent(h);
    else if (h->stage == STAGE_KEX)
        kex_late(h);
    else if (h->stage == STAGE_AGENT)
        remote_late(&h->remote, &h->why);
    else
        conn_failure_set(&h->why, EXIT_WAITED, "no answer within %g s", limit_s);
    fail(h);
}

/* The node is gone, or the way to it. */
static void silent(struct handshake *h)
{
    conn_failure_set(&h->why, EXIT_UNREACHABLE,
                     "the node fell silent: it no longer confirms what it is sent");
    conn_failure_hint(&h->why, "is it up, and is the network between it and this machine?");
}

/* Has TCP given up, as dial_limit_silence() lets it do? */
static bool was_silent(const struct handshake *h)
{
    return h->session != NULL &&
           strstr(ssh_get_error(h->session), strerror(ETIMEDOUT)) != NULL;
}

static void kex_late(struct handshake *h)
{
    const struct ssh_config *config = &h->host->config;
    double                   limit_s = h->timeout_s;
    char                     said[PROXY_SAID_SIZE];

    if (has_banner(h))
        conn_failure_set(&h->why, EXIT_WAITED, "not done within %g s", limit_s);
    else if (route_is_tcp(&h->route))
        conn_failure_set(
            &h->why, EXIT_UNREACHABLE,
            "port %d of %s accepted the connection but sent no SSH banner within %g s",
            config->port, config->hostname, limit_s);
    else {
        child_stderr(&h->route.proxy, said, sizeof said);
        conn_failure_set(&h->why, EXIT_UNREACHABLE, "the proxy command sent no SSH banner "
                         "within %g s: %s%s%s", limit_s, config->proxy_command,
                         said[0] != '\0' ? ": " : "", said);
    }
}

static bool has_banner(const struct handshake *h)
{
    return h->session != NULL && ssh_get_serverbanner(h->session) != NULL;
}

/* ---- from stage to stage ---- */

static void news_cb(void *arg)
{
    advance(arg);
}

/* Takes steps until one must wait. After each packet libssh wants to know that the socket is
 * writable before it sends another. It nearly always is, and calling the step once more finds
 * out without a turn of the loop. */
static void advance(struct handshake *h)
{
    bool has_tried = false;
    int  done = 1;

    while (done > 0 && h->stage != STAGE_DONE) {
        done = stages[h->stage].step(h);
        if (done > 0) {
            enter(h, h->stage + 1);
        } else if (done == 0 && !has_tried && wants_write(h)) {
            has_tried = true;
            done = 1;
        }
    }
    if (done < 0) {
        fail(h);
    } else if (h->stage == STAGE_DONE) {
        stop_waiting(h);
        dial_limit_silence(ssh_get_fd(h->session), 0);
        h->ops->done(&h->remote, h->arg);
    } else if (h->is_waiting_for_password) {
        stop_watching(h);
    } else if (h->session != NULL) {
        wait_ready(h);
    }
}

static void enter(struct handshake *h, enum stage next)
{
    h->stage = next;
    if (next == STAGE_DONE)
        return;
    set_deadline(h, next == STAGE_AGENT ? AGENT_START_TIMES * h->timeout_s : h->timeout_s);
    h->ops->stage(stages[next].name, h->arg);
}

static void set_deadline(struct handshake *h, double seconds)
{
    struct timeval limit = clock_interval(seconds);

    xevent_add(h->late, &limit);
}

static void fail(struct handshake *h)
{
    stop_waiting(h);
    if (was_silent(h))
        silent(h);
    h->why.stage = stages[h->stage].name;
    h->ops->failed(&h->why, h->arg); /* may free h */
}

static void stop_waiting(struct handshake *h)
{
    evtimer_del(h->late);
    stop_watching(h);
}

static void stop_watching(struct handshake *h)
{
    if (h->ready != NULL)
        event_free(h->ready);
    h->ready = NULL;
}

/* Waits for the event that libssh waits for; asks each time, because a new key exchange can
 * turn a reader into a writer. Delayed ACKs of 40 ms would double the time of a handshake, and
 * TCP may return to them at any time. */
static void wait_ready(struct handshake *h)
{
    int fd = ssh_get_fd(h->session), on = 1;

    if (route_is_tcp(&h->route))
        setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
    if (h->ready == NULL)
        h->ready = xevent_new(h->base, fd, ready_cb, h);
    xevent_watch(h->ready, wants_write(h) ? EV_READ | EV_WRITE : EV_READ);
}

static void ready_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    advance(arg);
}

static bool wants_write(const struct handshake *h)
{
    return h->session != NULL && ssh_get_poll_flags(h->session) & SSH_WRITE_PENDING;
}
