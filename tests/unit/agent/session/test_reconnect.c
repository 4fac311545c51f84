/* test_reconnect.c - the launcher's connection is lost, and made again: how long that is waited
 * for, what is sent again, and the second agent that brings the launcher back
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "exit_code.h"
#include "session_fixture.h"

#define LONG_S   300              /* the test does not wait for it */
#define EARLY_NS (NS_PER_S / 100) /* libevent's clock ticks every 4 ms */

/* A run with a way back for the launcher. */
static struct world *begin(double reconnect_s)
{
    struct world *world = world_new(1);

    world->agent.plan.reconnect_s = reconnect_s;
    reconnect_open(&world->agent);
    assert_non_null(world->agent.reconnect.socket);
    world_turn(world);
    evbuffer_drain(world->heard, evbuffer_get_length(world->heard));
    return world;
}

/* The launcher's end closes, and the agent sees it. */
static void cut(struct world *world)
{
    close(world->launcher);
    world->launcher = -1;
    world_turn(world);
}

/* Output of the rank, which the agent has sent when this returns, or keeps if there is no line. */
static void says(struct world *world, const char *text)
{
    const struct link *link = &world->agent.link;
    size_t             before = resend_queue_kept(&link->resend);

    assert_int_equal(write(world->writer[0], text, strlen(text)), strlen(text));
    while (resend_queue_kept(&link->resend) == before ||
           (!link->is_cut && resend_queue_unsent(&link->resend) > 0))
        event_base_loop(world->agent.base, EVLOOP_ONCE);
}

static void put_request(struct evbuffer *out, const struct world *world, const char *token,
                        uint64_t received)
{
    frame_put_json(out, FRAME_RECONNECT, 1, 0,
                   json_pack("{s:s, s:s, s:I}", "socket", world->agent.plan.socket, "token",
                             token, "received", (json_int_t)received));
}

/* Returns the end of the launcher, which has written its request. */
static int come_back(struct world *world, uint64_t received)
{
    struct evbuffer *out = evbuffer_new();
    struct error     err;
    int              fd = reconnect_socket_connect(world->agent.plan.socket, &err);

    assert_true(fd >= 0);
    put_request(out, world, TOKEN, received);
    assert_true(evbuffer_write(out, fd) > 0);
    evbuffer_free(out);
    return fd;
}

static void assert_resumed(struct world *world, uint64_t received, uint64_t again)
{
    json_t *body = world_hear(world, FRAME_RESUMED, NULL);

    assert_int_equal(json_integer_value(json_object_get(body, "received")), received);
    assert_int_equal(json_integer_value(json_object_get(body, "again")), again);
    json_decref(body);
}

static void assert_hears(struct world *world, const char *text)
{
    struct frame frame;
    struct error err;

    while (world_turn(world), frame_peek(world->heard, &frame, &err) > 0 &&
                                  frame.type != FRAME_OUTPUT)
        frame_drop(world->heard, &frame);
    assert_int_equal(frame.type, FRAME_OUTPUT);
    assert_int_equal(frame.size, strlen(text));
    assert_memory_equal(frame.body, text, frame.size);
    frame_drop(world->heard, &frame);
}

/* ---- how long ---- */

static void test_without_a_way_back(void **state)
{
    struct world *world = world_new(1);

    (void)state;
    cut(world);
    assert_int_equal(world->losses, 1);
    assert_false(world->agent.link.is_cut);
    world_free(world);
}

static void test_the_window(void **state)
{
    struct world *world = begin(0.3);
    int64_t       begin_ns = clock_now_ns();

    (void)state;
    cut(world);
    assert_true(world->agent.link.is_cut);
    assert_int_equal(world->losses, 0);
    while (world->losses == 0)
        event_base_loop(world->agent.base, EVLOOP_ONCE);
    assert_true(clock_now_ns() - begin_ns >= 3 * NS_PER_S / 10 - EARLY_NS);
    assert_non_null(strstr(world->why.text, "did not come back"));
    world_free(world);
}

/* A longer window counts at once; a shorter one never does. */
static void test_the_window_only_grows(void **state)
{
    struct world *world = begin(LONG_S);
    int64_t       begin_ns;

    (void)state;
    reconnect_extend(&world->agent, 0.1);
    assert_true(world->agent.reconnect.window_s == LONG_S);
    world_free(world);

    world = begin(0.2);
    cut(world);
    begin_ns = clock_now_ns();
    reconnect_extend(&world->agent, 0.6);
    while (world->losses == 0)
        event_base_loop(world->agent.base, EVLOOP_ONCE);
    assert_true(clock_now_ns() - begin_ns >= 6 * NS_PER_S / 10 - EARLY_NS);
    world_free(world);
}

/* ---- what is sent again ---- */

static void test_continues_where_the_launcher_is(void **state)
{
    struct world *world = begin(LONG_S);
    uint64_t      received;
    size_t        rest;

    (void)state;
    says(world, "one");
    assert_hears(world, "one");
    received = world->agent.link.resend.begin + resend_queue_kept(&world->agent.link.resend);
    says(world, "two, which");
    says(world, "the line has swallowed");
    rest = resend_queue_kept(&world->agent.link.resend) -
           (size_t)(received - world->agent.link.resend.begin);
    cut(world);
    evbuffer_drain(world->heard, evbuffer_get_length(world->heard));
    says(world, "and three"); /* there is no line: not sent so far */
    world->launcher = come_back(world, received);
    assert_resumed(world, world->agent.link.resend.taken, rest);
    assert_hears(world, "two, which");
    assert_hears(world, "the line has swallowed");
    assert_hears(world, "and three");
    json_decref(world_hear(world, FRAME_PING, NULL)); /* the lease goes on */
    assert_false(world->agent.link.is_cut);
    assert_false(evtimer_pending(world->agent.reconnect.window, NULL));
    assert_int_equal(world->losses, 0);
    world_free(world);
}

/* The agent may not have noticed that the old line is dead: it is closed. */
static void test_the_old_line_ends(void **state)
{
    struct world *world = begin(LONG_S);
    int           old = world->launcher;
    char          byte;

    (void)state;
    world->launcher = come_back(world, world->agent.link.resend.begin);
    assert_resumed(world, 0, 0);
    assert_int_equal(read(old, &byte, 1), 0);
    assert_int_equal(world->losses, 0);
    close(old);
    world_free(world);
}

/* A launcher with bytes that never were is none of ours: the window goes on for the right one. */
static void test_a_wrong_position_is_refused(void **state)
{
    struct world *world = begin(LONG_S);
    json_t       *body;

    (void)state;
    says(world, "one");
    cut(world);
    evbuffer_drain(world->heard, evbuffer_get_length(world->heard));
    world->launcher = come_back(world, 1 << 20);
    body = world_hear(world, FRAME_ERROR, NULL);
    assert_non_null(json_object_get(body, "text"));
    json_decref(body);
    assert_true(world->agent.link.is_cut);
    assert_true(evtimer_pending(world->agent.reconnect.window, NULL));
    close(world->launcher);
    world->launcher = come_back(world, 0);
    json_decref(world_hear(world, FRAME_RESUMED, NULL));
    assert_hears(world, "one");
    world_free(world);
}

static void test_nobody_comes_back_to_a_lost_run(void **state)
{
    struct world *world = begin(LONG_S);
    struct error  err;

    (void)state;
    reconnect_refuse(&world->agent);
    assert_true(reconnect_socket_connect(world->agent.plan.socket, &err) < 0);
    assert_non_null(strstr(err.text, "no longer"));
    cut(world);
    assert_int_equal(world->losses, 1);
    world_free(world);
}

/* ---- the second agent ---- */

/* What its link hands to it. */
static void ask_second(struct world *second, const struct world *first)
{
    struct evbuffer *out = evbuffer_new();

    put_request(out, first, TOKEN, 0);
    assert_true(evbuffer_write(out, second->launcher) > 0);
    evbuffer_free(out);
}

static void test_the_second_agent_finds_the_first(void **state)
{
    struct world *first = begin(LONG_S), *second = world_new(0);

    (void)state;
    says(first, "one");
    cut(first);
    evbuffer_drain(first->heard, evbuffer_get_length(first->heard));
    ask_second(second, first);
    event_base_dispatch(second->agent.base); /* which it leaves: there is only to pass bytes on */
    assert_true(second->agent.reconnect.relay_fd >= 0);
    first->launcher = second->agent.reconnect.relay_fd;
    json_decref(world_hear(first, FRAME_RESUMED, NULL));
    assert_hears(first, "one");
    world_free(second);
    world_free(first);
}

static void test_the_second_agent_says_that_there_is_none(void **state)
{
    struct world *first = begin(LONG_S), *second = world_new(0);
    json_t       *body;

    (void)state;
    reconnect_refuse(&first->agent);
    ask_second(second, first);
    body = world_hear(second, FRAME_ERROR, NULL);
    assert_string_equal(json_string_value(json_object_get(body, "stage")), "reconnect");
    assert_int_equal(json_integer_value(json_object_get(body, "code")), EXIT_LOST);
    json_decref(body);
    assert_int_equal(second->agent.reconnect.relay_fd, -1);
    world_free(second);
    world_free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_way_back),
        cmocka_unit_test(test_the_window),
        cmocka_unit_test(test_the_window_only_grows),
        cmocka_unit_test(test_continues_where_the_launcher_is),
        cmocka_unit_test(test_the_old_line_ends),
        cmocka_unit_test(test_a_wrong_position_is_refused),
        cmocka_unit_test(test_nobody_comes_back_to_a_lost_run),
        cmocka_unit_test(test_the_second_agent_finds_the_first),
        cmocka_unit_test(test_the_second_agent_says_that_there_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
