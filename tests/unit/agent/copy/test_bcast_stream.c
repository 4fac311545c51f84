/* test_bcast_stream.c - two nodes over a socket: what one asks for the other one gives, and nobody
 * else gets anything
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "copy/bcast_fetch.h"
#include "copy/bcast_serve.h"
#include "copy/bcast_stream.h"
#include "frame.h"

#define HERE      "127.0.0.1"
#define DEADLINE_S 20

struct world {
    struct event_base  *base;
    struct bcast_serve *serve;
    int                 port;
    uint32_t            known; /* chunks below this index are here */
    int                 links, losses, chunks, absents;
    struct chunk        last;
    char                why[128];
};

static int read_cb(struct chunk chunk, void *bytes, size_t *size, void *arg)
{
    const struct world *world = arg;

    if (chunk.file == 9)
        return -1;
    if (chunk.index >= world->known)
        return 0;
    memset(bytes, (int)chunk.index, *size = CHUNK_BYTES - chunk.index);
    return 1;
}

static void linked_cb(void *arg)
{
    ((struct world *)arg)->links++;
}

static void chunk_cb(struct chunk chunk, const void *bytes, size_t size, void *arg)
{
    struct world *world = arg;

    world->last = chunk;
    if (bytes == NULL) {
        world->absents++;
        return;
    }
    assert_int_equal(chunk.index, world->chunks); /* in order */
    assert_int_equal(size, CHUNK_BYTES - chunk.index);
    assert_int_equal(((const unsigned char *)bytes)[size - 1], chunk.index);
    world->chunks++;
}

static void lost_cb(const char *why, void *arg)
{
    struct world *world = arg;

    snprintf(world->why, sizeof world->why, "%s", why);
    world->losses++;
}

static const struct bcast_serve_ops serve_ops = { read_cb };
static const struct bcast_fetch_ops fetch_ops = { linked_cb, chunk_cb, lost_cb };

static struct seal_link link_of(uint32_t number)
{
    struct seal_link link = { .number = number };

    memset(link.key, 5, sizeof link.key);
    memset(link.run, 7, sizeof link.run);
    return link;
}

static void expect(struct world *world, uint32_t number, const char *address)
{
    const struct seal_link link = link_of(number);
    struct strlist         callers = { 0 };
    struct error           err;

    strlist_add(&callers, address);
    world->port = bcast_serve_expect(world->serve, &link, &callers, &err);
    assert_true(world->port > 0);
    strlist_clear(&callers);
}

static void begin(struct world *world)
{
    *world = (struct world){ .base = event_base_new(), .known = 100 };
    world->serve = bcast_serve_new(world->base, HERE, 0, &serve_ops, world);
}

static void end(struct world *world)
{
    bcast_serve_free(world->serve);
    event_base_free(world->base);
}

static bool reaches(struct world *world, const int *counter, int value)
{
    int64_t end_ns = clock_now_ns() + DEADLINE_S * NS_PER_S;
    struct timeval tick = { .tv_usec = 5000 };

    while (*counter < value && clock_now_ns() < end_ns) {
        event_base_loopexit(world->base, &tick);
        event_base_dispatch(world->base);
    }
    return *counter >= value;
}

static struct bcast_fetch *call(struct world *world, const struct seal_link *link)
{
    return bcast_fetch_new(world->base, HERE, world->port, link, &fetch_ops, world);
}

static bool can_connect(int port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

    inet_pton(AF_INET, HERE, &to.sin_addr);
    rc = connect(fd, (struct sockaddr *)&to, sizeof to);
    close(fd);
    return rc == 0;
}

static void chunks_come_as_they_are_here(void **state)
{
    const struct seal_link link = link_of(1);
    struct chunk           ids[20];
    struct world           world;
    struct bcast_fetch    *fetch;
    uint32_t               i;

    (void)state;
    begin(&world);
    world.known = 3;
    expect(&world, 1, HERE);
    fetch = call(&world, &link);
    for (i = 0; i < 20; i++)
        ids[i] = (struct chunk){ 0, 1, i };
    bcast_fetch_ask(fetch, ids, 20);
    assert_true(reaches(&world, &world.chunks, 3));
    assert_int_equal(world.links, 1);
    assert_false(can_connect(world.port)); /* nobody else is expected */
    world.known = 20;
    bcast_serve_wake(world.serve);
    assert_true(reaches(&world, &world.chunks, 20));
    ids[0].file = 9;
    bcast_fetch_ask(fetch, ids, 1);
    assert_true(reaches(&world, &world.absents, 1));
    assert_int_equal(world.last.file, 9);
    assert_int_equal(world.losses, 0);
    bcast_fetch_free(fetch);
    end(&world);
}

static void refused(struct world *world, const struct seal_link *link)
{
    const struct chunk  id = { 0, 1, 0 };
    struct bcast_fetch *fetch = call(world, link);

    bcast_fetch_ask(fetch, &id, 1);
    assert_true(reaches(world, &world->losses, 1));
    assert_int_equal(world->links, 0);
    assert_int_equal(world->chunks, 0);
    bcast_fetch_free(fetch);
}

static void a_wrong_key_is_refused(void **state)
{
    struct seal_link link = link_of(1);
    struct world     world;

    (void)state;
    begin(&world);
    expect(&world, 1, HERE);
    link.key[0] ^= 1;
    refused(&world, &link);
    end(&world);
}

static void another_link_is_refused(void **state)
{
    struct seal_link link = link_of(2);
    struct world     world;

    (void)state;
    begin(&world);
    expect(&world, 1, HERE);
    refused(&world, &link);
    end(&world);
}

static void another_address_is_refused(void **state)
{
    struct seal_link link = link_of(1);
    struct world     world;

    (void)state;
    begin(&world);
    expect(&world, 1, "10.1.2.3");
    refused(&world, &link);
    end(&world);
}

static void a_link_is_used_once(void **state)
{
    const struct seal_link link = link_of(1);
    struct world           world;
    struct bcast_fetch    *first;

    (void)state;
    begin(&world);
    expect(&world, 1, HERE);
    expect(&world, 2, HERE);
    first = call(&world, &link);
    assert_true(reaches(&world, &world.links, 1));
    world.links = 0;
    refused(&world, &link);
    bcast_fetch_free(first);
    end(&world);
}

/* An outsider takes down what a node says, and says the same. */
static void a_recorded_call_is_refused(void **state)
{
    const struct seal_link link = link_of(1);
    struct sockaddr_in     to = { .sin_family = AF_INET };
    unsigned char          call[STREAM_GREETING_BYTES] = STREAM_MAGIC, answer[64];
    struct timeval         limit = { .tv_sec = DEADLINE_S };
    struct seal            asks;
    struct evbuffer       *wire = evbuffer_new();
    unsigned char          theirs[SEAL_RANDOM_BYTES] = { 0 }, hello = STREAM_HELLO;
    struct world           world;
    struct error           err;
    struct timeval         tick = { .tv_usec = 200000 };
    int                    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    begin(&world);
    expect(&world, 1, HERE);
    put_u32(call + STREAM_MAGIC_BYTES, 1);
    seal_begin(&asks, &link, SEAL_ASK, true, call + STREAM_MAGIC_BYTES + 4, theirs);
    seal_put(&asks, wire, &hello, 1, NULL, 0, &err);
    to.sin_port = htons((uint16_t)world.port);
    inet_pton(AF_INET, HERE, &to.sin_addr);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(write(fd, call, sizeof call), sizeof call);
    event_base_loopexit(world.base, &tick);
    event_base_dispatch(world.base);
    /* Random bytes, which are others each time, and then nothing more. */
    assert_int_equal(recv(fd, answer, SEAL_RANDOM_BYTES, MSG_WAITALL), SEAL_RANDOM_BYTES);
    evbuffer_write(wire, fd);
    event_base_loopexit(world.base, &tick);
    event_base_dispatch(world.base);
    assert_true(recv(fd, answer, sizeof answer, 0) <= 0);
    close(fd);
    seal_end(&asks);
    evbuffer_free(wire);
    end(&world);
}

static void nobody_answers(void **state)
{
    struct seal_link link = link_of(1);
    struct world     world;

    (void)state;
    begin(&world);
    expect(&world, 1, HERE);
    bcast_serve_free(world.serve);
    world.serve = NULL;
    refused(&world, &link);
    assert_string_equal(world.why, "Connection refused");
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_come_as_they_are_here),
        cmocka_unit_test(a_wrong_key_is_refused),
        cmocka_unit_test(another_link_is_refused),
        cmocka_unit_test(another_address_is_refused),
        cmocka_unit_test(a_link_is_used_once),
        cmocka_unit_test(a_recorded_call_is_refused),
        cmocka_unit_test(nobody_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
