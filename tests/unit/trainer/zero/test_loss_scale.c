/* test_loss_scale.c - the loss scale, step by step
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "zero/loss_scale.h"

struct row {
    int         power, window, hysteresis;
    bool        is_consecutive;
    const char *steps;  /* '.': all is finite, 'X': an overflow */
    const char *powers; /* the scale after each step: 'a' is 2^0, 'b' 2^1; '!': an error */
};

static const struct row rows[] = {
    /* Without overflow: from the window'th step on (the first is 0), every window steps. */
    { 4, 3, 1, false, "...........",
                      "eeefffggghh" },
    /* Each overflow halves, and the window begins anew behind it. */
    { 4, 3, 1, false, "X...X.....X",
                      "ddddccccddc" },
    /* Hysteresis 2: the first overflow is skipped only. What it used up comes back when
     * the scale grows, and not before. */
    { 4, 4, 2, false, "X.X.X.....X....XX",
                      "eeddcccccddddddcb" },
    /* ... and here after each step without overflow. */
    { 4, 4, 2, true, "X.X.XX.X.XX.....X",
                     "eeeeedddddcccccdd" },
    /* Not below the minimum. */
    { 2, 3, 1, false, "XX.XX",
                      "baa!" },
    /* The usual start: 2^16, hysteresis 2. */
    { 16, 1000, 2, false, "X.X",
                          "qqp" },
    { 1, 1, 3, false, "...XXX..XXXX",
                      "bcdddccdddcb" },
};

static void test_rows(void **state)
{
    const struct row *row;
    struct loss_scale scale;
    struct error      err;
    size_t            i, step;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        row = &rows[i];
        loss_scale_init(&scale, &(struct loss_scale_rules){
                                    .initial_power = row->power,
                                    .window = row->window,
                                    .hysteresis = row->hysteresis,
                                    .is_consecutive = row->is_consecutive,
                                    .min = 1,
                                });
        for (step = 0; row->powers[step] != '\0'; step++) {
            bool is_error = row->powers[step] == '!';

            assert_int_equal(loss_scale_update(&scale, row->steps[step] == 'X', &err),
                             is_error ? -1 : 0);
            if (!is_error && scale.scale != (double)(1 << (row->powers[step] - 'a')))
                fail_msg("row %zu, step %zu: scale %g", i, step, scale.scale);
        }
    }
    assert_int_equal(step, 12); /* the last row was gone through */
}

static void test_minimum_is_named(void **state)
{
    struct loss_scale scale;
    struct error      err;

    (void)state;
    loss_scale_init(&scale, &(struct loss_scale_rules){
                                .initial_power = 3, .window = 1000, .hysteresis = 1, .min = 5 });
    assert_int_equal(loss_scale_update(&scale, true, &err), 0);
    assert_true(scale.scale == 5);
    assert_int_equal(loss_scale_update(&scale, true, &err), -1);
    assert_string_equal(err.text, "gradients overflow even at the smallest loss scale, 5");
}

static void test_fixed(void **state)
{
    struct loss_scale scale;
    struct error      err;
    int               step;

    (void)state;
    loss_scale_init(&scale, &loss_scale_none);
    assert_true(scale.scale == 1);
    loss_scale_init(&scale, &(struct loss_scale_rules){ .fixed = 128 });
    for (step = 0; step < 3000; step++)
        assert_int_equal(loss_scale_update(&scale, step % 7 == 0, &err), 0);
    assert_true(scale.scale == 128);
    assert_int_equal(scale.steps, 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_minimum_is_named),
        cmocka_unit_test(test_fixed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
