/* conn_libssh.c - an agent on another machine, by libssh
 *
 * handshake.c leads to "open"; from then on relay() moves bytes until the stream has ended.
 * Nothing here blocks.
 *
 * The caller's callbacks may free the connection. Therefore input() and closed() are always the
 * last calls of a callback of the event loop. A new turn of the loop (again) does the rest.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <libssh/libssh.h>

#include "clock.h"
#include "exit_code.h"
#include "transport/conn.h"
#include "transport/ssh/conn_libssh.h"
#include "transport/ssh/handshake.h"
#include "transport/ssh/remote_agent.h"
#include "transport/ssh/ssh_stream.h"
#include "xalloc.h"
#include "xevent.h"

#define EXIT_TIMEOUT_S 5.0 /* from end of file to exit status */

/* The kernel's struct tcp_info goes on where that of the C library ends (linux/tcp.h). */
struct line_info {
    struct tcp_info tcp;
    uint64_t        pacing_rate, most_pacing_rate;
    uint64_t        acked; /* bytes, since Linux 4.2 */
};

struct conn_libssh {
    struct conn        conn; /* first, so that the two convert */
    struct event_base *base;
    struct handshake  *handshake;
    struct remote     *remote; /* the handshake's; NULL before it is done */
    bool               is_started;
    bool               is_over;      /* the stream has ended */
    bool               is_delivered; /* input() has seen all of it */
    bool               has_failed;
    struct conn_failure why;
    uint64_t            acked;    /* bytes, when that was last asked for ... */
    int64_t             acked_ns; /* ... and since when there are no more; 0: never asked */

    struct event *ready; /* the socket; NULL before it is open */
    struct event *late;  /* the stream has ended, the exit status is not known yet */
    struct event *again; /* a new turn of the loop */
};

static void   init_libssh(void);
static void   ssh_start(struct conn *conn);
static void   ssh_write(struct conn *conn, struct evbuffer *from);
static bool   ssh_line(struct conn *conn, struct conn_line *line);
static size_t ssh_unwritten(const struct conn *conn);
static bool   ssh_close_input(struct conn *conn);
static void   ssh_conn_free(struct conn *conn);
static void   again_cb(evutil_socket_t fd, short what, void *arg);
static void   stage_begun(const char *stage, void *arg);
static void   handshake_done(struct remote *remote, void *arg);
static void   handshake_failed(const struct conn_failure *why, void *arg);
static void   ready_cb(evutil_socket_t fd, short what, void *arg);
static void   relay(struct conn_libssh *c);
static void   turn(struct conn_libssh *c);
static void   run_again(struct conn_libssh *c);
static void   late_cb(evutil_socket_t fd, short what, void *arg);
static void   finish(struct conn_libssh *c);

static const struct conn_kind kind = {
    .start = ssh_start,
    .write = ssh_write,
    .unwritten = ssh_unwritten,
    .line = ssh_line,
    .close_input = ssh_close_input,
    .free = ssh_conn_free,
};

static const struct handshake_ops handshake_ops = {
    .stage = stage_begun,
    .done = handshake_done,
    .failed = handshake_failed,
};

/* ---- the interface of conn.h ---- */

struct conn *conn_libssh_new(struct event_base *base, const struct conn_target *target,
                             struct ssh_host *host, const struct agent_file *agent,
                             const struct conn_ops *ops, void *arg)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct conn_libssh      *c = xcalloc(1, sizeof *c);

    pthread_once(&once, init_libssh);
    c->conn = (struct conn){ .kind = &kind, .ops = ops, .arg = arg };
    c->base = base;
    c->handshake = handshake_new(base, target, host, agent, &handshake_ops, c);
    c->late = xevent_new(base, -1, late_cb, c);
    c->again = xevent_new(base, -1, again_cb, c);
    return &c->conn;
}

static void init_libssh(void)
{
    ssh_init();
}

/* Starts from the event loop, not from here: closed() may free us. */
static void ssh_start(struct conn *conn)
{
    run_again((struct conn_libssh *)conn);
}

static void ssh_write(struct conn *conn, struct evbuffer *from)
{
    struct conn_libssh *c = (struct conn_libssh *)conn;

    if (c->remote == NULL) {
        evbuffer_drain(from, evbuffer_get_length(from));
        return;
    }
    evbuffer_add_buffer(c->remote->stream.out, from);
    run_again(c);
}

/* With a ProxyCommand the socket is not TCP and has no TCP_INFO. Its tcpi_last_ack_recv is no
 * use: what the other machine sends again acknowledges nothing new. */
static bool ssh_line(struct conn *conn, struct conn_line *line)
{
    struct conn_libssh *c = (struct conn_libssh *)conn;
    struct line_info    info = { .acked = 0 };
    socklen_t           size = sizeof info;

    if (c->remote == NULL || getsockopt(ssh_get_fd(c->remote->session), IPPROTO_TCP, TCP_INFO,
                                        &info, &size) < 0)
        return false;
    if (info.acked != c->acked || c->acked_ns == 0)
        c->acked_ns = clock_now_ns();
    c->acked = info.acked;
    *line = (struct conn_line){ .acked_s = (double)(clock_now_ns() - c->acked_ns) / NS_PER_S,
                                .resent = info.tcp.tcpi_total_retrans };
    return true;
}

static size_t ssh_unwritten(const struct conn *conn)
{
    const struct conn_libssh *c = (const struct conn_libssh *)conn;

    return c->remote != NULL ? evbuffer_get_length(c->remote->stream.out) : 0;
}

static bool ssh_close_input(struct conn *conn)
{
    struct conn_libssh *c = (struct conn_libssh *)conn;

    if (!handshake_close_input(c->handshake))
        return false;
    if (c->remote != NULL)
        run_again(c);
    return true;
}

static void ssh_conn_free(struct conn *conn)
{
    struct conn_libssh *c = (struct conn_libssh *)conn;

    if (c->ready != NULL)
        event_free(c->ready);
    event_free(c->late);
    event_free(c->again);
    handshake_free(c->handshake);
    free(c);
}

/* ---- the handshake ---- */

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    struct conn_libssh *c = arg;

    (void)fd;
    (void)what;
    if (!c->is_started) {
        c->is_started = true;
        handshake_start(c->handshake);
    } else if (c->remote != NULL) {
        relay(c);
    }
}

static void stage_begun(const char *stage, void *arg)
{
    struct conn_libssh *c = arg;

    c->conn.ops->stage(stage, c->conn.arg);
}

static void handshake_done(struct remote *remote, void *arg)
{
    struct conn_libssh *c = arg;

    c->remote = remote;
    c->ready = xevent_new(c->base, ssh_get_fd(remote->session), ready_cb, c);
    xevent_watch(c->ready, ssh_stream_wants(&remote->stream));
    run_again(c); /* frames may have come with the nonce */
    c->conn.noise = remote->noise;
    c->conn.ops->stage("open", c->conn.arg);
    c->conn.ops->open(c->conn.arg);
}

static void handshake_failed(const struct conn_failure *why, void *arg)
{
    struct conn_libssh *c = arg;

    c->conn.ops->closed(why, c->conn.arg); /* may free c */
}

/* ---- open ---- */

static void ready_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    relay(arg);
}

static void relay(struct conn_libssh *c)
{
    struct evbuffer *in = c->remote->stream.in;
    size_t           before = evbuffer_get_length(in);

    if (!c->is_over)
        turn(c);
    if (evbuffer_get_length(in) != before)
        c->is_delivered = false;
    if (c->is_over && c->is_delivered) {
        finish(c);
        return;
    }
    if (c->is_over)
        run_again(c);
    if (!c->is_delivered) {
        c->is_delivered = true;
        if (evbuffer_get_length(in) > 0)
            c->conn.ops->input(in, c->conn.arg); /* may free c */
    }
}

/* Moves bytes between the socket and the stream's buffers. */
static void turn(struct conn_libssh *c)
{
    const struct timeval limit = clock_interval(EXIT_TIMEOUT_S);
    struct ssh_stream   *stream = &c->remote->stream;

    if (ssh_stream_turn(stream) < 0) {
        c->is_over = c->has_failed = true;
        conn_failure_set(&c->why, EXIT_LOST, "connection lost: %s",
                         ssh_get_error(c->remote->session));
        c->why.is_cut = true;
    }
    c->is_over = c->is_over || ssh_stream_has_ended(stream);
    if (c->is_over) {
        event_del(c->ready);
        return;
    }
    xevent_watch(c->ready, ssh_stream_wants(stream));
    if (ssh_stream_is_eof(stream) && !evtimer_pending(c->late, NULL))
        xevent_add(c->late, &limit);
}

static void run_again(struct conn_libssh *c)
{
    const struct timeval now = { 0 };

    xevent_add(c->again, &now);
}

/* ---- the end ---- */

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct conn_libssh *c = arg;

    (void)fd;
    (void)what;
    c->has_failed = true;
    conn_failure_set(&c->why, EXIT_LOST, "the agent closed its output but did not exit");
    finish(c);
}

static void finish(struct conn_libssh *c)
{
    if (!c->has_failed)
        c->has_failed = remote_ended(c->remote, &c->why) < 0;
    c->why.stage = "running";
    evtimer_del(c->late);
    evtimer_del(c->again);
    event_del(c->ready);
    c->conn.ops->closed(c->has_failed ? &c->why : NULL, c->conn.arg); /* may free c */
}
