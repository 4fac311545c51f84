/* fuzz_bcast_stream.c - what a node may say to another one from which it gets chunks, and what it
 * may be answered
 *
 * The first byte says which end is under test. To it goes a row of parts: a byte that says how, one
 * for the size, the bytes. They go raw, or sealed as the right end would seal them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "copy/bcast_fetch.h"
#include "copy/bcast_serve.h"
#include "copy/bcast_stream.h"
#include "frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct seal_link link_ = { .number = 1 };

static int read_cb(struct chunk chunk, void *bytes, size_t *size, void *arg)
{
    (void)arg;
    memset(bytes, 1, *size = 1000);
    return chunk.index == 0 ? 0 : chunk.index == 1 ? -1 : 1;
}

static void linked_cb(void *arg)
{
    (void)arg;
}

static void chunk_cb(struct chunk chunk, const void *bytes, size_t size, void *arg)
{
    static volatile uint8_t last;

    (void)chunk, (void)arg;
    if (size > SEAL_MESSAGE_MAX)
        abort();
    if (bytes != NULL && size > 0)
        last = ((const uint8_t *)bytes)[size - 1];
    (void)last;
}

static void lost_cb(const char *why, void *arg)
{
    (void)arg;
    if (why[0] == '\0')
        abort();
}

static void turn(struct event_base *base)
{
    event_base_loop(base, EVLOOP_NONBLOCK);
}

/* The parts, to the other end of fd. */
static void say(struct event_base *base, int fd, struct seal *seal, const uint8_t *data,
                size_t size)
{
    struct evbuffer *wire = evbuffer_new();
    struct error     err;
    size_t           part;

    while (size >= 3) {
        part = data[1] < size - 2 ? data[1] : size - 2;
        if (data[0] % 4 == 0)
            evbuffer_add(wire, data + 2, part);
        else if (part > 0)
            seal_put(seal, wire, data + 2, 1, data + 3, part - 1, &err);
        evbuffer_write(wire, fd);
        turn(base);
        data += 2 + part;
        size -= 2 + part;
    }
    evbuffer_free(wire);
}

static void fuzz_serve(struct event_base *base, const uint8_t *data, size_t size)
{
    static const struct bcast_serve_ops ops = { read_cb };
    struct bcast_serve *serve = bcast_serve_new(base, "127.0.0.1", 0, &ops, NULL);
    struct sockaddr_in  to = { .sin_family = AF_INET };
    uint8_t             call[STREAM_GREETING_BYTES] = STREAM_MAGIC, theirs[SEAL_RANDOM_BYTES];
    struct strlist      callers = { 0 };
    struct seal         seal;
    struct error        err;
    int                 fd = socket(AF_INET, SOCK_STREAM, 0), port;

    strlist_add(&callers, "127.0.0.1");
    port = bcast_serve_expect(serve, &link_, &callers, &err);
    to.sin_port = htons((uint16_t)port);
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    if (port < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        abort();
    put_u32(call + STREAM_MAGIC_BYTES, 1);
    if (size > 0 && data[0] % 8 != 7) /* else it begins differently */
        send(fd, call, sizeof call, MSG_NOSIGNAL);
    turn(base);
    turn(base);
    memset(theirs, 0, sizeof theirs);
    if (recv(fd, theirs, sizeof theirs, MSG_DONTWAIT) < 0)
        theirs[0] = 1;
    seal_begin(&seal, &link_, SEAL_ASK, true, call + STREAM_MAGIC_BYTES + 4, theirs);
    say(base, fd, &seal, data, size);
    seal_end(&seal);
    close(fd);
    turn(base);
    bcast_serve_free(serve);
    strlist_clear(&callers);
}

static void fuzz_fetch(struct event_base *base, const uint8_t *data, size_t size)
{
    static const struct bcast_fetch_ops ops = { linked_cb, chunk_cb, lost_cb };
    const struct chunk  id = { 0, 1, 2 };
    struct sockaddr_in  own = { .sin_family = AF_INET };
    socklen_t           own_size = sizeof own;
    uint8_t             call[STREAM_GREETING_BYTES] = { 0 }, random[SEAL_RANDOM_BYTES] = { 0 };
    struct bcast_fetch *fetch;
    struct seal         seal;
    int                 listening = socket(AF_INET, SOCK_STREAM, 0), fd;

    inet_pton(AF_INET, "127.0.0.1", &own.sin_addr);
    if (bind(listening, (struct sockaddr *)&own, sizeof own) < 0 || listen(listening, 1) < 0 ||
        getsockname(listening, (struct sockaddr *)&own, &own_size) < 0)
        abort();
    fetch = bcast_fetch_new(base, "127.0.0.1", ntohs(own.sin_port), &link_, &ops, NULL);
    bcast_fetch_ask(fetch, &id, 1);
    turn(base);
    turn(base);
    fd = accept(listening, NULL, NULL);
    close(listening);
    turn(base);
    if (recv(fd, call, sizeof call, MSG_DONTWAIT) == (ssize_t)sizeof call)
        send(fd, random, sizeof random, MSG_NOSIGNAL);
    seal_begin(&seal, &link_, SEAL_ANSWER, true, call + STREAM_MAGIC_BYTES + 4, random);
    say(base, fd, &seal, data, size);
    seal_end(&seal);
    close(fd);
    turn(base);
    bcast_fetch_free(fetch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct event_base *base;

    if (size == 0)
        return 0;
    signal(SIGPIPE, SIG_IGN);
    base = event_base_new();
    if (data[0] % 2 == 0)
        fuzz_serve(base, data + 1, size - 1);
    else
        fuzz_fetch(base, data + 1, size - 1);
    event_base_free(base);
    return 0;
}
