/* conn_ssh.c - the agent of another machine, over SSH
 *
 * A connection climbs through stages[]; each has one step, which is called
 * until it is done, whenever the socket or a helper (resolve, dial) has news.
 * From "open" on, relay() moves bytes. Nothing here blocks but what libssh
 * cannot do otherwise (ssh_auth.c).
 *
 * Ownership of the socket: dial's, then fd's, then the session's from
 * ssh_connect() on; ssh_free() closes it. We never ssh_disconnect(): it would
 * leave a socket that came by SSH_OPTIONS_FD open.
 *
 * The user's callbacks may free the connection. So input() and closed() are
 * always the last thing that a callback of the event loop does; what is left to
 * do afterwards is put off to a fresh turn (again).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/util.h>
#include <libssh/libssh.h>

#include "clock.h"
#include "conn.h"
#include "dial.h"
#include "exit_code.h"
#include "known_hosts.h"
#include "log.h"
#include "proxy.h"
#include "remote.h"
#include "resolve.h"
#include "ssh_auth.h"
#include "ssh_config.h"
#include "ssh_session.h"
#include "xalloc.h"

/* sshd drops connections above MaxStartups before its banner; OpenSSH's default
 * lets ten in at once. */
#define RETRIES     5
#define RETRY_MIN_S 0.2
#define RETRY_MAX_S 2.0

#define EXIT_TIMEOUT_S 5.0 /* from end of file to exit status */

enum stage {
    STAGE_RESOLVE, STAGE_CONNECT, STAGE_KEX, STAGE_HOST_KEY, STAGE_AUTH, STAGE_AGENT,
    STAGE_OPEN, STAGE_OVER
};

struct conn_ssh {
    struct conn             conn; /* first, so that the two convert */
    struct conn_target      target; /* its strings are ours */
    const struct agentfile *agent;
    struct event_base      *base;
    struct ssh_config       config;
    enum stage              stage;
    struct conn_failure     why;
    bool                    has_failed, is_started;
    bool                    is_over;      /* open, and the stream has ended */
    bool                    is_delivered; /* input() has seen all there is */

    struct event *ready; /* the socket; NULL before "key exchange" */
    struct event *late;  /* the stage's deadline; in a pause between retries, its end */
    struct event *again; /* a fresh turn, soon */
    short         wanted; /* what ready waits for */

    struct resolve  *resolve;
    struct addrinfo *addresses;
    struct dial     *dial;
    struct proxy     proxy;
    int              fd; /* -1: none, or the session's */
    int              retries;
    bool             is_tcp, is_waiting_to_retry;

    ssh_session        session;
    struct known_hosts known;
    struct ssh_auth   *auth;
    struct remote      remote;
};

static int step_resolve(struct conn_ssh *c);
static int step_connect(struct conn_ssh *c);
static int step_kex(struct conn_ssh *c);
static int step_host_key(struct conn_ssh *c);
static int step_auth(struct conn_ssh *c);
static int step_agent(struct conn_ssh *c);

/* In order; a step that is done leads to the next line. The only way back is
 * from "key exchange" to "connect", by retry(). */
static const struct {
    const char *name;
    int       (*step)(struct conn_ssh *c); /* 1 done, 0 would block, -1 failed, see why */
} stages[] = {
    [STAGE_RESOLVE] = { "resolve", step_resolve },
    [STAGE_CONNECT] = { "connect", step_connect },
    [STAGE_KEX] = { "key exchange", step_kex },
    [STAGE_HOST_KEY] = { "host key", step_host_key },
    [STAGE_AUTH] = { "authenticate", step_auth },
    [STAGE_AGENT] = { "agent", step_agent },
    [STAGE_OPEN] = { "open", NULL },
    [STAGE_OVER] = { "over", NULL },
};

static void   ssh_start(struct conn *conn);
static void   ssh_write(struct conn *conn, struct evbuffer *from);
static size_t ssh_queued(const struct conn *conn);
static void   ssh_pause(struct conn *conn, bool paused);
static void   ssh_conn_free(struct conn *conn);

static const struct conn_kind kind = {
    .start = ssh_start,
    .write = ssh_write,
    .queued = ssh_queued,
    .pause = ssh_pause,
    .free = ssh_conn_free,
};

static void again_cb(evutil_socket_t fd, short what, void *arg);
static void late_cb(evutil_socket_t fd, short what, void *arg);
static void ready_cb(evutil_socket_t fd, short what, void *arg);
static void advance(struct conn_ssh *c);
static void relay(struct conn_ssh *c);
static void finish(struct conn_ssh *c);
static void drop_session(struct conn_ssh *c);

/* ---- the interface of conn.h ---- */

static void init_libssh(void)
{
    ssh_init();
}

static char *copy_text(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
}

struct conn *conn_ssh_new(struct event_base *base, const struct conn_target *target,
                          const struct agentfile *agent, const struct conn_ops *ops, void *arg)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct conn_ssh      *c = xcalloc(1, sizeof *c);

    pthread_once(&once, init_libssh);
    c->conn = (struct conn){ .kind = &kind, .ops = ops, .arg = arg };
    c->target = *target;
    c->target.host = xstrdup(target->host);
    c->target.addr = copy_text(target->addr);
    c->target.user = copy_text(target->user);
    c->target.ssh_config = copy_text(target->ssh_config);
    c->agent = agent;
    c->base = base;
    c->fd = -1;
    c->proxy.err_fd = -1;
    c->late = evtimer_new(base, late_cb, c);
    c->again = evtimer_new(base, again_cb, c);
    return &c->conn;
}

static void run_again(struct conn_ssh *c)
{
    struct timeval now = { 0 };

    evtimer_add(c->again, &now);
}

/* From a fresh turn of the loop: closed() may free us. */
static void ssh_start(struct conn *conn)
{
    run_again((struct conn_ssh *)conn);
}

static void ssh_write(struct conn *conn, struct evbuffer *from)
{
    struct conn_ssh *c = (struct conn_ssh *)conn;

    if (c->stage != STAGE_OPEN) {
        evbuffer_drain(from, evbuffer_get_length(from));
        return;
    }
    evbuffer_add_buffer(c->remote.stream.out, from);
    run_again(c);
}

static size_t ssh_queued(const struct conn *conn)
{
    const struct conn_ssh *c = (const struct conn_ssh *)conn;

    return c->remote.stream.out != NULL ? evbuffer_get_length(c->remote.stream.out) : 0;
}

static void ssh_pause(struct conn *conn, bool paused)
{
    struct conn_ssh *c = (struct conn_ssh *)conn;

    c->remote.stream.is_paused = paused;
    c->is_delivered = false;
    if (!paused && c->stage == STAGE_OPEN)
        run_again(c);
}

static void ssh_conn_free(struct conn *conn)
{
    struct conn_ssh *c = (struct conn_ssh *)conn;

    drop_session(c);
    event_free(c->late);
    event_free(c->again);
    resolve_free(c->resolve);
    if (c->addresses != NULL)
        freeaddrinfo(c->addresses);
    known_hosts_clear(&c->known);
    ssh_config_clear(&c->config);
    free((char *)c->target.host);
    free((char *)c->target.addr);
    free((char *)c->target.user);
    free((char *)c->target.ssh_config);
    free(c);
}

/* Back to nothing but config and addresses. */
static void drop_session(struct conn_ssh *c)
{
    if (c->ready != NULL)
        event_free(c->ready);
    c->ready = NULL;
    c->wanted = 0;
    dial_free(c->dial);
    c->dial = NULL;
    ssh_auth_free(c->auth);
    c->auth = NULL;
    remote_clear(&c->remote);
    ssh_free(c->session);
    c->session = NULL;
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    proxy_stop(&c->proxy);
}

/* ---- stages ---- */

static void set_deadline(struct conn_ssh *c, double seconds)
{
    struct timeval limit = clock_interval(seconds);

    evtimer_add(c->late, &limit);
}

static void enter(struct conn_ssh *c, enum stage next)
{
    c->stage = next;
    if (next >= STAGE_OPEN)
        evtimer_del(c->late);
    else
        set_deadline(c, next == STAGE_AGENT ? REMOTE_TIMEOUT_S : c->target.connect_timeout_s);
    c->conn.ops->stage(stages[next].name, c->conn.arg);
}

/* Wait for what libssh waits for; asked afresh each time, since a new key
 * exchange can turn a reader into a writer. Delayed ACKs of 40 ms would double
 * the length of a handshake, and TCP goes back to them whenever it likes. */
static void wait_ready(struct conn_ssh *c, short what)
{
    int on = 1;

    if (c->stage < STAGE_OPEN && c->is_tcp)
        setsockopt(ssh_get_fd(c->session), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
    if (c->ready == NULL)
        c->ready = event_new(c->base, ssh_get_fd(c->session), 0, ready_cb, c);
    if (what == c->wanted)
        return;
    event_del(c->ready);
    event_assign(c->ready, c->base, ssh_get_fd(c->session), what | EV_PERSIST, ready_cb, c);
    event_add(c->ready, NULL);
    c->wanted = what;
}

static bool wants_write(const struct conn_ssh *c)
{
    return c->session != NULL && ssh_get_poll_flags(c->session) & SSH_WRITE_PENDING;
}

/* Take steps until one has to wait. After each packet libssh wants to hear that
 * the socket can be written to before it sends another: it nearly always can,
 * and calling the step once more finds out without a turn of the loop. */
static void advance(struct conn_ssh *c)
{
    bool has_tried = false;
    int  done = 1;

    while (done > 0 && stages[c->stage].step != NULL) {
        done = stages[c->stage].step(c);
        if (done > 0) {
            enter(c, c->stage + 1);
        } else if (done == 0 && !has_tried && wants_write(c)) {
            has_tried = true;
            done = 1;
        }
    }
    if (done < 0) {
        c->has_failed = true;
        finish(c);
        return;
    }
    if (c->session != NULL)
        wait_ready(c, wants_write(c) ? EV_READ | EV_WRITE : EV_READ);
    if (c->stage == STAGE_OPEN) {
        run_again(c); /* frames may have come with the nonce */
        c->conn.ops->open(c->conn.arg);
    }
}

static void begin(struct conn_ssh *c)
{
    struct error err;

    if (ssh_config_read(&c->config, &c->target, &err) < 0) {
        c->has_failed = true;
        conn_failure_set(&c->why, EXIT_DATA, "%s", err.text);
        finish(c);
        return;
    }
    known_hosts_find(&c->known, &c->config, c->target.host);
    enter(c, STAGE_RESOLVE);
    advance(c);
}

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    struct conn_ssh *c = arg;

    (void)fd;
    (void)what;
    if (!c->is_started) {
        c->is_started = true;
        begin(c);
    } else if (c->stage == STAGE_OPEN) {
        relay(c);
    }
}

static void ready_cb(evutil_socket_t fd, short what, void *arg)
{
    struct conn_ssh *c = arg;

    (void)fd;
    (void)what;
    if (c->stage == STAGE_OPEN)
        relay(c);
    else
        advance(c);
}

/* ---- resolve, connect ---- */

static void resolved(struct addrinfo *found, const struct error *err, void *arg)
{
    struct conn_ssh *c = arg;

    resolve_free(c->resolve);
    c->resolve = NULL;
    c->addresses = found;
    if (found == NULL) {
        c->has_failed = true;
        conn_failure_set(&c->why, EXIT_UNREACHABLE, "%s", err->text);
        conn_failure_hint(&c->why, "check the hostfile, or give the node an address: addr=");
        finish(c);
        return;
    }
    advance(c);
}

static int step_resolve(struct conn_ssh *c)
{
    struct error err;

    if (c->config.proxy_command != NULL || c->addresses != NULL)
        return 1;
    if (c->resolve == NULL)
        c->resolve = resolve_start(c->base, c->config.hostname, c->config.port,
                                   c->config.family, resolved, c, &err);
    if (c->resolve == NULL)
        return conn_failure_set(&c->why, EXIT_INTERNAL, "%s", err.text);
    return 0;
}

static void dialled(int fd, const struct error *err, void *arg)
{
    struct conn_ssh *c = arg;

    dial_free(c->dial);
    c->dial = NULL;
    c->fd = fd;
    if (fd < 0) {
        c->has_failed = true;
        conn_failure_set(&c->why, EXIT_UNREACHABLE, "%s", err->text);
        if (strstr(err->text, strerror(ECONNREFUSED)) != NULL)
            conn_failure_hint(&c->why, "is sshd running there, on port %d?", c->config.port);
        finish(c);
        return;
    }
    advance(c);
}

static int step_connect(struct conn_ssh *c)
{
    struct error err;

    if (c->fd >= 0)
        return 1;
    if (c->config.proxy_command != NULL) {
        if (proxy_start(&c->proxy, c->config.proxy_command, &c->fd, &err) < 0)
            return conn_failure_set(&c->why, EXIT_INTERNAL, "%s", err.text);
        return 1;
    }
    c->is_tcp = true;
    if (c->dial == NULL)
        c->dial = dial_start(c->base, c->addresses, dialled, c);
    return 0;
}

/* ---- key exchange ---- */

static bool has_banner(const struct conn_ssh *c)
{
    return c->session != NULL && ssh_get_serverbanner(c->session) != NULL;
}

/* Wait a while, up to twice as long each time, then connect anew. Random, so
 * that the connections that sshd has dropped together do not come back
 * together. */
static int retry(struct conn_ssh *c)
{
    double   longest = RETRY_MAX_S / (1 << (RETRIES - 1 - c->retries));
    uint32_t random;

    c->retries++;
    log_debug("%s: closed before the banner, attempt %d of %d follows", c->target.host,
              c->retries + 1, RETRIES + 1);
    drop_session(c);
    enter(c, STAGE_CONNECT);
    c->is_waiting_to_retry = true;
    evutil_secure_rng_get_bytes(&random, sizeof random);
    set_deadline(c, RETRY_MIN_S + (longest - RETRY_MIN_S) * (random / (double)UINT32_MAX));
    return 0;
}

static int kex_failed(struct conn_ssh *c)
{
    const char *text = ssh_get_error(c->session);
    char        said[256];

    if (c->is_tcp && !has_banner(c) && c->retries < RETRIES)
        return retry(c);
    if (has_banner(c))
        return conn_failure_set(&c->why, EXIT_PROTOCOL, "%s (server: %s)", text,
                                ssh_get_serverbanner(c->session));
    if (!c->is_tcp) {
        proxy_complaint(&c->proxy, said, sizeof said);
        return conn_failure_set(&c->why, EXIT_UNREACHABLE, "the proxy command ended before the "
                                "server answered: %s%s%s", c->config.proxy_command,
                                said[0] != '\0' ? ": " : "", said);
    }
    conn_failure_set(&c->why, EXIT_UNREACHABLE, "port %d of %s closes before it says anything, "
                     "%d times in a row: %s", c->config.port, c->config.hostname, RETRIES + 1,
                     text);
    return conn_failure_hint(&c->why, "sshd's MaxStartups or PerSourcePenalties may be too low, "
                             "or it is not sshd; fewer at a time: --fanout");
}

static int step_kex(struct conn_ssh *c)
{
    struct error err;
    int          rc;

    if (c->session == NULL)
        c->session = ssh_session_new(c->fd, &c->config, &c->known, &err);
    if (c->session == NULL)
        return conn_failure_set(&c->why, EXIT_INTERNAL, "%s", err.text);
    c->fd = -1; /* the session's from now on */
    rc = ssh_connect(c->session);
    if (rc == SSH_AGAIN)
        return 0;
    if (rc != SSH_OK)
        return kex_failed(c);
    /* libssh has made the socket blocking; a stuck peer would block us all. */
    fcntl(ssh_get_fd(c->session), F_SETFL, O_NONBLOCK);
    return 1;
}

/* ---- host key, authenticate ---- */

static int step_host_key(struct conn_ssh *c)
{
    return known_hosts_check(&c->known, c->session, &c->why) < 0 ? -1 : 1;
}

static int step_auth(struct conn_ssh *c)
{
    int rc;

    if (c->auth == NULL)
        c->auth = ssh_auth_new(c->session, &c->config);
    rc = ssh_auth_step(c->auth, &c->why);
    if (rc > 0) {
        ssh_auth_free(c->auth);
        c->auth = NULL;
    }
    return rc;
}

/* ---- agent ---- */

static int step_agent(struct conn_ssh *c)
{
    double before = c->remote.timeout_s;
    int    rc;

    if (c->remote.session == NULL)
        remote_init(&c->remote, c->session, &c->config, c->agent, c->target.host);
    rc = remote_step(&c->remote, &c->why);
    if (c->remote.timeout_s > before && rc == 0)
        set_deadline(c, c->remote.timeout_s);
    return rc;
}

/* ---- open ---- */

static void relay(struct conn_ssh *c)
{
    struct timeval limit = clock_interval(EXIT_TIMEOUT_S);
    size_t         before = evbuffer_get_length(c->remote.stream.in);

    if (!c->is_over) {
        if (ssh_stream_turn(&c->remote.stream) < 0) {
            c->is_over = c->has_failed = true;
            conn_failure_set(&c->why, EXIT_LOST, "connection lost: %s",
                             ssh_get_error(c->session));
            c->why.is_cut = true;
        }
        c->is_over = c->is_over || ssh_stream_has_ended(&c->remote.stream);
        if (c->is_over)
            event_del(c->ready);
        else
            wait_ready(c, ssh_stream_wants(&c->remote.stream));
        if (!c->is_over && ssh_stream_is_eof(&c->remote.stream) && !evtimer_pending(c->late, NULL))
            evtimer_add(c->late, &limit);
    }
    if (c->remote.stream.is_paused)
        return;
    if (evbuffer_get_length(c->remote.stream.in) != before)
        c->is_delivered = false;
    if (c->is_over && c->is_delivered) {
        finish(c);
        return;
    }
    if (c->is_over)
        run_again(c);
    if (!c->is_delivered) {
        c->is_delivered = true;
        if (evbuffer_get_length(c->remote.stream.in) > 0)
            c->conn.ops->input(c->remote.stream.in, c->conn.arg); /* may free c */
    }
}

/* ---- the end ---- */

static void describe_lateness(struct conn_ssh *c)
{
    struct error tried = { "" };
    double       limit_s = c->target.connect_timeout_s;

    switch (c->stage) {
    case STAGE_RESOLVE:
        conn_failure_set(&c->why, EXIT_UNREACHABLE, "no answer from the name service about %s "
                         "within %g s", c->config.hostname, limit_s);
        break;
    case STAGE_CONNECT:
        dial_describe(c->dial, &tried);
        conn_failure_set(&c->why, EXIT_UNREACHABLE, "%s within %g s", tried.text, limit_s);
        conn_failure_hint(&c->why, "is the node up, and does a firewall let port %d through?",
                          c->config.port);
        break;
    case STAGE_KEX:
        if (has_banner(c))
            conn_failure_set(&c->why, EXIT_WAITED, "not done within %g s", limit_s);
        else if (c->is_tcp)
            conn_failure_set(&c->why, EXIT_UNREACHABLE, "port %d of %s was reached but sent no "
                             "SSH banner within %g s", c->config.port, c->config.hostname,
                             limit_s);
        else
            conn_failure_set(&c->why, EXIT_UNREACHABLE, "the proxy command brought no SSH banner "
                             "within %g s: %s", limit_s, c->config.proxy_command);
        break;
    case STAGE_AGENT:
        remote_late(&c->remote, &c->why);
        break;
    case STAGE_OPEN:
        conn_failure_set(&c->why, EXIT_LOST, "the agent closed its output but did not end");
        break;
    default:
        conn_failure_set(&c->why, EXIT_WAITED, "no answer within %g s", limit_s);
    }
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct conn_ssh *c = arg;

    (void)fd;
    (void)what;
    if (c->is_waiting_to_retry) {
        c->is_waiting_to_retry = false;
        set_deadline(c, c->target.connect_timeout_s);
        advance(c);
        return;
    }
    c->has_failed = true;
    describe_lateness(c);
    finish(c);
}

static void finish(struct conn_ssh *c)
{
    bool was_open = c->stage == STAGE_OPEN;

    if (was_open && !c->has_failed)
        c->has_failed = remote_ended(&c->remote, &c->why) < 0;
    c->why.stage = was_open ? "running" : stages[c->stage].name;
    c->stage = STAGE_OVER;
    evtimer_del(c->late);
    evtimer_del(c->again);
    if (c->ready != NULL)
        event_del(c->ready);
    c->conn.ops->closed(c->has_failed ? &c->why : NULL, c->conn.arg); /* may free c */
}
