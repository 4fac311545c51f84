/* reconnect_socket.c - see reconnect_socket.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "link/reconnect_socket.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "fd.h"
#include "frame.h"
#include "xalloc.h"
#include "xevent.h"

#define CALLERS_MAX 4    /* at a time; each is a second agent of one launcher */
#define BACKLOG     16   /* other processes may connect too, and wait */
#define REQUEST_MAX 4096 /* bytes of a RECONNECT frame */
#define REST_S      0.1  /* before the next accept() if it fails for lack of a descriptor */
#define REQUEST_S   5.0  /* to send the frame: the caller has it when it connects */

struct caller {
    struct reconnect_socket *of; /* NULL: this entry is free */
    int                      fd;
    struct event            *event;
    struct evbuffer         *in;
};

struct reconnect_socket {
    int           fd;
    struct event *listening, *rest;
    char         *token;
    struct caller caller[CALLERS_MAX];
    reconnect_f  *reconnect;
    void         *arg;
};

static socklen_t address_of(const char *name, struct sockaddr_un *address);
static void      connection_cb(evutil_socket_t fd, short what, void *arg);
static bool      is_ours(int fd);
static void      rested_cb(evutil_socket_t fd, short what, void *arg);
static void      caller_cb(evutil_socket_t fd, short what, void *arg);
static int       hear(struct caller *caller, const struct frame *frame,
                      struct error *err);
static bool      same_token(const char *ours, const char *theirs);
static void      turn_away(struct caller *caller, const struct error *why);
static void      caller_clear(struct caller *caller);

struct reconnect_socket *reconnect_socket_open(struct event_base *base, const char *name,
                                               const char *token, reconnect_f *reconnect,
                                               void *arg, struct error *err)
{
    struct sockaddr_un       address;
    socklen_t                size = address_of(name, &address);
    struct reconnect_socket *self;
    int                      fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, BACKLOG) < 0) {
        err_set(err, "Unix socket @%s: %s", name, strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    self = xcalloc(1, sizeof *self);
    self->fd = fd;
    self->token = xstrdup(token);
    self->reconnect = reconnect;
    self->arg = arg;
    self->listening = event_new(base, fd, EV_READ | EV_PERSIST, connection_cb, self);
    self->rest = evtimer_new(base, rested_cb, self);
    if (self->listening == NULL || self->rest == NULL)
        xalloc_die();
    xevent_add(self->listening, NULL);
    return self;
}

void reconnect_socket_close(struct reconnect_socket *self)
{
    size_t i;

    if (self == NULL)
        return;
    for (i = 0; i < CALLERS_MAX; i++)
        caller_clear(&self->caller[i]);
    event_free(self->listening);
    event_free(self->rest);
    close(self->fd);
    free(self->token);
    free(self);
}

/* Nonblocking: a listener may never accept. */
int reconnect_socket_connect(const char *name, struct error *err)
{
    struct sockaddr_un address;
    socklen_t          size = address_of(name, &address);
    int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool               is_open = fd >= 0 && connect(fd, (struct sockaddr *)&address, size) == 0;

    if (is_open && is_ours(fd))
        return fd;
    if (is_open)
        err_set(err, "Unix socket @%s belongs to another user", name);
    else if (errno == ECONNREFUSED)
        err_set(err, "the run's agent is no longer there, or no longer waits for the launcher");
    else
        err_set(err, "Unix socket @%s: %s", name, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

void reconnect_socket_wake(int fd)
{
    struct ucred who;
    socklen_t    size = sizeof who;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.pid > 1)
        kill(who.pid, SIGCONT);
}

int reconnect_socket_request(const json_t *body, const char **name, const char **token,
                             uint64_t *received, struct error *err)
{
    json_int_t position;

    if (json_unpack((json_t *)body, "{s:s, s:s, s:I}", "socket", name, "token", token, "received",
                    &position) < 0 ||
        (*name)[0] == '\0' || strlen(*name) > FRAME_SOCKET_MAX || position < 0)
        return err_set(
            err,
            "RECONNECT frame: \"socket\", \"token\" or \"received\" is missing or invalid");
    *received = (uint64_t)position;
    return 0;
}

/* The address begins with NUL: it is not a file. */
static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
    size_t size = strnlen(name, FRAME_SOCKET_MAX);

    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(address->sun_path + 1, name, size);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
}

static void connection_cb(evutil_socket_t fd, short what, void *arg)
{
    struct reconnect_socket *self = arg;
    const struct timeval     limit = clock_interval(REQUEST_S), rest = clock_interval(REST_S);
    struct caller           *caller = self->caller, *end = caller + CALLERS_MAX;
    int new = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)what;
    while (caller < end && caller->of != NULL)
        caller++;
    if (new < 0) {
        event_del(self->listening); /* it would be readable again at once */
        xevent_add(self->rest, &rest);
        return;
    }
    if (caller == end || !is_ours(new)) {
        close(new);
        return;
    }
    *caller = (struct caller){ .of = self, .fd = new, .in = evbuffer_new() };
    caller->event = event_new(event_get_base(self->listening), new, EV_READ | EV_PERSIST, caller_cb,
                              caller);
    if (caller->in == NULL || caller->event == NULL)
        xalloc_die();
    xevent_add(caller->event, &limit);
}

static bool is_ours(int fd)
{
    struct ucred who;
    socklen_t    size = sizeof who;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == geteuid();
}

static void rested_cb(evutil_socket_t fd, short what, void *arg)
{
    struct reconnect_socket *self = arg;

    (void)fd, (void)what;
    xevent_add(self->listening, NULL);
}

static void caller_cb(evutil_socket_t fd, short what, void *arg)
{
    struct caller *caller = arg;
    struct frame   frame;
    struct error   err = { "" };
    ssize_t        got = what & EV_READ ? fd_read_buffer(fd, caller->in, REQUEST_MAX) : 0;
    int            rc;

    if (got < 0 && errno == EAGAIN)
        return;
    rc = got > 0 ? frame_peek(caller->in, &frame, &err) : -1;
    if (rc == 0 && evbuffer_get_length(caller->in) < REQUEST_MAX)
        return;
    if (rc == 0)
        err_set(&err, "too long for a RECONNECT frame");
    if (rc > 0)
        rc = hear(caller, &frame, &err);
    if (rc > 0)
        caller->fd = -1; /* reconnect() has taken it over */
    else
        turn_away(caller, &err);
    caller_clear(caller);
}

/* 1: the caller is the launcher. -1 with err if not. */
static int hear(struct caller *caller, const struct frame *frame, struct error *err)
{
    const struct reconnect_socket *self = caller->of;
    const char                    *name, *token;
    uint64_t                       received;
    json_t                        *body;
    int                            rc = -1;

    if (frame->type != FRAME_RECONNECT ||
        evbuffer_get_length(caller->in) != FRAME_HEADER_BYTES + frame->size)
        return err_set(err, "expected one RECONNECT frame and nothing else");
    body = frame_json(frame, err);
    if (body == NULL || reconnect_socket_request(body, &name, &token, &received, err) < 0)
        goto out;
    if (!same_token(self->token, token))
        err_set(err, "wrong token for this run");
    else if (self->reconnect(caller->fd, received, self->arg, err) == 0)
        rc = 1;
out:
    json_decref(body);
    return rc;
}

/* Compares in constant time: the time must not reveal how much of the token was right. */
static bool same_token(const char *ours, const char *theirs)
{
    size_t        size = strlen(ours), i;
    unsigned char difference = 0;

    if (strlen(theirs) != size)
        return false;
    for (i = 0; i < size; i++)
        difference |= (unsigned char)(ours[i] ^ theirs[i]);
    return difference == 0;
}

/* A few bytes fit an empty socket buffer. */
static void turn_away(struct caller *caller, const struct error *why)
{
    struct evbuffer *out = evbuffer_new();
    json_t          *text = json_text(why->text, strlen(why->text));

    if (out == NULL)
        xalloc_die();
    frame_put_json(out, FRAME_ERROR, 0, 0,
                   json_pack("{s:s, s:o}", "stage", "reconnect", "text", text));
    (void)!evbuffer_write(out, caller->fd);
    evbuffer_free(out);
}

static void caller_clear(struct caller *caller)
{
    if (caller->of == NULL)
        return;
    event_free(caller->event);
    evbuffer_free(caller->in);
    if (caller->fd >= 0)
        close(caller->fd);
    caller->of = NULL;
}
