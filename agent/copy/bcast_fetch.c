/* bcast_fetch.c - see bcast_fetch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/bcast_fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include "clock.h"
#include "copy/bcast_stream.h"
#include "frame.h"
#include "xalloc.h"

enum fetch_state { FETCH_CONNECTING, FETCH_GREETED, FETCH_PROVING, FETCH_LINKED, FETCH_LOST };

struct bcast_fetch {
    const struct bcast_fetch_ops *ops;
    void                         *arg;
    enum fetch_state              state;
    struct seal_link              link;
    unsigned char                 random[SEAL_RANDOM_BYTES];
    struct seal                   asks, answers;
    struct bufferevent           *stream;
    struct event                 *begin; /* the result of connect(), which must not come at once */
    struct evbuffer              *waiting; /* ids to ask for once it is linked */
    unsigned char                *message; /* SEAL_MESSAGE_MAX */
    struct sockaddr_storage       address;
    socklen_t                     address_size;
};

static void begin_cb(evutil_socket_t fd, short what, void *arg);
static void event_cb(struct bufferevent *stream, short what, void *arg);
static void read_cb(struct bufferevent *stream, void *arg);
static bool take_random(struct bcast_fetch *fetch, struct evbuffer *in);
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
    bufferevent_setcb(fetch->stream, read_cb, NULL, event_cb, fetch);
    bufferevent_set_timeouts(fetch->stream, &limit, &limit);
    bufferevent_set_max_single_read(fetch->stream, STREAM_READ_MAX);
    bufferevent_setwatermark(fetch->stream, EV_READ, 0, 2 * SEAL_MESSAGE_MAX);
    bufferevent_enable(fetch->stream, EV_READ | EV_WRITE);
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
    bufferevent_free(fetch->stream);
    event_free(fetch->begin);
    evbuffer_free(fetch->waiting);
    seal_end(&fetch->asks);
    seal_end(&fetch->answers);
    free(fetch->message);
    free(fetch);
}

static void event_cb(struct bufferevent *stream, short what, void *arg)
{
    struct bcast_fetch *fetch = arg;
    unsigned char       greeting[STREAM_GREETING_BYTES];

    if ((what & BEV_EVENT_CONNECTED) != 0) {
        seal_random(fetch->random);
        memcpy(greeting, STREAM_MAGIC, STREAM_MAGIC_BYTES); /* NOLINT: not a text */
        put_u32(greeting + STREAM_MAGIC_BYTES, fetch->link.number);
        memcpy(greeting + STREAM_MAGIC_BYTES + 4, fetch->random, sizeof fetch->random);
        bufferevent_write(stream, greeting, sizeof greeting);
        fetch->state = FETCH_GREETED;
    } else if ((what & BEV_EVENT_TIMEOUT) != 0) {
        lose(fetch, "timed out");
    } else {
        lose(fetch, (what & BEV_EVENT_EOF) != 0 ? "the other node closed the connection"
                                                : strerror(EVUTIL_SOCKET_ERROR()));
    }
}

static void read_cb(struct bufferevent *stream, void *arg)
{
    struct bcast_fetch *fetch = arg;
    struct evbuffer    *in = bufferevent_get_input(stream);
    struct error        err;
    size_t              size;
    int                 rc = 1;

    if (fetch->state == FETCH_GREETED && !take_random(fetch, in))
        return;
    while (fetch->state < FETCH_LOST && rc > 0) {
        rc = seal_take(&fetch->answers, in, fetch->message, &size, &err);
        if (rc > 0)
            take_message(fetch, size);
    }
    if (rc < 0)
        lose(fetch, err.text);
}

static bool take_random(struct bcast_fetch *fetch, struct evbuffer *in)
{
    unsigned char theirs[SEAL_RANDOM_BYTES];

    if (evbuffer_get_length(in) < sizeof theirs)
        return false;
    evbuffer_remove(in, theirs, sizeof theirs);
    seal_begin(&fetch->asks, &fetch->link, SEAL_ASK, true, fetch->random, theirs);
    seal_begin(&fetch->answers, &fetch->link, SEAL_ANSWER, false, fetch->random, theirs);
    fetch->state = FETCH_PROVING;
    put(fetch, STREAM_HELLO, NULL, 0);
    return true;
}

/* Once it is linked, the launcher looks whether it makes progress. */
static void take_message(struct bcast_fetch *fetch, size_t size)
{
    unsigned char type = fetch->message[0];

    if (fetch->state == FETCH_PROVING && type == STREAM_HELLO) {
        fetch->state = FETCH_LINKED;
        bufferevent_set_timeouts(fetch->stream, NULL, NULL);
        ask_waiting(fetch);
        fetch->ops->linked(fetch->arg);
    } else if (fetch->state == FETCH_LINKED && size > CHUNK_ID_BYTES &&
               (type == STREAM_CHUNK || type == STREAM_ABSENT)) {
        take_chunk(fetch, size);
    } else {
        lose(fetch, "the other node does not keep to the protocol");
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
    bufferevent_disable(fetch->stream, EV_READ | EV_WRITE);
    bufferevent_setcb(fetch->stream, NULL, NULL, NULL, NULL);
    fetch->ops->lost(why, fetch->arg);
}
