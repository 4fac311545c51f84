/* test_step_history.c - the points of a run's charts, however long it is
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "elastic/step_history.h"
#include "page/page_points.h"

static struct step_history history;

static int begin(void **state)
{
    (void)state;
    history = (struct step_history){ 0 };
    return 0;
}

static void note(int64_t first, int64_t last)
{
    for (; first <= last; first++)
        step_history_note(&history, (double)first / 2, first, NULL);
}

static void every_report_is_a_point_at_first(void **state)
{
    (void)state;
    note(1, STEP_HISTORY_MOST);
    assert_int_equal(history.count, STEP_HISTORY_MOST);
    assert_int_equal(history.point[0].step, 1);
    assert_int_equal(history.point[STEP_HISTORY_MOST - 1].step, STEP_HISTORY_MOST);
}

static void then_fewer_and_fewer_are(void **state)
{
    size_t i;

    (void)state;
    note(1, 1000000);
    assert_true(history.count > STEP_HISTORY_MOST / 2 && history.count <= STEP_HISTORY_MOST);
    assert_int_equal(history.point[0].step, 1); /* the whole run */
    assert_true(history.point[history.count - 1].step > 990000);
    for (i = 1; i < history.count; i++) {
        assert_int_equal(history.point[i].step - history.point[i - 1].step, (int64_t)history.every);
        assert_true(history.point[i].number > history.point[i - 1].number);
    }
}

static void as_text(void **state)
{
    const double loss = 2.3456789;
    char        *text;

    (void)state;
    assert_null(page_points(&history, 0, 0));
    note(1, 2);
    step_history_note(&history, 1e6, INT64_MAX, &loss);
    text = page_points(&history, 0, 1.7e9);
    assert_string_equal(text, "[[1700000000.50,1,null],[1700000001.00,2,null],"
                              "[1701000000.00,9223372036854775807,2.34568]]");
    free(text);
    text = page_points(&history, 2, 0);
    assert_string_equal(text, "[[1000000.00,9223372036854775807,2.34568]]");
    free(text);
    assert_null(page_points(&history, 3, 0));
}

static void the_longest_text_is_short(void **state)
{
    const double loss = -1.23456789e-300;
    char        *text;
    int          i;

    (void)state;
    for (i = 0; i < STEP_HISTORY_MOST; i++)
        step_history_note(&history, 1e9, INT64_MAX, &loss);
    text = page_points(&history, 0, 1e9);
    assert_true(strlen(text) < 20000);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_report_is_a_point_at_first, begin),
        cmocka_unit_test_setup(then_fewer_and_fewer_are, begin),
        cmocka_unit_test_setup(as_text, begin),
        cmocka_unit_test_setup(the_longest_text_is_short, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
