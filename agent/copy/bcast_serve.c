/* bcast_serve.c - see bcast_serve.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/bcast_serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include "clock.h"
#include "copy/bcast_stream.h"
#include "frame.h"
#include "xalloc.h"
#include "xevent.h"

#define LINKS_MAX   BCAST_SERVE_LINKS_MAX
#define CALLERS_MAX 64 /* connections */
#define QUEUED_MAX  (2u << 20) /* bytes queued on one of them before its next chunk */

struct expected {
    struct seal_link link;
    struct strlist   callers;
};

struct caller {
    struct bcast_serve *serve;
    struct caller      *next;
    struct bufferevent *stream;
    char                address[INET6_ADDRSTRLEN];
    uint32_t            link;    /* 0: unknown, before the greeting */
    bool                is_open; /* the caller has proved that it knows the key */
    struct seal         asks, answers;
    struct evbuffer    *asked; /* ids */
};

struct bcast_serve {
    const struct bcast_serve_ops *ops;
    void                         *arg;
    struct event_base            *base;
    struct sockaddr_storage       address;
    socklen_t                     address_size;
    int                           port;
    struct event                 *listening; /* NULL: not listening */
    struct expected              *expected;
    size_t                        count;
    struct caller                *callers;
    size_t                        caller_count;
    unsigned char                *message, *room;
};

static int  listen_begin(struct bcast_serve *serve, struct error *err);
static int  listening_socket(struct bcast_serve *serve);
static void listen_end(struct bcast_serve *serve);
static void accept_cb(evutil_socket_t fd, short what, void *arg);
static void address_words(const struct sockaddr_storage *from, char text[INET6_ADDRSTRLEN]);
static bool is_expected_from(const struct bcast_serve *serve, const char *address);
static void add_caller(struct bcast_serve *serve, int fd, const char *address);
static void event_cb(struct bufferevent *stream, short what, void *arg);
static void read_cb(struct bufferevent *stream, void *arg);
static bool take_greeting(struct caller *caller, struct evbuffer *in);
static struct expected *find_expected(const struct bcast_serve *serve, uint32_t number);
static bool is_from(const struct expected *expected, const char *address);
static bool take_message(struct caller *caller, size_t size);
static void forget(struct bcast_serve *serve, struct expected *expected);
static void write_cb(struct bufferevent *stream, void *arg);
static bool answer(struct caller *caller);
static bool put(struct caller *caller, enum stream_type type, const unsigned char *id,
                const void *bytes, size_t size);
static void remove_caller(struct caller *caller);

struct bcast_serve *bcast_serve_new(struct event_base *base, const char *address, int port,
                                    const struct bcast_serve_ops *ops, void *arg)
{
    struct bcast_serve *serve = xcalloc(1, sizeof *serve);

    serve->base = base;
    serve->ops = ops;
    serve->arg = arg;
    serve->message = xmalloc(SEAL_MESSAGE_MAX);
    serve->room = xmalloc(CHUNK_BYTES);
    stream_address(address, port, &serve->address, &serve->address_size);
    return serve;
}

void bcast_serve_free(struct bcast_serve *serve)
{
    if (serve == NULL)
        return;
    while (serve->callers != NULL)
        remove_caller(serve->callers);
    while (serve->count > 0)
        forget(serve, &serve->expected[0]);
    free(serve->expected);
    free(serve->message);
    free(serve->room);
    free(serve);
}

int bcast_serve_expect(struct bcast_serve *serve, const struct seal_link *link,
                       const struct strlist *callers, struct error *err)
{
    struct expected *expected;
    size_t           i;

    if (serve->count == LINKS_MAX)
        forget(serve, &serve->expected[0]);
    if (serve->listening == NULL && listen_begin(serve, err) < 0)
        return -1;
    serve->expected = xreallocarray(serve->expected, serve->count + 1, sizeof *serve->expected);
    expected = &serve->expected[serve->count++];
    *expected = (struct expected){ .link = *link };
    for (i = 0; i < callers->count; i++)
        strlist_add(&expected->callers, callers->item[i]);
    return serve->port;
}

/* --- callers ---------------------------------------------------------------- */

static int listen_begin(struct bcast_serve *serve, struct error *err)
{
    int fd = listening_socket(serve);

    if (fd < 0)
        return err_set(err, "cannot listen: %s", strerror(errno));
    serve->listening = event_new(serve->base, fd, EV_READ | EV_PERSIST, accept_cb, serve);
    if (serve->listening == NULL)
        xalloc_die();
    xevent_add(serve->listening, NULL);
    return 0;
}

/* The kernel chooses a free port if address has none. */
static int listening_socket(struct bcast_serve *serve)
{
    struct sockaddr_storage own = { 0 };
    socklen_t               size = sizeof own;
    int                     fd, error, on = 1;

    if (serve->address_size == 0) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    fd = socket(serve->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 &&
        (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
         bind(fd, (struct sockaddr *)&serve->address, serve->address_size) < 0 ||
         listen(fd, LINKS_MAX) < 0 || getsockname(fd, (struct sockaddr *)&own, &size) < 0)) {
        error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    serve->port = ntohs(own.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&own)->sin6_port
                                                  : ((struct sockaddr_in *)&own)->sin_port);
    return fd;
}

static void listen_end(struct bcast_serve *serve)
{
    if (serve->listening == NULL)
        return;
    close(event_get_fd(serve->listening));
    event_free(serve->listening);
    serve->listening = NULL;
}

static void accept_cb(evutil_socket_t fd, short what, void *arg)
{
    struct bcast_serve     *serve = arg;
    struct sockaddr_storage from = { 0 };
    socklen_t               size = sizeof from;
    char                    text[INET6_ADDRSTRLEN] = "";
    int call = accept4(fd, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)what;
    if (call < 0)
        return;
    address_words(&from, text);
    if (serve->caller_count < CALLERS_MAX && is_expected_from(serve, text))
        add_caller(serve, call, text);
    else
        close(call);
}

static void address_words(const struct sockaddr_storage *from, char text[INET6_ADDRSTRLEN])
{
    if (from->ss_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)from)->sin_addr, text, INET6_ADDRSTRLEN);
    else if (from->ss_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)from)->sin6_addr, text,
                  INET6_ADDRSTRLEN);
}

static bool is_expected_from(const struct bcast_serve *serve, const char *address)
{
    size_t i;

    for (i = 0; i < serve->count; i++)
        if (is_from(&serve->expected[i], address))
            return true;
    return false;
}

static void add_caller(struct bcast_serve *serve, int fd, const char *address)
{
    const struct timeval limit = clock_interval(STREAM_OPEN_S);
    struct caller       *caller = xcalloc(1, sizeof *caller);
    int                  on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    caller->serve = serve;
    caller->asked = evbuffer_new();
    caller->stream = bufferevent_socket_new(serve->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (caller->asked == NULL || caller->stream == NULL)
        xalloc_die();
    memcpy(caller->address, address, sizeof caller->address);
    caller->next = serve->callers;
    serve->callers = caller;
    serve->caller_count++;
    bufferevent_setcb(caller->stream, read_cb, write_cb, event_cb, caller);
    bufferevent_set_timeouts(caller->stream, &limit, NULL);
    bufferevent_setwatermark(caller->stream, EV_READ, 0, STREAM_READ_MAX);
    bufferevent_setwatermark(caller->stream, EV_WRITE, QUEUED_MAX / 2, 0);
    bufferevent_set_max_single_write(caller->stream, QUEUED_MAX);
    bufferevent_enable(caller->stream, EV_READ | EV_WRITE);
}

static void event_cb(struct bufferevent *stream, short what, void *arg)
{
    (void)stream, (void)what;
    remove_caller(arg);
}

static void read_cb(struct bufferevent *stream, void *arg)
{
    struct caller   *caller = arg;
    struct evbuffer *in = bufferevent_get_input(stream);
    struct error     err;
    size_t           size;
    int              rc = 1;

    if (caller->link == 0 && evbuffer_get_length(in) < STREAM_GREETING_BYTES)
        return;
    if (caller->link == 0 && !take_greeting(caller, in))
        rc = -1;
    while (rc > 0) {
        rc = seal_take(&caller->asks, in, caller->serve->message, &size, &err);
        if (rc > 0 && !take_message(caller, size))
            rc = -1;
    }
    if (rc < 0 || !answer(caller))
        remove_caller(caller);
}

/* The greeting proves nothing yet, so the link remains expected. */
static bool take_greeting(struct caller *caller, struct evbuffer *in)
{
    unsigned char    greeting[STREAM_GREETING_BYTES], random[SEAL_RANDOM_BYTES];
    struct expected *expected;

    evbuffer_remove(in, greeting, sizeof greeting);
    expected = find_expected(caller->serve, get_u32(greeting + STREAM_MAGIC_BYTES));
    if (memcmp(greeting, STREAM_MAGIC, STREAM_MAGIC_BYTES) != 0 || expected == NULL ||
        !is_from(expected, caller->address))
        return false;
    caller->link = expected->link.number;
    seal_random(random);
    bufferevent_write(caller->stream, random, sizeof random);
    seal_begin(&caller->asks, &expected->link, SEAL_ASK, false,
               greeting + STREAM_MAGIC_BYTES + 4, random);
    seal_begin(&caller->answers, &expected->link, SEAL_ANSWER, true,
               greeting + STREAM_MAGIC_BYTES + 4, random);
    return true;
}

static struct expected *find_expected(const struct bcast_serve *serve, uint32_t number)
{
    size_t i;

    for (i = 0; i < serve->count; i++)
        if (serve->expected[i].link.number == number)
            return &serve->expected[i];
    return NULL;
}

static bool is_from(const struct expected *expected, const char *address)
{
    size_t i;

    for (i = 0; i < expected->callers.count; i++)
        if (strcmp(expected->callers.item[i], address) == 0)
            return true;
    return false;
}

/* The first message that opens proves that the caller knows the key: no second
 * connection may use the link. */
static bool take_message(struct caller *caller, size_t size)
{
    const unsigned char *message = caller->serve->message;
    struct expected     *expected;

    if (!caller->is_open) {
        expected = find_expected(caller->serve, caller->link);
        if (message[0] != STREAM_HELLO || expected == NULL)
            return false;
        forget(caller->serve, expected);
        caller->is_open = true;
        bufferevent_set_timeouts(caller->stream, NULL, NULL);
        return put(caller, STREAM_HELLO, NULL, NULL, 0);
    }
    if (message[0] != STREAM_ASK || (size - 1) % CHUNK_ID_BYTES != 0 ||
        evbuffer_get_length(caller->asked) + size > 2 * CHUNK_OPEN_MAX * CHUNK_ID_BYTES)
        return false;
    if (evbuffer_add(caller->asked, message + 1, size - 1) < 0)
        xalloc_die();
    return true;
}

static void forget(struct bcast_serve *serve, struct expected *expected)
{
    OPENSSL_cleanse(expected->link.key, sizeof expected->link.key);
    strlist_clear(&expected->callers);
    *expected = serve->expected[--serve->count];
    if (serve->count == 0)
        listen_end(serve);
}

/* --- answers ---------------------------------------------------------------- */

size_t bcast_serve_callers(const struct bcast_serve *serve)
{
    return serve->caller_count + serve->count;
}

void bcast_serve_wake(struct bcast_serve *serve)
{
    struct caller *caller, *next;

    for (caller = serve != NULL ? serve->callers : NULL; caller != NULL; caller = next) {
        next = caller->next;
        if (!answer(caller))
            remove_caller(caller);
    }
}

static void write_cb(struct bufferevent *stream, void *arg)
{
    (void)stream;
    if (!answer(arg))
        remove_caller(arg);
}

/* Answers in the order of the requests, as far as the chunks are here. */
static bool answer(struct caller *caller)
{
    const struct bcast_serve *serve = caller->serve;
    unsigned char             id[CHUNK_ID_BYTES];
    size_t                    size;
    int                       rc;

    while (caller->is_open &&
           evbuffer_get_length(bufferevent_get_output(caller->stream)) < QUEUED_MAX &&
           evbuffer_copyout(caller->asked, id, sizeof id) == (ev_ssize_t)sizeof id) {
        rc = serve->ops->read(chunk_get(id), serve->room, &size, serve->arg);
        if (rc == 0)
            return true;
        evbuffer_drain(caller->asked, sizeof id);
        if (!(rc > 0 ? put(caller, STREAM_CHUNK, id, serve->room, size)
                     : put(caller, STREAM_ABSENT, id, "", 1)))
            return false;
    }
    return true;
}

static bool put(struct caller *caller, enum stream_type type, const unsigned char *id,
                const void *bytes, size_t size)
{
    unsigned char head[1 + CHUNK_ID_BYTES] = { (unsigned char)type };
    struct error  err;

    if (id != NULL)
        memcpy(head + 1, id, CHUNK_ID_BYTES);
    return seal_put(&caller->answers, bufferevent_get_output(caller->stream), head,
                    id != NULL ? sizeof head : 1, bytes, size, &err) == 0;
}

static void remove_caller(struct caller *caller)
{
    struct caller **at = &caller->serve->callers;

    while (*at != caller)
        at = &(*at)->next;
    *at = caller->next;
    caller->serve->caller_count--;
    bufferevent_free(caller->stream);
    evbuffer_free(caller->asked);
    seal_end(&caller->asks);
    seal_end(&caller->answers);
    free(caller);
}
