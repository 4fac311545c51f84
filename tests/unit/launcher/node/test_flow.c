/* test_flow.c - how much output a node may send
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "clock.h"
#include "node/flow.h"

static void test_window(void **state)
{
    static const struct {
        size_t   nodes;
        uint32_t window;
    } cases[] = {
        { 1, 4u << 20 },     { 8, 4u << 20 },       { 16, 2u << 20 },
        { 2048, 16u << 10 }, { 100000, 16u << 10 },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct flow *flow = flow_new(cases[i].nodes);

        assert_int_equal(flow_window(flow), cases[i].window);
        flow_free(flow);
    }
    flow_free(NULL);
}

/* It sends all that it may, on a slow line, until its credit ends: how many bytes that was. */
static uint32_t send_all(struct flow *flow, size_t node, uint32_t credit, int64_t now_ns)
{
    uint32_t sent = 0;

    for (; credit > 0; credit = flow_grant(flow, node), now_ns += 2 * NS_PER_S) {
        assert_int_equal(flow_take(flow, node, credit, now_ns), 0);
        sent += credit;
    }
    assert_true(flow_is_used_up(flow, node));
    return sent;
}

static void test_credit(void **state)
{
    struct flow *flow = flow_new(2);

    (void)state;
    assert_int_equal(flow_take(flow, 0, 1, 1), -1); /* before PLAN */
    assert_int_equal(flow_begin(flow, 0), FLOW_FIRST);
    assert_int_equal(flow_last_ns(flow), 0);
    assert_int_equal(flow_take(flow, 0, FLOW_FIRST - 1, 5), 0);
    assert_int_equal(flow_last_ns(flow), 5);
    assert_false(flow_is_used_up(flow, 0));
    assert_int_equal(flow_take(flow, 0, 1, 6), 0);
    assert_true(flow_is_used_up(flow, 0));
    assert_int_equal(flow_take(flow, 0, 1, 7), -1);
    assert_int_equal(flow_last_ns(flow), 6);
    flow_free(flow);
}

/* Whatever is on its way at once: a window of it is taken before anything is written. */
static void test_nothing_is_written(void **state)
{
    struct flow *flow = flow_new(2);

    (void)state;
    assert_int_equal(send_all(flow, 0, flow_begin(flow, 0), 1), flow_window(flow));
    flow_free(flow);
}

/* Bytes come back in lots, and only those that were written. */
static void test_grant(void **state)
{
    struct flow *flow = flow_new(2);

    (void)state;
    flow_begin(flow, 0);
    send_all(flow, 1, flow_begin(flow, 1), 1);
    flow_written(flow, 1, FLOW_FIRST / 4 - 1);
    assert_int_equal(flow_grant(flow, 1), 0);
    flow_written(flow, 1, 1);
    assert_int_equal(flow_grant(flow, 0), 0);
    assert_int_equal(flow_grant(flow, 1), FLOW_FIRST / 4);
    assert_int_equal(flow_grant(flow, 1), 0);
    assert_int_equal(flow_take(flow, 1, FLOW_FIRST / 4, 2), 0);
    assert_true(flow_is_used_up(flow, 1));
    flow_free(flow);
}

/* A line that brings so many bytes a second, and a node that uses all its credit: what is on its
 * way is never more than FLOW_FIRST or what comes in 1.6 s, and at last so much that it is fast. */
static void test_on_the_way(void **state)
{
    static const uint32_t a_tick[] = { 1250, 12500, 1 << 20 }; /* 1 Mbit/s, 10, 800 */
    const int64_t tick_ns = NS_PER_S / 100;
    size_t        i;
    int64_t       now_ns;
    uint32_t      sent, came;

    (void)state;
    for (i = 0; i < sizeof a_tick / sizeof *a_tick; i++) {
        struct flow *flow = flow_new(2);

        sent = flow_begin(flow, 0);
        came = 0;
        for (now_ns = tick_ns; now_ns < 60 * NS_PER_S; now_ns += tick_ns) {
            uint32_t comes = sent - came < a_tick[i] ? sent - came : a_tick[i];

            assert_int_equal(flow_take(flow, 0, comes, now_ns), 0);
            came += comes;
            flow_written(flow, 0, comes);
            sent += flow_grant(flow, 0);
            assert_true(sent - came <= FLOW_FIRST || sent - came <= 160 * a_tick[i]);
        }
        /* It never waits for credit. */
        assert_true(sent - came >= 100 * a_tick[i] || sent - came >= flow_window(flow) / 2);
        flow_free(flow);
    }
}

/* A fast line shows soon: what is on the way doubles, up to the window. A burst alone, which the
 * buffers of a thin line may give, brings little more. */
static void test_fast(void **state)
{
    struct flow *flow = flow_new(16);
    uint32_t     sent = flow_begin(flow, 0), came = 0, granted, most = 0;

    (void)state;
    while (came < 8u << 20) {
        assert_int_equal(flow_take(flow, 0, 4096, 1 + came), 0);
        came += 4096;
        flow_written(flow, 0, 4096);
        granted = flow_grant(flow, 0);
        sent += granted;
        most = granted > most ? granted : most;
        assert_true(sent - came <= FLOW_FIRST || came > 4 * FLOW_FIRST);
        assert_true(sent - came <= 2 * FLOW_FIRST || came > 12 * FLOW_FIRST);
    }
    assert_true(sent - came > flow_window(flow) / 2);
    assert_true(most >= flow_window(flow) / 4);
    flow_free(flow);
}

/* The next generation gets what is not still waiting to be written. */
static void test_begin_again(void **state)
{
    struct flow *flow = flow_new(1);
    uint32_t     window = flow_window(flow);

    (void)state;
    flow_begin(flow, 0);
    assert_int_equal(flow_take(flow, 0, 1000, 1), 0);
    flow_written(flow, 0, 400);
    assert_int_equal(send_all(flow, 0, flow_begin(flow, 0), 1), window - 600);
    assert_int_equal(flow_begin(flow, 0), 0);
    assert_true(flow_is_used_up(flow, 0));
    flow_written(flow, 0, window);
    assert_int_equal(flow_grant(flow, 0), FLOW_FIRST);
    assert_int_equal(send_all(flow, 0, flow_begin(flow, 0), 1), window);
    flow_free(flow);
}

/* Whoever sends too much does not take the credit of the next node in its place. */
static void test_too_much(void **state)
{
    struct flow *flow = flow_new(1);

    (void)state;
    flow_begin(flow, 0);
    assert_int_equal(flow_take(flow, 0, FLOW_FIRST + 7, 1), -1);
    assert_int_equal(send_all(flow, 0, flow_begin(flow, 0), 1), flow_window(flow));
    flow_free(flow);
}

/* All of them together stay below the same limit. */
static void test_more_nodes(void **state)
{
    struct flow *flow = flow_new(2);
    uint32_t     old = flow_window(flow), window;

    (void)state;
    send_all(flow, 0, flow_begin(flow, 0), 1);
    flow_begin(flow, 1);
    flow_make_room(flow, 64);
    window = flow_window(flow);
    assert_int_equal(window, old / 8);
    assert_int_equal(flow_begin(flow, 0), 0); /* it waits: too much of it is not written */
    assert_true(flow_is_used_up(flow, 0));
    assert_int_equal(flow_take(flow, 0, 1, 2), -1);
    assert_int_equal(send_all(flow, 1, flow_begin(flow, 1), 1), window);
    assert_int_equal(send_all(flow, 63, flow_begin(flow, 63), 1), window);
    flow_written(flow, 0, old / 2);
    assert_int_equal(flow_grant(flow, 0), 0);
    flow_written(flow, 0, old / 2);
    assert_int_equal(send_all(flow, 0, flow_grant(flow, 0), 3), window);
    flow_make_room(flow, 2); /* places stay */
    assert_int_equal(flow_window(flow), window);
    flow_free(flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_credit),
        cmocka_unit_test(test_nothing_is_written),
        cmocka_unit_test(test_grant),
        cmocka_unit_test(test_on_the_way),
        cmocka_unit_test(test_fast),
        cmocka_unit_test(test_begin_again),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_more_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
