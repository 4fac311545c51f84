/* reconnect_socket.c - see reconnect_socket.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "link/reconnect_socket.h"

#include <errno.h>
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

#define CALLERS_MAX 4    /* at a time; each is a second agent of the same launcher */
#define BACKLOG     16   /* others may knock too, and are not heard */
#define REQUEST_MAX 4096 /* bytes of an ATTACH frame */
#define REST_S      0.1  /* when nobody can be let in, for want of a descriptor */
#define REQUEST_S   5.0  /* for it to come: the caller has it when it knocks */

struct caller {
    struct door     *door; /* NULL: the place is free */
    int              fd;
    struct event    *event;
    struct evbuffer *in;
};

struct door {
    int           fd;
    struct event *knock, *rest;
    char         *token;
    uint32_t      generation;
    struct caller caller[CALLERS_MAX];
    door_f       *attach;
    void         *arg;
};

static socklen_t address_of(const char *name, struct sockaddr_un *address);
static void      knock_cb(evutil_socket_t fd, short what, void *arg);
static bool      is_ours(int fd);
static void      rested_cb(evutil_socket_t fd, short what, void *arg);
static void      caller_cb(evutil_socket_t fd, short what, void *arg);
static int       hear(struct caller *caller, const struct frame *frame,
                      struct error *err);
static bool      same_token(const char *ours, const char *theirs);
static void      turn_away(struct caller *caller, const struct error *why);
static void      caller_clear(struct caller *caller);

struct door *door_open(struct event_base *base, const char *name, const char *token,
                       uint32_t generation, door_f *attach, void *arg, struct error *err)
{
    struct sockaddr_un address;
    socklen_t          size = address_of(name, &address);
    struct door       *door;
    int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, BACKLOG) < 0) {
        err_set(err, "Unix socket @%s: %s", name, strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    door = xcalloc(1, sizeof *door);
    door->fd = fd;
    door->token = xstrdup(token);
    door->generation = generation;
    door->attach = attach;
    door->arg = arg;
    door->knock = event_new(base, fd, EV_READ | EV_PERSIST, knock_cb, door);
    door->rest = evtimer_new(base, rested_cb, door);
    if (door->knock == NULL || door->rest == NULL)
        xalloc_die();
    xevent_add(door->knock, NULL);
    return door;
}

void door_close(struct door *door)
{
    size_t i;

    if (door == NULL)
        return;
    for (i = 0; i < CALLERS_MAX; i++)
        caller_clear(&door->caller[i]);
    event_free(door->knock);
    event_free(door->rest);
    close(door->fd);
    free(door->token);
    free(door);
}

/* Not to wait where somebody listens who takes nobody in. */
int door_knock(const char *name, struct error *err)
{
    struct sockaddr_un address;
    socklen_t          size = address_of(name, &address);
    int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool               is_open = fd >= 0 && connect(fd, (struct sockaddr *)&address, size) == 0;

    if (is_open && is_ours(fd))
        return fd;
    if (is_open)
        err_set(err, "Unix socket @%s is another user's", name);
    else if (errno == ECONNREFUSED)
        err_set(err, "the run's agent is no longer there, or has given the launcher up");
    else
        err_set(err, "Unix socket @%s: %s", name, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

int door_request(const json_t *body, const char **name, const char **token, uint64_t *received,
                 struct error *err)
{
    json_int_t position;

    if (json_unpack((json_t *)body, "{s:s, s:s, s:I}", "door", name, "token", token, "received",
                    &position) < 0 ||
        (*name)[0] == '\0' || strlen(*name) > DOOR_NAME_MAX || position < 0)
        return err_set(err, "ATTACH frame: no \"door\", \"token\" or \"received\", or one that "
                            "cannot be");
    *received = (uint64_t)position;
    return 0;
}

/* Its name begins with NUL: it is no file. */
static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
    size_t size = strnlen(name, DOOR_NAME_MAX);

    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(address->sun_path + 1, name, size);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
}

static void knock_cb(evutil_socket_t fd, short what, void *arg)
{
    struct door         *door = arg;
    const struct timeval limit = clock_interval(REQUEST_S), rest = clock_interval(REST_S);
    struct caller       *caller = door->caller, *end = caller + CALLERS_MAX;
    int                  new = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)what;
    while (caller < end && caller->door != NULL)
        caller++;
    if (new < 0) {
        event_del(door->knock); /* it would be ready again at once */
        xevent_add(door->rest, &rest);
        return;
    }
    if (caller == end || !is_ours(new)) {
        close(new);
        return;
    }
    *caller = (struct caller){ .door = door, .fd = new, .in = evbuffer_new() };
    caller->event = event_new(event_get_base(door->knock), new, EV_READ | EV_PERSIST, caller_cb,
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
    struct door *door = arg;

    (void)fd, (void)what;
    xevent_add(door->knock, NULL);
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
        err_set(&err, "too long for an ATTACH frame");
    if (rc > 0)
        rc = hear(caller, &frame, &err);
    if (rc > 0)
        caller->fd = -1; /* it was taken over */
    else
        turn_away(caller, &err);
    caller_clear(caller);
}

/* 1: it was the launcher. -1 with why it is not. */
static int hear(struct caller *caller, const struct frame *frame, struct error *err)
{
    const struct door *door = caller->door;
    const char        *name, *token;
    uint64_t           received;
    json_t            *body;
    int                rc = -1;

    if (frame->type != FRAME_ATTACH ||
        evbuffer_get_length(caller->in) != FRAME_HEADER_BYTES + frame->size)
        return err_set(err, "not one ATTACH frame and nothing else");
    body = frame_json(frame, err);
    if (body == NULL || door_request(body, &name, &token, &received, err) < 0)
        goto out;
    if (!same_token(door->token, token))
        err_set(err, "that is not this run's token");
    else if (frame->generation != door->generation)
        err_set(err, "generation %u was asked for, but %u runs here", frame->generation,
                door->generation);
    else if (door->attach(caller->fd, received, door->arg, err) == 0)
        rc = 1;
out:
    json_decref(body);
    return rc;
}

/* How long it takes does not tell how much of it was right. */
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

/* A few bytes into an empty socket: they fit. */
static void turn_away(struct caller *caller, const struct error *why)
{
    struct evbuffer *out = evbuffer_new();
    json_t          *text = json_text(why->text, strlen(why->text));

    if (out == NULL)
        xalloc_die();
    frame_put_json(out, FRAME_ERROR, caller->door->generation, 0,
                   json_pack("{s:s, s:o}", "stage", "attach", "text", text));
    (void)!evbuffer_write(out, caller->fd);
    evbuffer_free(out);
}

static void caller_clear(struct caller *caller)
{
    if (caller->door == NULL)
        return;
    event_free(caller->event);
    evbuffer_free(caller->in);
    if (caller->fd >= 0)
        close(caller->fd);
    caller->door = NULL;
}
