/* test_flow.c - how much output a node may send
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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

static void test_credit(void **state)
{
    struct flow *flow = flow_new(2);
    uint32_t     window = flow_window(flow);

    (void)state;
    assert_int_equal(flow_take(flow, 0, 1, 1), -1); /* before PLAN */
    assert_int_equal(flow_begin(flow, 0), window);
    assert_int_equal(flow_last_ns(flow), 0);
    assert_int_equal(flow_take(flow, 0, window - 1, 5), 0);
    assert_int_equal(flow_last_ns(flow), 5);
    assert_false(flow_is_used_up(flow, 0));
    assert_int_equal(flow_take(flow, 0, 1, 6), 0);
    assert_true(flow_is_used_up(flow, 0));
    assert_int_equal(flow_take(flow, 0, 1, 7), -1);
    assert_int_equal(flow_last_ns(flow), 6);
    flow_free(flow);
}

/* Bytes come back in lots, and only those that were written. */
static void test_grant(void **state)
{
    struct flow *flow = flow_new(2);
    uint32_t     window = flow_window(flow);

    (void)state;
    flow_begin(flow, 0);
    flow_begin(flow, 1);
    assert_int_equal(flow_take(flow, 1, window, 1), 0);
    flow_written(flow, 1, window / 4 - 1);
    assert_int_equal(flow_grant(flow, 1), 0);
    flow_written(flow, 1, 1);
    assert_int_equal(flow_grant(flow, 0), 0);
    assert_int_equal(flow_grant(flow, 1), window / 4);
    assert_int_equal(flow_grant(flow, 1), 0);
    assert_int_equal(flow_take(flow, 1, window / 4, 2), 0);
    assert_true(flow_is_used_up(flow, 1));
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
    assert_int_equal(flow_begin(flow, 0), window - 600);
    flow_written(flow, 0, 600);
    assert_int_equal(flow_begin(flow, 0), window);
    assert_int_equal(flow_take(flow, 0, window, 1), 0);
    assert_int_equal(flow_begin(flow, 0), 0);
    assert_true(flow_is_used_up(flow, 0));
    flow_written(flow, 0, window);
    assert_int_equal(flow_grant(flow, 0), window);
    flow_free(flow);
}

/* Whoever sends too much does not take the credit of the next node in its place. */
static void test_too_much(void **state)
{
    struct flow *flow = flow_new(1);
    uint32_t     window = flow_window(flow);

    (void)state;
    flow_begin(flow, 0);
    assert_int_equal(flow_take(flow, 0, window + 7, 1), -1);
    assert_int_equal(flow_begin(flow, 0), window);
    assert_int_equal(flow_take(flow, 0, window, 1), 0);
    flow_free(flow);
}

/* All of them together stay below the same limit. */
static void test_more_nodes(void **state)
{
    struct flow *flow = flow_new(2);
    uint32_t     old = flow_window(flow), window;

    (void)state;
    flow_begin(flow, 0);
    flow_begin(flow, 1);
    assert_int_equal(flow_take(flow, 0, old - 100, 1), 0);
    flow_make_room(flow, 64);
    window = flow_window(flow);
    assert_int_equal(window, old / 8);
    assert_int_equal(flow_begin(flow, 0), 0); /* it waits: too much of it is not written */
    assert_true(flow_is_used_up(flow, 0));
    assert_int_equal(flow_take(flow, 0, 1, 2), -1);
    assert_int_equal(flow_begin(flow, 1), window);
    assert_int_equal(flow_begin(flow, 63), window);
    flow_written(flow, 0, old / 2);
    assert_int_equal(flow_grant(flow, 0), 0);
    flow_written(flow, 0, old / 2 - 100);
    assert_int_equal(flow_grant(flow, 0), window);
    assert_int_equal(flow_take(flow, 0, window, 3), 0);
    flow_make_room(flow, 2); /* places stay */
    assert_int_equal(flow_window(flow), window);
    flow_free(flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_credit),
        cmocka_unit_test(test_grant),
        cmocka_unit_test(test_begin_again),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_more_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
