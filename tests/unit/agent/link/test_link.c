/* test_link.c - the agent's stream: what is flushed, when there is room, how it is lost
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "frame.h"
#include "link/link.h"

#define TURNS_MAX 10000 /* of the event loop */
#define BODY      4096

struct world {
    struct event_base *base;
    struct link        link;
    int                launcher; /* its end */
    int                frames, rooms, cuts, losses;
    bool               may_come_back, refuses;
    char               body[64]; /* of the last frame */
    struct error       why;
};

static int frame_cb(const struct frame *frame, void *arg, struct error *err)
{
    struct world *world = arg;

    world->frames++;
    memset(world->body, 0, sizeof world->body);
    memcpy(world->body, frame->body,
           frame->size < sizeof world->body ? frame->size : sizeof world->body - 1);
    return world->refuses ? err_set(err, "not such a frame") : 0;
}

static void room_cb(void *arg)
{
    ((struct world *)arg)->rooms++;
}

static bool cut_cb(void *arg)
{
    struct world *world = arg;

    world->cuts++;
    return world->may_come_back;
}

static void lost_cb(const struct error *err, void *arg)
{
    struct world *world = arg;

    world->losses++;
    world->why = *err;
}

/* The launcher's end of a new connection; ours into *fd. */
static int connect_pair(int *fd)
{
    int pair[2], size = 1;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size); /* the least there is */
    fcntl(pair[1], F_SETFL, O_NONBLOCK);
    *fd = pair[0];
    return pair[1];
}

static int set_up(void **state)
{
    static const struct link_ops ops = { frame_cb, room_cb, cut_cb, lost_cb };
    struct world                *world = calloc(1, sizeof *world);
    int                          fd;

    signal(SIGPIPE, SIG_IGN); /* as the agent does */
    world->base = event_base_new();
    event_base_priority_init(world->base, 4);
    world->launcher = connect_pair(&fd);
    link_open(&world->link, world->base, fd, fd, &ops, world);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    if (world->launcher >= 0)
        close(world->launcher);
    close(world->link.in_fd);
    link_close(&world->link);
    event_base_free(world->base);
    free(world);
    return 0;
}

static void turn(struct world *world)
{
    int i;

    for (i = 0; i < 10; i++)
        event_base_loop(world->base, EVLOOP_NONBLOCK);
}

/* Queue so many frames with that body. */
static void queue_frames(struct world *world, int count, const void *body, size_t size)
{
    struct frame frame = { .type = FRAME_OUTPUT, .stream = STREAM_STDOUT, .generation = 1,
                           .body = body, .size = size };

    while (count-- > 0)
        frame_put(world->link.wire, &frame);
}

/* The launcher reads all that comes, until the link has nothing more to write. */
static size_t read_all(struct world *world, struct evbuffer *into)
{
    size_t  size = 0;
    ssize_t got;
    int     turns = 0;

    do {
        event_base_loop(world->base, EVLOOP_NONBLOCK);
        while ((got = evbuffer_read(into, world->launcher, 1 << 16)) > 0)
            size += (size_t)got;
        assert_true(turns++ < TURNS_MAX);
    } while (resend_queue_unsent(&world->link.resend) > 0);
    while ((got = evbuffer_read(into, world->launcher, 1 << 16)) > 0)
        size += (size_t)got;
    return size;
}

/* A frame as the launcher sends it. */
static struct evbuffer *frame_bytes(const char *text)
{
    struct evbuffer *out = evbuffer_new();
    struct frame     frame = { .type = FRAME_PING, .generation = 1,
                               .body = (const unsigned char *)text, .size = strlen(text) };

    frame_put(out, &frame);
    return out;
}

static void say(struct world *world, const char *text, size_t from, size_t to)
{
    struct evbuffer *bytes = frame_bytes(text);
    size_t           size = evbuffer_get_length(bytes);

    to = to > size ? size : to;
    assert_int_equal(write(world->launcher, evbuffer_pullup(bytes, -1) + from, to - from),
                     to - from);
    evbuffer_free(bytes);
    turn(world);
}

static void test_flush(void **state)
{
    struct world    *world = *state;
    struct evbuffer *into = evbuffer_new();
    struct frame     frame;
    struct error     err;

    assert_true(link_is_flushed(&world->link));
    queue_frames(world, 1, "hello", 5);
    assert_false(link_is_flushed(&world->link));
    link_flush(&world->link); /* at once: the event loop does not turn */
    assert_true(link_is_flushed(&world->link));
    assert_true(evbuffer_read(into, world->launcher, 4096) > 0);
    assert_int_equal(frame_peek(into, &frame, &err), 1);
    assert_int_equal(frame.size, 5);
    assert_memory_equal(frame.body, "hello", 5);
    evbuffer_free(into);
}

/* A reader who rests: the link keeps what does not fit, says that it has no room, and when
 * there is some. */
static void test_room(void **state)
{
    struct world    *world = *state;
    struct evbuffer *into = evbuffer_new();
    static char      body[BODY];
    int              count = 0;

    assert_true(link_has_room(&world->link));
    for (; link_has_room(&world->link); count++) {
        queue_frames(world, 1, body, sizeof body);
        link_flush(&world->link);
        assert_true(count < 1000);
    }
    assert_true(resend_queue_unsent(&world->link.resend) < LINK_OUTPUT_MARK + 2 * BODY);
    assert_int_equal(world->rooms, 0);
    assert_int_equal(read_all(world, into),
                     (size_t)count * (FRAME_HEADER_BYTES + sizeof body));
    assert_true(world->rooms > 0);
    assert_true(link_has_room(&world->link));
    assert_true(link_is_flushed(&world->link));
    evbuffer_free(into);
}

static void test_ask_room(void **state)
{
    struct world *world = *state;

    turn(world);
    assert_int_equal(world->rooms, 0);
    link_ask_room(&world->link);
    turn(world);
    assert_int_equal(world->rooms, 1);
}

/* What was sent and not acknowledged is kept, up to a bound. */
static void test_kept_is_bounded(void **state)
{
    struct world    *world = *state;
    struct evbuffer *into = evbuffer_new();
    static char      body[FRAME_BODY_MAX / 2];
    unsigned char    position[8];
    struct frame     ack = { .type = FRAME_ACK, .body = position, .size = sizeof position };
    struct error     err;
    size_t           sent = 0;

    world->link.resend.keeps = true;
    while (sent < LINK_KEPT_MAX) {
        assert_true(link_has_room(&world->link));
        queue_frames(world, 1, body, sizeof body);
        link_flush(&world->link);
        sent += read_all(world, into);
        evbuffer_drain(into, evbuffer_get_length(into));
    }
    assert_int_equal(resend_queue_unsent(&world->link.resend), 0);
    assert_false(link_has_room(&world->link));
    assert_false(link_is_flushed(&world->link)); /* the kernel has it, the launcher may not */
    put_u64(position, sent);
    assert_int_equal(resend_queue_take_ack(&world->link.resend, &ack, &err), 0);
    assert_true(link_has_room(&world->link));
    assert_true(link_is_flushed(&world->link));
    evbuffer_free(into);
}

static void test_flushed_soon(void **state)
{
    struct world    *world = *state;
    struct evbuffer *into = evbuffer_new();

    queue_frames(world, 1, "first", 5);
    link_flush_soon(&world->link);
    queue_frames(world, 1, "next", 4);
    assert_int_equal(resend_queue_unsent(&world->link.resend), 2 * FRAME_HEADER_BYTES + 9);
    event_base_loop(world->base, EVLOOP_ONCE);
    assert_int_equal(resend_queue_unsent(&world->link.resend), 0);
    assert_int_equal(read_all(world, into), 2 * FRAME_HEADER_BYTES + 9);
    queue_frames(world, 1, "first", 5);
    link_flush_soon(&world->link);
    link_flush(&world->link); /* what is urgent takes it along */
    assert_int_equal(resend_queue_unsent(&world->link.resend), 0);
    evbuffer_free(into);
}

static void test_frames_come_in_pieces(void **state)
{
    struct world *world = *state;

    say(world, "in pieces", 0, 5);
    assert_int_equal(world->frames, 0);
    say(world, "in pieces", 5, 20);
    assert_int_equal(world->frames, 0);
    say(world, "in pieces", 20, SIZE_MAX);
    assert_int_equal(world->frames, 1);
    assert_string_equal(world->body, "in pieces");
    assert_int_equal(world->link.resend.taken, FRAME_HEADER_BYTES + strlen("in pieces"));
}

static void test_refused_frame_ends_it(void **state)
{
    struct world *world = *state;

    world->refuses = world->may_come_back = true;
    say(world, "one", 0, SIZE_MAX);
    assert_int_equal(world->losses, 1);
    assert_non_null(strstr(world->why.text, "not such a frame"));
    assert_int_equal(world->cuts, 0);
}

static void test_frame_too_long_ends_it(void **state)
{
    struct world *world = *state;
    unsigned char header[FRAME_HEADER_BYTES] = { 0 };

    put_u32(header, FRAME_BODY_MAX + 1);
    header[4] = FRAME_PING;
    assert_int_equal(write(world->launcher, header, sizeof header), sizeof header);
    turn(world);
    assert_int_equal(world->losses, 1);
    assert_int_equal(world->frames, 0);
}

static void test_lost_with_its_connection(void **state)
{
    struct world *world = *state;

    close(world->launcher);
    world->launcher = -1;
    turn(world);
    assert_int_equal(world->cuts, 1);
    assert_int_equal(world->losses, 1);
    assert_non_null(strstr(world->why.text, "the launcher closed it"));
    assert_true(world->link.is_lost);
}

static void test_lose(void **state)
{
    struct world *world = *state;

    queue_frames(world, 100, "x", 1);
    link_lose(&world->link, "the lease");
    link_lose(&world->link, "again");
    assert_int_equal(world->losses, 1);
    assert_non_null(strstr(world->why.text, "the lease"));
    assert_int_equal(world->cuts, 0);
    assert_false(link_has_room(&world->link));
    assert_true(link_is_flushed(&world->link)); /* nobody waits for what was queued */
    assert_int_equal(evbuffer_get_length(world->link.wire), 0);
    link_ask_room(&world->link);
    link_flush(&world->link);
    turn(world);
    assert_int_equal(world->rooms, 0);
}

/* The connection breaks within a frame in either direction, and another one takes over. */
static void test_attach(void **state)
{
    struct world    *world = *state;
    struct evbuffer *into = evbuffer_new();
    struct error     err;
    size_t           again;
    int              fd;

    world->may_come_back = true;
    world->link.resend.keeps = true;
    queue_frames(world, 1, "before", 6);
    link_flush(&world->link);
    say(world, "half of it", 0, 18);
    close(world->launcher);
    turn(world);
    assert_int_equal(world->cuts, 1);
    assert_int_equal(world->losses, 0);
    assert_true(world->link.is_cut);

    queue_frames(world, 1, "meanwhile", 9);
    link_flush(&world->link);
    link_ask_room(&world->link);
    turn(world);
    assert_int_equal(world->cuts, 1); /* nothing is written to the old connection */
    world->launcher = connect_pair(&fd);
    assert_int_equal(resend_queue_rewind(&world->link.resend, 0, &again, &err), 0);
    assert_int_equal(again, FRAME_HEADER_BYTES + 6);
    link_attach(&world->link, fd);
    assert_false(world->link.is_cut);
    assert_int_equal(read_all(world, into), 2 * FRAME_HEADER_BYTES + 6 + 9);
    say(world, "half of it", 0, SIZE_MAX); /* from its beginning */
    assert_int_equal(world->frames, 1);
    assert_string_equal(world->body, "half of it");
    evbuffer_free(into);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_flush),
        TEST(test_room),
        TEST(test_ask_room),
        TEST(test_kept_is_bounded),
        TEST(test_flushed_soon),
        TEST(test_frames_come_in_pieces),
        TEST(test_refused_frame_ends_it),
        TEST(test_frame_too_long_ends_it),
        TEST(test_lost_with_its_connection),
        TEST(test_lose),
        TEST(test_attach),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
