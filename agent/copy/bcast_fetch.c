/* bcast_fetch.c - see bcast_fetch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/bcast_fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include "clock.h"
#include "copy/bcast_stream.h"
#include "frame.h"
#include "xalloc.h"
#include "xevent.h"

#define CLOSED "the other node closed the connection"

enum fetch_state { FETCH_CONNECTING, FETCH_GREETED, FETCH_PROVING, FETCH_LINKED, FETCH_LOST };

struct bcast_fetch {
    const struct bcast_fetch_ops *ops;
    void                         *arg;
    enum fetch_state              state;
    struct seal_link              link;
    unsigned char                 random[SEAL_RANDOM_BYTES];
    struct seal                   asks, answers;
    struct bufferevent           *stream; /* only writes; it would read 4 KiB at a time */
    struct event                 *readable; /* NULL: not connected */
    unsigned char                *wire;   /* SEAL_WIRE_MAX bytes; the first `have` arrived
                                             and were not taken */
    size_t                        have;
    struct event                 *begin; /* connects later: no callback may come at once */
    struct evbuffer              *waiting; /* ids to request once the connection is linked */
    unsigned char                *message; /* SEAL_MESSAGE_MAX */
    struct sockaddr_storage       address;
    socklen_t                     address_size;
};

static void begin_cb(evutil_socket_t fd, short what, void *arg);
static void event_cb(struct bufferevent *stream, short what, void *arg);
static void connected(struct bcast_fetch *fetch);
static void readable_cb(evutil_socket_t fd, short what, void *arg);
static void take_all(struct bcast_fetch *fetch);
static bool take_random(struct bcast_fetch *fetch);
static void take_message(struct bcast_fetch *fetch, size_t size);
static void take_chunk(struct bcast_fetch *fetch, size_t size);
static void put(struct bcast_fetch *fetch, enum stream_type type, const void *body, size_t size);
static void ask_waiting(struct bcast_fetch *fetch);
static void lose(struct bcast_fetch *fetch, const char *why);

struct bcast_fetch *bcast_fetch_new(struct event_base *base, const char *address, int port,
                                    const struct seal_link *link,
                                    const struct bcast_fetch_ops *ops, void *arg)
{
    const struct timeval now = { 0 };
    struct bcast_fetch  *fetch = xcalloc(1, sizeof *fetch);

    fetch->ops = ops;
    fetch->arg = arg;
    fetch->link = *link;
    fetch->waiting = evbuffer_new();
    fetch->message = xmalloc(SEAL_MESSAGE_MAX);
    fetch->wire = xmalloc(SEAL_WIRE_MAX);
    fetch->stream = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    fetch->begin = evtimer_new(base, begin_cb, fetch);
    if (fetch->waiting == NULL || fetch->stream == NULL || fetch->begin == NULL)
        xalloc_die();
    stream_address(address, port, &fetch->address, &fetch->address_size);
    if (event_add(fetch->begin, &now) < 0)
        xalloc_die();
    return fetch;
}

static void begin_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval limit = clock_interval(STREAM_OPEN_S);
    struct bcast_fetch  *fetch = arg;

    (void)fd, (void)what;
    bufferevent_setcb(fetch->stream, NULL, NULL, event_cb, fetch);
    bufferevent_set_timeouts(fetch->stream, NULL, &limit);
    bufferevent_disable(fetch->stream, EV_READ);
    bufferevent_enable(fetch->stream, EV_WRITE);
    if (fetch->address_size == 0)
        lose(fetch, "not an address");
    else if (bufferevent_socket_connect(fetch->stream, (struct sockaddr *)&fetch->address,
                                        (int)fetch->address_size) < 0)
        lose(fetch, strerror(errno));
}

void bcast_fetch_free(struct bcast_fetch *fetch)
{
    if (fetch == NULL)
        return;
    if (fetch->readable != NULL)
        event_free(fetch->readable);
    bufferevent_free(fetch->stream);
    event_free(fetch->begin);
    evbuffer_free(fetch->waiting);
    seal_end(&fetch->asks);
    seal_end(&fetch->answers);
    free(fetch->message);
    free(fetch->wire);
    free(fetch);
}

static void event_cb(struct bufferevent *stream, short what, void *arg)
{
    (void)stream;
    if ((what & BEV_EVENT_CONNECTED) != 0)
        connected(arg);
    else if ((what & BEV_EVENT_TIMEOUT) != 0)
        lose(arg, "timed out");
    else
        lose(arg, (what & BEV_EVENT_EOF) != 0 ? CLOSED : strerror(EVUTIL_SOCKET_ERROR()));
}

static void connected(struct bcast_fetch *fetch)
{
    const struct timeval limit = clock_interval(STREAM_OPEN_S);
    unsigned char        greeting[STREAM_GREETING_BYTES];

    fetch->readable = event_new(bufferevent_get_base(fetch->stream),
                                bufferevent_getfd(fetch->stream), EV_READ | EV_PERSIST,
                                readable_cb, fetch);
    if (fetch->readable == NULL)
        xalloc_die();
    xevent_add(fetch->readable, &limit);
    seal_random(fetch->random);
    memcpy(greeting, STREAM_MAGIC, STREAM_MAGIC_BYTES); /* NOLINT: not a text */
    put_u32(greeting + STREAM_MAGIC_BYTES, fetch->link.number);
    memcpy(greeting + STREAM_MAGIC_BYTES + 4, fetch->random, sizeof fetch->random);
    bufferevent_write(fetch->stream, greeting, sizeof greeting);
    fetch->state = FETCH_GREETED;
}

static void readable_cb(evutil_socket_t fd, short what, void *arg)
{
    struct bcast_fetch *fetch = arg;
    ssize_t             got;

    if ((what & EV_TIMEOUT) != 0) {
        lose(fetch, "timed out");
        return;
    }
    got = recv(fd, fetch->wire + fetch->have, SEAL_WIRE_MAX - fetch->have, 0);
    if (got > 0) {
        fetch->have += (size_t)got;
        take_all(fetch);
    } else if (got == 0) {
        lose(fetch, CLOSED);
    } else if (errno != EAGAIN && errno != EINTR) {
        lose(fetch, strerror(errno));
    }
}

/* The rest is less than a message, so there is room to complete it. */
static void take_all(struct bcast_fetch *fetch)
{
    struct error err;
    size_t       at = 0, size;
    int          rc = 1;

    if (fetch->state == FETCH_GREETED) {
        if (!take_random(fetch))
            return;
        at = SEAL_RANDOM_BYTES;
    }
    while (fetch->state < FETCH_LOST && rc > 0) {
        rc = seal_open(&fetch->answers, fetch->wire + at, fetch->have - at, fetch->message, &size,
                       &err);
        if (rc > 0) {
            at += seal_wire_bytes(size);
            take_message(fetch, size);
        }
    }
    fetch->have -= at;
    memmove(fetch->wire, fetch->wire + at, fetch->have);
    if (rc < 0)
        lose(fetch, err.text);
}

static bool take_random(struct bcast_fetch *fetch)
{
    if (fetch->have < SEAL_RANDOM_BYTES)
        return false;
    seal_begin(&fetch->asks, &fetch->link, SEAL_ASK, true, fetch->random, fetch->wire);
    seal_begin(&fetch->answers, &fetch->link, SEAL_ANSWER, false, fetch->random, fetch->wire);
    fetch->state = FETCH_PROVING;
    put(fetch, STREAM_HELLO, NULL, 0);
    return true;
}

/* Once linked, the launcher checks whether there is progress. */
static void take_message(struct bcast_fetch *fetch, size_t size)
{
    unsigned char type = fetch->message[0];

    if (fetch->state == FETCH_PROVING && type == STREAM_HELLO) {
        fetch->state = FETCH_LINKED;
        bufferevent_set_timeouts(fetch->stream, NULL, NULL);
        event_remove_timer(fetch->readable);
        ask_waiting(fetch);
        fetch->ops->linked(fetch->arg);
    } else if (fetch->state == FETCH_LINKED && size > CHUNK_ID_BYTES &&
               (type == STREAM_CHUNK || type == STREAM_ABSENT)) {
        take_chunk(fetch, size);
    } else {
        lose(fetch, "the other node broke the protocol");
    }
}

static void take_chunk(struct bcast_fetch *fetch, size_t size)
{
    const unsigned char *bytes = fetch->message + 1 + CHUNK_ID_BYTES;

    fetch->ops->chunk(chunk_get(fetch->message + 1),
                      fetch->message[0] == STREAM_CHUNK ? bytes : NULL,
                      size - 1 - CHUNK_ID_BYTES, fetch->arg);
}

void bcast_fetch_ask(struct bcast_fetch *fetch, const struct chunk *ids, size_t count)
{
    unsigned char id[CHUNK_ID_BYTES];
    size_t        i;

    for (i = 0; i < count; i++) {
        chunk_put(id, ids[i]);
        if (evbuffer_add(fetch->waiting, id, sizeof id) < 0)
            xalloc_die();
    }
    if (fetch->state == FETCH_LINKED)
        ask_waiting(fetch);
}

static void ask_waiting(struct bcast_fetch *fetch)
{
    unsigned char ids[STREAM_ASK_MAX * CHUNK_ID_BYTES];
    int           size;

    while ((size = evbuffer_remove(fetch->waiting, ids, sizeof ids)) > 0)
        put(fetch, STREAM_ASK, ids, (size_t)size);
}

static void put(struct bcast_fetch *fetch, enum stream_type type, const void *body, size_t size)
{
    unsigned char head = (unsigned char)type;
    struct error  err;

    if (seal_put(&fetch->asks, bufferevent_get_output(fetch->stream), &head, 1, body, size,
                 &err) < 0)
        lose(fetch, err.text);
}

static void lose(struct bcast_fetch *fetch, const char *why)
{
    if (fetch->state == FETCH_LOST)
        return;
    fetch->state = FETCH_LOST;
    if (fetch->readable != NULL)
        event_del(fetch->readable);
    bufferevent_disable(fetch->stream, EV_READ | EV_WRITE);
    bufferevent_setcb(fetch->stream, NULL, NULL, NULL, NULL);
    fetch->ops->lost(why, fetch->arg);
}
