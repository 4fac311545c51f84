/* conn_ssh.c - an agent on another machine, over SSH
 *
 * Looks up the host first (ssh_lookup.h). Then makes a connection of one of two kinds:
 * conn_libssh.c, which costs least, or conn_openssh.c if libssh cannot follow the configuration
 * exactly. This file only passes on calls and callbacks.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "log.h"
#include "transport/conn.h"
#include "transport/ssh/conn_libssh.h"
#include "transport/ssh/ssh_lookup.h"
#include "xalloc.h"
#include "xevent.h"

struct conn_ssh {
    struct conn              conn; /* first, so that the two convert */
    struct event_base       *base;
    struct conn_target       target; /* owns its strings */
    const struct agent_file *agent;
    struct event            *start;
    struct ssh_lookup       *lookup;
    struct conn             *inner; /* NULL: still looking up the host */
};

static void  ssh_start(struct conn *conn);
static void  start_cb(evutil_socket_t fd, short what, void *arg);
static void  looked_up(struct ssh_host *host, const struct conn_failure *why, void *arg);
static void  ssh_write(struct conn *conn, struct evbuffer *from);
static size_t ssh_unwritten(const struct conn *conn);
static bool  ssh_line(struct conn *conn, struct conn_line *line);
static bool  ssh_close_input(struct conn *conn);
static void  ssh_conn_free(struct conn *conn);

static const struct conn_kind kind = {
    .start = ssh_start,
    .write = ssh_write,
    .unwritten = ssh_unwritten,
    .line = ssh_line,
    .close_input = ssh_close_input,
    .free = ssh_conn_free,
};

/* ---- callbacks of the inner connection ---- */

static void stage_cb(const char *stage, void *arg)
{
    struct conn_ssh *c = arg;

    c->conn.ops->stage(stage, c->conn.arg);
}

static void open_cb(void *arg)
{
    struct conn_ssh *c = arg;

    c->conn.noise = c->inner->noise;
    c->conn.ops->open(c->conn.arg);
}

static void input_cb(struct evbuffer *in, void *arg)
{
    struct conn_ssh *c = arg;

    c->conn.ops->input(in, c->conn.arg); /* may free c */
}

static void closed_cb(const struct conn_failure *why, void *arg)
{
    struct conn_ssh *c = arg;

    c->conn.ops->closed(why, c->conn.arg); /* may free c */
}

static const struct conn_ops inner_ops = {
    .stage = stage_cb, .open = open_cb, .input = input_cb, .closed = closed_cb
};

/* ---- the interface of conn.h ---- */

struct conn *conn_ssh_new(struct event_base *base, const struct conn_target *target,
                          const struct agent_file *agent, const struct conn_ops *ops, void *arg)
{
    struct conn_ssh *c = xcalloc(1, sizeof *c);

    c->conn = (struct conn){ .kind = &kind, .ops = ops, .arg = arg };
    c->base = base;
    conn_target_copy(&c->target, target);
    c->agent = agent;
    c->start = xevent_new(base, -1, start_cb, c);
    return &c->conn;
}

/* Starts from the event loop, not from here: closed() may free us. */
static void ssh_start(struct conn *conn)
{
    const struct timeval now = { 0 };

    xevent_add(((struct conn_ssh *)conn)->start, &now);
}

static void start_cb(evutil_socket_t fd, short what, void *arg)
{
    struct conn_ssh *c = arg;

    (void)fd, (void)what;
    c->lookup = ssh_lookup_new(c->base, &c->target, looked_up, c);
    ssh_lookup_start(c->lookup);
}

static void looked_up(struct ssh_host *host, const struct conn_failure *why, void *arg)
{
    struct conn_ssh *c = arg;

    if (host == NULL) {
        c->conn.ops->closed(why, c->conn.arg); /* may free c */
        return;
    }
    if (host->config.needs_openssh != NULL) {
        log_info("%s: using OpenSSH's ssh: %s", c->target.host, host->config.needs_openssh);
        c->inner = conn_openssh_new(c->base, &c->target, c->agent, &inner_ops, c);
        ssh_host_free(host);
    } else {
        c->inner = conn_libssh_new(c->base, &c->target, host, c->agent, &inner_ops, c);
    }
    conn_start(c->inner);
}

static void ssh_write(struct conn *conn, struct evbuffer *from)
{
    struct conn_ssh *c = (struct conn_ssh *)conn;

    if (c->inner != NULL)
        conn_write(c->inner, from);
    else
        evbuffer_drain(from, evbuffer_get_length(from));
}

static size_t ssh_unwritten(const struct conn *conn)
{
    const struct conn_ssh *c = (const struct conn_ssh *)conn;

    return c->inner != NULL ? conn_unwritten(c->inner) : 0;
}

static bool ssh_line(struct conn *conn, struct conn_line *line)
{
    struct conn_ssh *c = (struct conn_ssh *)conn;

    return c->inner != NULL && conn_line(c->inner, line);
}

static bool ssh_close_input(struct conn *conn)
{
    struct conn_ssh *c = (struct conn_ssh *)conn;

    return c->inner != NULL && conn_close_input(c->inner);
}

static void ssh_conn_free(struct conn *conn)
{
    struct conn_ssh *c = (struct conn_ssh *)conn;

    conn_free(c->inner);
    ssh_lookup_free(c->lookup);
    event_free(c->start);
    conn_target_clear(&c->target);
    free(c);
}
