/* conn_sudo.c - see conn_sudo.h
 *
 * The agent's side is agent/link/sudo.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/conn_sudo.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "exit_code.h"
#include "frame.h"
#include "log.h"
#include "transport/login.h"
#include "transport/nonce.h"
#include "xalloc.h"
#include "xevent.h"

#define HELLO_S     10 /* as GREETING_S */
#define SUDO_S      40 /* longer than the agent waits for sudo, so that it says what it waits for */

struct conn_sudo {
    struct conn       conn; /* first, so that the two convert */
    struct event_base *base;
    struct conn      *inner;
    char             *host, *purpose;
    struct event     *late;    /* pending while the agent must answer */
    bool              is_root; /* the rest of the stream is the caller's */
    bool              has_asked, has_password; /* SUDO was sent, PASSWORD was */
    bool              is_closing;
    int64_t           waits_since_ns; /* for the user to type the password */
};

static void   sudo_start(struct conn *conn);
static void   sudo_write(struct conn *conn, struct evbuffer *from);
static size_t sudo_unwritten(const struct conn *conn);
static bool   sudo_line(struct conn *conn, struct conn_line *line);
static bool   sudo_close_input(struct conn *conn);
static void   sudo_free(struct conn *conn);
static void   late_cb(evutil_socket_t fd, short what, void *arg);
static bool   take(struct conn_sudo *c, const struct frame *frame, struct evbuffer *in);
static bool   take_hello(struct conn_sudo *c, const json_t *body);
static bool   ask(struct conn_sudo *c);
static void   password_cb(void *arg);
static bool   send_password(struct conn_sudo *c);
static void   become_root(struct conn_sudo *c, struct evbuffer *in);
static bool   refused(struct conn_sudo *c, const json_t *body);
static bool   fail(struct conn_sudo *c, int exit_code, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static const struct conn_kind kind = {
    .start = sudo_start,
    .write = sudo_write,
    .unwritten = sudo_unwritten,
    .line = sudo_line,
    .close_input = sudo_close_input,
    .free = sudo_free,
};

/* ---- callbacks of the inner connection ---- */

static void stage_cb(const char *stage, void *arg)
{
    struct conn_sudo *c = arg;

    c->conn.ops->stage(strcmp(stage, "open") == 0 ? "sudo" : stage, c->conn.arg);
}

static void open_cb(void *arg)
{
    struct conn_sudo    *c = arg;
    const struct timeval limit = { .tv_sec = HELLO_S };

    c->conn.noise = c->inner->noise;
    xevent_add(c->late, &limit);
}

static void input_cb(struct evbuffer *in, void *arg)
{
    struct conn_sudo *c = arg;
    struct frame      frame;
    struct error      err;
    int               got = 0;

    while (!c->is_root && !c->is_closing && (got = frame_peek(in, &frame, &err)) > 0)
        if (!take(c, &frame, in))
            return; /* c may be gone, and in with it */
    if (c->is_root)
        c->conn.ops->input(in, c->conn.arg);
    else if (c->is_closing)
        evbuffer_drain(in, evbuffer_get_length(in));
    else if (got < 0)
        fail(c, EXIT_PROTOCOL, "", "%s", err.text);
}

static void closed_cb(const struct conn_failure *why, void *arg)
{
    struct conn_sudo   *c = arg;
    struct conn_failure failure = { .stage = "sudo", .exit_code = EXIT_LOST };

    if (why == NULL && !c->is_root && !c->is_closing) {
        conn_failure_set(&failure, EXIT_LOST, "muster-agent exited before it was root");
        why = &failure;
    }
    login_forget(c);
    event_del(c->late);
    c->conn.ops->closed(why, c->conn.arg); /* may free c */
}

static const struct conn_ops inner_ops = {
    .stage = stage_cb, .open = open_cb, .input = input_cb, .closed = closed_cb
};

/* ---- the interface of conn.h ---- */

struct conn *conn_sudo_new(conn_new_f *make, const char *purpose, struct event_base *base,
                           const struct conn_target *target, const struct agent_file *agent,
                           const struct conn_ops *ops, void *arg)
{
    struct conn_sudo *c = xcalloc(1, sizeof *c);

    c->conn = (struct conn){ .kind = &kind, .ops = ops, .arg = arg };
    c->base = base;
    c->host = xstrdup(target->host);
    c->purpose = xstrdup(purpose);
    c->late = xevent_new(base, -1, late_cb, c);
    c->inner = make(base, target, agent, &inner_ops, c);
    return &c->conn;
}

static void sudo_start(struct conn *conn)
{
    conn_start(((struct conn_sudo *)conn)->inner);
}

static void sudo_write(struct conn *conn, struct evbuffer *from)
{
    conn_write(((struct conn_sudo *)conn)->inner, from);
}

static size_t sudo_unwritten(const struct conn *conn)
{
    return conn_unwritten(((const struct conn_sudo *)conn)->inner);
}

static bool sudo_line(struct conn *conn, struct conn_line *line)
{
    return conn_line(((struct conn_sudo *)conn)->inner, line);
}

/* Nothing more is asked of the agent or the user. */
static bool sudo_close_input(struct conn *conn)
{
    struct conn_sudo *c = (struct conn_sudo *)conn;

    c->is_closing = true;
    login_forget(c);
    event_del(c->late);
    return conn_close_input(c->inner);
}

static void sudo_free(struct conn *conn)
{
    struct conn_sudo *c = (struct conn_sudo *)conn;

    login_forget(c);
    conn_free(c->inner);
    event_free(c->late);
    json_decref((json_t *)c->conn.login);
    free(c->host);
    free(c->purpose);
    free(c);
}

/* ---- becoming root ---- */

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct conn_sudo *c = arg;

    (void)fd, (void)what;
    fail(c, EXIT_WAITED, "is the node overloaded?", "muster-agent did not send %s in time",
         c->has_asked ? "what sudo says" : "its greeting");
}

/* Returns false if c has failed. */
static bool take(struct conn_sudo *c, const struct frame *frame, struct evbuffer *in)
{
    struct error err;
    json_t      *body = NULL;
    bool         goes_on = true, is_sudo = frame->type == FRAME_SUDO && c->has_asked;

    if (frame->type != FRAME_PING && frame->type != FRAME_PONG && frame->type != FRAME_ACK) {
        log_debug("%s: -> %s (%zu bytes)", c->host, frame_name(frame->type), frame->size);
        body = frame_json(frame, &err);
        if (body == NULL)
            return fail(c, EXIT_PROTOCOL, "", "%s", err.text);
    }
    if (frame->type == FRAME_HELLO && !c->has_asked)
        goes_on = take_hello(c, body);
    else if (is_sudo && json_is_true(json_object_get(body, "asks")) && !c->has_password)
        goes_on = send_password(c);
    else if (is_sudo && json_is_true(json_object_get(body, "is_root")))
        c->is_root = true;
    else if (frame->type == FRAME_ERROR)
        goes_on = refused(c, body);
    else if (body != NULL)
        goes_on = fail(c, EXIT_PROTOCOL, "", "%s frame before the agent was root",
                       frame_name(frame->type));
    json_decref(body);
    if (!goes_on)
        return false;
    if (!c->is_root || is_sudo)
        frame_drop(in, frame);
    if (!c->is_root)
        return true;
    become_root(c, in);
    return false;
}

/* The HELLO of an agent that is root already is for the caller. */
static bool take_hello(struct conn_sudo *c, const json_t *body)
{
    const json_t *uid = json_object_get(body, "uid");

    if (!json_is_integer(uid))
        return fail(c, EXIT_PROTOCOL, "", "HELLO lacks \"uid\"");
    c->is_root = json_integer_value(uid) == 0;
    if (c->is_root)
        return true;
    c->conn.login = json_incref((json_t *)body);
    return ask(c);
}

static bool ask(struct conn_sudo *c)
{
    char                 nonce[FRAME_NONCE_CHARS + 1];
    const struct timeval limit = { .tv_sec = SUDO_S };
    struct evbuffer     *out;

    if (nonce_make(nonce) < 0)
        return fail(c, EXIT_INTERNAL, "", "cannot make a nonce");
    out = evbuffer_new();
    if (out == NULL)
        xalloc_die();
    log_debug("%s: <- SUDO", c->host);
    frame_put_json(out, FRAME_SUDO, 0, 0,
                   json_pack("{s:s, s:o}", "nonce", nonce, "for",
                             json_text(c->purpose, strnlen(c->purpose, FRAME_PURPOSE_MAX))));
    conn_write(c->inner, out);
    evbuffer_free(out);
    c->has_asked = true;
    xevent_add(c->late, &limit);
    return true;
}

static void password_cb(void *arg)
{
    struct conn_sudo *c = arg;

    c->conn.asked_ns = clock_now_ns() - c->waits_since_ns;
    send_password(c);
}

/* Sends it now, or waits until the user has typed it. */
static bool send_password(struct conn_sudo *c)
{
    const struct timeval limit = { .tv_sec = SUDO_S };
    struct frame         frame = { .type = FRAME_PASSWORD };
    const char          *password;
    struct evbuffer     *out;
    struct error         err;

    if (!login_takes_password(LOGIN_BY_SUDO))
        return fail(c, EXIT_REFUSED, "--sudo asks for it; or log in as root (--ssh_user root), or "
                    "allow this user to use sudo without a password",
                    "this user is not root, and sudo wants a password");
    event_del(c->late); /* only the user's time to type it is limited */
    switch (login_await(LOGIN_BY_SUDO, NULL, c->base, password_cb, c, &err)) {
    case LOGIN_WAIT:
        c->waits_since_ns = clock_now_ns();
        return true;
    case LOGIN_NONE:
        return fail(c, EXIT_REFUSED, "", "sudo wants a password, and %s", err.text);
    case LOGIN_HAVE:
        break;
    }
    out = evbuffer_new();
    if (out == NULL)
        xalloc_die();
    log_debug("%s: <- PASSWORD", c->host);
    password = login_password(LOGIN_BY_SUDO, NULL);
    frame.size = strlen(password);
    frame_put_header(out, &frame);
    evbuffer_add_reference(out, password, frame.size, NULL, NULL); /* without a copy of ours */
    conn_write(c->inner, out);
    evbuffer_free(out);
    c->has_password = true;
    xevent_add(c->late, &limit);
    return true;
}

/* What is left in `in` is of root's agent. */
static void become_root(struct conn_sudo *c, struct evbuffer *in)
{
    event_del(c->late);
    c->conn.ops->stage("open", c->conn.arg);
    c->conn.ops->open(c->conn.arg);
    if (evbuffer_get_length(in) > 0)
        c->conn.ops->input(in, c->conn.arg); /* may free c */
}

static bool refused(struct conn_sudo *c, const json_t *body)
{
    const char *text = json_string_value(json_object_get(body, "text"));
    const char *hint = json_string_value(json_object_get(body, "hint"));

    if (c->has_password)
        login_refused(LOGIN_BY_SUDO);
    return fail(c, EXIT_REFUSED, hint != NULL ? hint : "", "%s", text != NULL ? text : "?");
}

/* Makes the last call into ops: the callee may free c. Returns false. */
static bool fail(struct conn_sudo *c, int exit_code, const char *hint, const char *format, ...)
{
    struct conn_failure why = { .stage = "sudo", .exit_code = exit_code };
    va_list             ap;

    va_start(ap, format);
    vsnprintf(why.text, sizeof why.text, format, ap);
    va_end(ap);
    snprintf(why.hint, sizeof why.hint, "%s", hint);
    login_forget(c);
    event_del(c->late);
    c->conn.ops->closed(&why, c->conn.arg);
    return false;
}
