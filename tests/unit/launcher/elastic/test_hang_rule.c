/* test_hang_rule.c - for how long a run may report no step, and when it hangs
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "elastic/hang_rule.h"

static struct step_pace pace;

static int begin(void **state)
{
    (void)state;
    pace = (struct step_pace){ 0 };
    return 0;
}

/* Reports steps, every pause_s one, after from_s. Returns when the last was. */
static double steps(double from_s, double pause_s, int count)
{
    for (; count > 0; count--)
        step_pace_note(&pace, from_s += pause_s);
    return from_s;
}

static void expect(double expected, double got)
{
    if (expected - got > 1e-6 || got - expected > 1e-6)
        fail_msg("%g instead of %g", got, expected);
}

static void test_pace_is_learnt(void **state)
{
    double at_s;

    (void)state;
    at_s = steps(0, 2, 3);
    expect(-1, step_pace_median_s(&pace)); /* two pauses */
    expect(-1, step_pace_limit_s(&pace));
    at_s = steps(at_s, 2, 1);
    expect(2, step_pace_median_s(&pace));
    expect(300, step_pace_limit_s(&pace));
    steps(at_s, 200, 1); /* an evaluation */
    expect(2, step_pace_median_s(&pace));
    expect(400, step_pace_limit_s(&pace));
}

/* An age that a node sends may be a little too large. */
static void test_late_report(void **state)
{
    double at_s = steps(0, 2, 10);

    (void)state;
    step_pace_note(&pace, at_s - 1);
    step_pace_note(&pace, at_s - 100);
    expect(2, step_pace_median_s(&pace));
    steps(at_s, 2, 1);
    expect(2, step_pace_median_s(&pace));
    expect(300, step_pace_limit_s(&pace));
}

/* The start of another generation is no pause. */
static void test_again(void **state)
{
    double at_s = steps(0, 2, 10);

    (void)state;
    step_pace_again(&pace);
    steps(at_s + 1000, 2, 2);
    expect(300, step_pace_limit_s(&pace));
}

/* What has become slower is slower. */
static void test_forgets(void **state)
{
    double at_s = steps(0, 1, 1000);

    (void)state;
    steps(at_s, 40, STEP_PACE_KEPT);
    expect(40, step_pace_median_s(&pace));
    expect(400, step_pace_limit_s(&pace));
}

static void expect_verdict(enum hang_verdict expected, struct hang_signs signs, double expected_s)
{
    double limit_s;

    signs.pace = &pace;
    assert_int_equal(hang_judge(&signs, &limit_s), expected);
    if (expected != HANG_NO)
        expect(expected_s, limit_s);
}

/* A checkpoint is as good as a step. Without steps it tells only what its own pace does. */
static void test_checkpoints(void **state)
{
    struct step_pace  saves = { 0 };
    struct hang_signs signs = { .limit_s = 60, .step_s = 90, .has_checkpoint = true,
                                .checkpoint_s = 59, .checkpoint_pace = &saves };
    int               i;

    (void)state;
    expect_verdict(HANG_NO, signs, 0);
    signs.checkpoint_s = 61;
    expect_verdict(HANG_NO_STEP, signs, 60);
    signs.step_s = -1;
    signs.checkpoint_s = 1e6;
    expect_verdict(HANG_NO, signs, 0); /* no pace */
    for (i = 0; i < 4; i++)
        step_pace_note(&saves, 100 * i);
    signs.checkpoint_s = 999;
    expect_verdict(HANG_NO, signs, 0);
    signs.checkpoint_s = 1000;
    expect_verdict(HANG_NO_CHECKPOINT, signs, 1000);
    signs.limit_s = HANG_AUTO;
    expect_verdict(HANG_NO_CHECKPOINT, signs, 1000);
    signs.limit_s = 1001;
    expect_verdict(HANG_NO, signs, 0);
    signs.checkpoint_s = 1001;
    expect_verdict(HANG_NO_CHECKPOINT, signs, 1001);
}

static void test_given_limit(void **state)
{
    (void)state;
    expect_verdict(HANG_NO, (struct hang_signs){ .limit_s = 60, .idle_s = 59, .step_s = 59 }, 0);
    expect_verdict(HANG_IDLE, (struct hang_signs){ .limit_s = 60, .idle_s = 60, .step_s = 60 }, 60);
    expect_verdict(HANG_IDLE, (struct hang_signs){ .limit_s = 60, .idle_s = 60, .step_s = -1 }, 60);
    expect_verdict(HANG_NO, (struct hang_signs){ .limit_s = 60, .idle_s = 1, .step_s = -1 }, 0);
    expect_verdict(HANG_NO_STEP, (struct hang_signs){ .limit_s = 60, .step_s = 60 }, 60);
    expect_verdict(HANG_NO,
                   (struct hang_signs){ .limit_s = 60, .step_s = 1799, .is_last_step = true }, 0);
    expect_verdict(HANG_NO_STEP,
                   (struct hang_signs){ .limit_s = 60, .step_s = 1800, .is_last_step = true },
                   1800);
    expect_verdict(HANG_NO_STEP,
                   (struct hang_signs){ .limit_s = 3600, .step_s = 3600, .is_last_step = true },
                   3600);
}

static void test_auto(void **state)
{
    (void)state;
    expect_verdict(HANG_NO, (struct hang_signs){ .limit_s = -1, .idle_s = 599, .step_s = 9e9 }, 0);
    expect_verdict(HANG_IDLE, (struct hang_signs){ .limit_s = -1, .idle_s = 600, .step_s = 9 },
                   600);
    steps(0, 2, 10);
    expect_verdict(HANG_NO, (struct hang_signs){ .limit_s = -1, .step_s = 299 }, 0);
    expect_verdict(HANG_NO_STEP, (struct hang_signs){ .limit_s = -1, .step_s = 300 }, 300);
    expect_verdict(HANG_NO,
                   (struct hang_signs){ .limit_s = -1, .step_s = 300, .is_last_step = true }, 0);
    steps(20, 600, 1);
    expect_verdict(HANG_NO, (struct hang_signs){ .limit_s = -1, .idle_s = 1199, .step_s = 1199 },
                   0);
    expect_verdict(HANG_IDLE, (struct hang_signs){ .limit_s = -1, .idle_s = 1200 }, 1200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_pace_is_learnt, begin),
        cmocka_unit_test_setup(test_late_report, begin),
        cmocka_unit_test_setup(test_again, begin),
        cmocka_unit_test_setup(test_forgets, begin),
        cmocka_unit_test_setup(test_checkpoints, begin),
        cmocka_unit_test_setup(test_given_limit, begin),
        cmocka_unit_test_setup(test_auto, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
