/* test_draining.c - connections that nobody needs, whose far end still does something
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "fake_conn.h"
#include "node/draining.h"
#include "xevent.h"

static struct event_base *base;

static int setup(void **state)
{
    (void)state;
    base = event_base_new();
    fakes_made = 0;
    return 0;
}

static int teardown(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < fakes_made; i++) {
        assert_true(fakes[i].is_freed);
        evbuffer_free(fakes[i].to_launcher);
        evbuffer_free(fakes[i].to_agent);
    }
    event_base_free(base);
    return 0;
}

static void never_stage(const char *stage, void *arg)
{
    (void)stage, (void)arg;
    fail_msg("a callback after draining_add()");
}

static void never_open(void *arg)
{
    (void)arg;
    fail_msg("a callback after draining_add()");
}

static void never_input(struct evbuffer *in, void *arg)
{
    (void)in, (void)arg;
    fail_msg("a callback after draining_add()");
}

static void never_closed(const struct conn_failure *why, void *arg)
{
    (void)why, (void)arg;
    fail_msg("a callback after draining_add()");
}

static const struct conn_ops never = { never_stage, never_open, never_input, never_closed };

static struct fake_conn *add(bool can_drain)
{
    struct fake_conn *fake = fake_make(&never, NULL);

    fake->can_drain = can_drain;
    draining_add(&fake->conn);
    assert_true(fake->input_is_closed);
    return fake;
}

static void close_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    fake_close(arg, "gone", false);
}

static void break_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what, (void)arg;
    event_base_loopbreak(base);
}

static void later(event_callback_fn callback, void *arg, double seconds)
{
    struct timeval delay = clock_interval(seconds);

    event_base_once(base, -1, EV_TIMEOUT, callback, arg, &delay);
}

static double await_s(double limit_s)
{
    int64_t began_ns = clock_now_ns();

    draining_await(base, limit_s);
    return (double)(clock_now_ns() - began_ns) / NS_PER_S;
}

/* No far end: freed at once. */
static void test_no_far_end(void **state)
{
    (void)state;
    assert_true(add(false)->is_freed);
    assert_true(await_s(20) < 10);
}

/* Whatever it still says is nobody's, and its end is awaited. */
static void test_its_end(void **state)
{
    struct fake_conn *one = add(true), *other = add(true), *third = add(true);

    (void)state;
    assert_false(one->is_freed);
    one->conn.ops->stage("agent", one->conn.arg);
    one->conn.ops->open(one->conn.arg);
    evbuffer_add(one->to_launcher, "text", 4);
    one->conn.ops->input(one->to_launcher, one->conn.arg);
    assert_int_equal(evbuffer_get_length(one->to_launcher), 0);
    fake_close(other, NULL, false); /* in any order, also before anybody waits */
    assert_true(other->is_freed);
    later(close_cb, third, 0.01);
    later(close_cb, one, 0.02);
    assert_true(await_s(20) < 10);
    assert_true(one->is_freed && third->is_freed);
}

static void test_too_late(void **state)
{
    struct fake_conn *one = add(true), *other = add(true);
    struct event     *busy = xevent_new(base, -1, break_cb, NULL); /* the loop has more to do */
    struct timeval    long_time = clock_interval(20);
    double            seconds;

    (void)state;
    xevent_add(busy, &long_time);
    seconds = await_s(0.05);
    assert_true(seconds >= 0.05 && seconds < 10);
    assert_true(one->is_freed && other->is_freed);
    event_free(busy);
}

static void test_without_waiting(void **state)
{
    struct fake_conn *one = add(true);

    (void)state;
    draining_await(base, 0);
    assert_true(one->is_freed);
}

/* A last Ctrl-C. */
static void test_broken_off(void **state)
{
    struct fake_conn *one = add(true);

    (void)state;
    later(break_cb, NULL, 0.01);
    assert_true(await_s(20) < 10);
    assert_true(one->is_freed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_far_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_its_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_waiting, setup, teardown),
        cmocka_unit_test_setup_teardown(test_broken_off, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
