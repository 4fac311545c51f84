/* test_step_reach.c - how far steps have come, over several generations
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elastic/step_reach.h"

static struct step_reach reach;

static int begin(void **state)
{
    (void)state;
    reach = step_reach_none;
    return 0;
}

static void test_nothing(void **state)
{
    (void)state;
    assert_false(step_reach_is_known(&reach));
    assert_false(step_reach_is_new(&reach));
    step_reach_note(&reach, -1, -1); /* steps without numbers */
    step_reach_note(&reach, -1, -1);
    step_reach_again(&reach);
    assert_false(step_reach_is_known(&reach));
    assert_int_equal(step_reach_most(&reach), -1);
}

static void test_generations(void **state)
{
    (void)state;
    step_reach_note(&reach, 0, -1);
    assert_true(step_reach_is_new(&reach)); /* there was none before */
    step_reach_note(&reach, 5, 0);
    step_reach_note(&reach, 4, -1); /* of a slower rank */
    step_reach_again(&reach);
    assert_true(step_reach_is_known(&reach));
    assert_false(step_reach_is_new(&reach));
    step_reach_note(&reach, 3, -1);
    step_reach_note(&reach, 5, 3);
    assert_false(step_reach_is_new(&reach)); /* as far as before */
    step_reach_again(&reach);
    step_reach_again(&reach); /* no step at all */
    assert_int_equal(step_reach_most(&reach), 5);
    step_reach_note(&reach, 6, -1);
    assert_true(step_reach_is_new(&reach));
    assert_int_equal(step_reach_most(&reach), 6);
}

/* Bars of epochs, or of an evaluation between two steps. */
static void test_goes_back(void **state)
{
    (void)state;
    step_reach_note(&reach, 99, -1);
    step_reach_note(&reach, 1, 99);
    assert_false(step_reach_is_known(&reach));
    assert_false(step_reach_is_new(&reach));
    step_reach_again(&reach);
    step_reach_note(&reach, 100, -1);
    assert_false(step_reach_is_known(&reach));
    assert_false(step_reach_is_new(&reach));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing, begin),
        cmocka_unit_test_setup(test_generations, begin),
        cmocka_unit_test_setup(test_goes_back, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
