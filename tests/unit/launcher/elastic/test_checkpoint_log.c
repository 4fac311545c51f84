/* test_checkpoint_log.c - which checkpoints are new, their pace, and which is late or slow
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elastic/checkpoint_log.h"

#define SKEW_S 1000000 /* between the clock of the files and ours */

static struct checkpoint_log checkpoints;

static int begin(void **state)
{
    (void)state;
    checkpoints = (struct checkpoint_log){ 0 };
    return 0;
}

static int end(void **state)
{
    (void)state;
    checkpoint_log_clear(&checkpoints);
    return 0;
}

static bool written(double at_s, const char *path)
{
    const struct checkpoint checkpoint = { .path = path, .says = "step", .save_s = 2,
                                           .file_ns = (int64_t)((at_s + SKEW_S) * 1e9),
                                           .at_s = at_s };

    return checkpoint_log_add(&checkpoints, &checkpoint);
}

static void expect_late_s(double expected)
{
    const double late_s = checkpoint_log_late_s(&checkpoints);

    if (late_s - expected > 0.001 || expected - late_s > 0.001)
        fail_msg("%g instead of %g", late_s, expected);
}

/* A notice and the look at the marker may both find it. */
static void test_the_same(void **state)
{
    (void)state;
    assert_false(checkpoints.is_new);
    assert_true(written(10, "latest"));
    assert_false(written(10, "latest"));
    assert_int_equal(checkpoints.count, 1);
    assert_true(written(10, "other"));
    assert_true(written(11, "other"));
    assert_int_equal(checkpoints.count, 3);
    assert_string_equal(checkpoints.path, "other");
    assert_true(checkpoints.is_new);
    checkpoint_log_again(&checkpoints, 20);
    assert_false(checkpoints.is_new);
    assert_false(written(11, "other")); /* a look of the next generation finds it, too */
    assert_false(checkpoints.is_new);
}

static void test_late(void **state)
{
    (void)state;
    expect_late_s(-1);
    written(0, "a");
    written(100, "b");
    written(200, "c");
    expect_late_s(-1); /* two pauses */
    written(300, "d");
    expect_late_s(600);
    assert_false(checkpoint_log_is_late(&checkpoints, 599));
    assert_true(checkpoint_log_is_late(&checkpoints, 600));
    assert_false(checkpoint_log_is_late(&checkpoints, 601)); /* once */
    expect_late_s(-1);
    written(700, "e");
    expect_late_s(1000); /* again */
}

/* Those that come every second may be late by a minute. */
static void test_frequent(void **state)
{
    int i;

    (void)state;
    for (i = 0; i < 10; i++)
        written(i, "a");
    expect_late_s(9 + 1 + 60);
}

/* The pause of a restart is no pause between two checkpoints, and the time begins again. */
static void test_another_generation(void **state)
{
    int i;

    (void)state;
    for (i = 0; i < 4; i++)
        written(100 * i, "a");
    checkpoint_log_again(&checkpoints, 1000);
    expect_late_s(1300);
    written(1010, "b");
    expect_late_s(1310);
    assert_true(checkpoint_log_is_late(&checkpoints, 1310));
    checkpoint_log_again(&checkpoints, 2000);
    expect_late_s(2300);
}

static bool is_slow(double at_s, double save_s)
{
    const struct checkpoint checkpoint = { .path = "a", .says = "", .save_s = save_s,
                                           .file_ns = (int64_t)(at_s * 1e9), .at_s = at_s };

    assert_true(checkpoint_log_add(&checkpoints, &checkpoint));
    return checkpoint_log_is_slow(&checkpoints);
}

static void test_slow(void **state)
{
    (void)state;
    assert_false(checkpoint_log_is_slow(&checkpoints));
    assert_false(is_slow(100, 20));
    assert_false(is_slow(200, 90)); /* what is usual is not known */
    assert_false(is_slow(300, 20));
    assert_false(is_slow(400, 59));
    assert_true(is_slow(500, 3 * 59)); /* of 20, 20, 59, 90 */
    assert_false(is_slow(600, -1));    /* not known */
    assert_false(is_slow(700, 100));
    checkpoint_log_again(&checkpoints, 1000);
    assert_true(is_slow(1100, 500)); /* the storage has not changed */
}

/* Saves of a second are slow only by seconds. */
static void test_slow_by_seconds(void **state)
{
    int i;

    (void)state;
    for (i = 0; i < 4; i++)
        assert_false(is_slow(100 * i, 1));
    assert_false(is_slow(1000, 5.9));
    assert_true(is_slow(1100, 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_same, begin, end),
        cmocka_unit_test_setup_teardown(test_late, begin, end),
        cmocka_unit_test_setup_teardown(test_frequent, begin, end),
        cmocka_unit_test_setup_teardown(test_another_generation, begin, end),
        cmocka_unit_test_setup_teardown(test_slow, begin, end),
        cmocka_unit_test_setup_teardown(test_slow_by_seconds, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
