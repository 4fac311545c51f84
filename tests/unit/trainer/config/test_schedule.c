/* test_schedule.c - learning rates as DeepSpeed's lr_schedules.py has them
 *
 * The numbers come from its formulas, worked out in Python.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "config/schedule.h"

#define STEPS 12
static const int64_t steps[STEPS] = { 0, 1, 2, 3, 5, 9, 10, 11, 15, 20, 21, 30 };

static void assert_near(double got, double want, const char *name, int64_t step)
{
    if (fabs(got - want) > 1e-11 * fmax(1, fabs(want)))
        fail_msg("%s, step %lld: %.12g is not %.12g", name, (long long)step, got, want);
}

static const struct {
    const char     *name;
    struct schedule schedule;
    double          lr, want[STEPS];
} rates[] = {
    { "constant", { .type = SCHEDULE_CONSTANT }, 3, { 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3 } },
    { "WarmupLR, log",
      { .type = SCHEDULE_WARMUP, .warmup_min_lr = 0.001, .warmup_max_lr = 0.1,
        .warmup_num_steps = 10 },
      5,
      { 0.001, 0.001, 0.0308019695707, 0.0482350042172, 0.0701980304293, 0.0954700084345, 0.1,
        0.1, 0.1, 0.1, 0.1, 0.1 } },
    { "WarmupLR, linear, up to the optimizer's rate",
      { .type = SCHEDULE_WARMUP, .warmup_max_lr = NAN, .warmup_num_steps = 10,
        .warmup_type = SCHEDULE_LINEAR },
      0.1,
      { 0, 0, 0.01, 0.02, 0.04, 0.08, 0.09, 0.1, 0.1, 0.1, 0.1, 0.1 } },
    { "WarmupDecayLR",
      { .type = SCHEDULE_WARMUP_DECAY, .warmup_max_lr = 0.01, .warmup_num_steps = 10,
        .total_num_steps = 20 },
      5,
      { 0, 0, 0.00301029995664, 0.0047712125472, 0.00698970004336, 0.00954242509439, 0.01,
        0.01, 0.006, 0.001, 0, 0 } },
    { "WarmupCosineLR",
      { .type = SCHEDULE_WARMUP_COSINE, .warmup_num_steps = 10, .total_num_steps = 20,
        .warmup_min_ratio = 0.1, .cos_min_ratio = 0.01, .warmup_type = SCHEDULE_LINEAR },
      0.5,
      { 0, 0.05, 0.095, 0.14, 0.23, 0.41, 0.455, 0.487886487783, 0.2525, 0.005, 0.005,
        0.005 } },
    { "LRRangeTest",
      { .type = SCHEDULE_RANGE_TEST, .range_min_lr = 0.01, .range_step_size = 4,
        .range_step_rate = 2 },
      5,
      { 0.01, 0.015, 0.02, 0.025, 0.035, 0.055, 0.06, 0.065, 0.085, 0.11, 0.115, 0.16 } },
    { "LRRangeTest, stairs",
      { .type = SCHEDULE_RANGE_TEST, .range_min_lr = 0.01, .range_step_size = 4,
        .range_step_rate = 2, .range_staircase = true },
      5,
      { 0.01, 0.01, 0.01, 0.01, 0.03, 0.05, 0.05, 0.05, 0.07, 0.11, 0.11, 0.15 } },
    { "OneCycle, decay",
      { .type = SCHEDULE_ONE_CYCLE, .cycle_min_lr = 0.1, .cycle_max_lr = 1,
        .decay_lr_rate = 0.5, .first_step_size = 6, .second_step_size = 4,
        .second_stair_count = -1, .decay_step_size = 2 },
      5,
      { 0.1, 0.25, 0.4, 0.55, 0.85, 0.325, 0.1, 0.08, 0.0444444444444, 0.0285714285714,
        0.0266666666667, 0.0166666666667 } },
    { "OneCycle, stairs",
      { .type = SCHEDULE_ONE_CYCLE, .cycle_min_lr = 0.1, .cycle_max_lr = 1,
        .first_step_size = 6, .second_step_size = 4, .first_stair_count = 3,
        .second_stair_count = 2 },
      5,
      { 0.1, 0.1, 0.4, 0.4, 0.7, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 } },
};

static void test_rates(void **state)
{
    size_t i, j;

    (void)state;
    for (i = 0; i < sizeof rates / sizeof rates[0]; i++)
        for (j = 0; j < STEPS; j++)
            assert_near(schedule_lr(&rates[i].schedule, rates[i].lr, steps[j]),
                        rates[i].want[j], rates[i].name, steps[j]);
}

static void test_betas(void **state)
{
    static const double want[STEPS] = { 0.8, 0.883333333333, 0.866666666667, 0.85,
                                        0.816666666667, 0.875, 0.9, 0.945, 1.125, 1.35, 1.395,
                                        1.8 };
    struct schedule cycle = { .type = SCHEDULE_ONE_CYCLE, .first_step_size = 6,
                              .second_step_size = 4, .decay_step_size = 2,
                              .cycle_momentum = true, .cycle_min_mom = 0.8,
                              .cycle_max_mom = 0.9, .decay_mom_rate = 0.1 };
    double          betas[2];
    size_t          i;

    (void)state;
    for (i = 0; i < STEPS; i++) {
        betas[0] = 0.5;
        betas[1] = 0.999;
        schedule_betas(&cycle, steps[i], betas);
        assert_near(betas[0], want[i], "beta 1", steps[i]);
        assert_true(betas[1] == 0.99);
    }
    betas[0] = 0.5;
    cycle.cycle_momentum = false;
    schedule_betas(&cycle, 3, betas);
    assert_true(betas[0] == 0.5);
}

/* The second half is as long as the first unless it says otherwise. */
static void test_second_half(void **state)
{
    struct schedule a = { .type = SCHEDULE_ONE_CYCLE, .cycle_max_lr = 1, .first_step_size = 5,
                          .second_step_size = -1, .second_stair_count = -1 };
    struct schedule b = a;
    int64_t         step;

    (void)state;
    b.second_step_size = 5;
    for (step = 0; step < 15; step++)
        assert_true(schedule_lr(&a, 1, step) == schedule_lr(&b, 1, step));
    assert_true(schedule_lr(&a, 1, 5) == 1);
}

/* As many stairs as steps are none. */
static void test_stairs_are_exact(void **state)
{
    struct schedule stairs = { .type = SCHEDULE_ONE_CYCLE, .cycle_max_lr = 1,
                               .first_step_size = 100, .second_step_size = 49,
                               .first_stair_count = 100, .second_stair_count = 49 };
    struct schedule slope = stairs;
    int64_t         step;

    (void)state;
    slope.first_stair_count = slope.second_stair_count = 0;
    for (step = 0; step < 149; step++)
        assert_near(schedule_lr(&stairs, 1, step), schedule_lr(&slope, 1, step), "stairs", step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_betas),
        cmocka_unit_test(test_second_half),
        cmocka_unit_test(test_stairs_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
