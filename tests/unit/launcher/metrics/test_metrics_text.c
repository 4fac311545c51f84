/* test_metrics_text.c - figures as text, in both formats
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "metrics/metrics_text.h"

static void expect_text(struct metrics_text *text, const char *expected)
{
    metrics_text_end(text);
    assert_string_equal(text->out.bytes, expected);
    assert_int_equal(text->out.size, strlen(expected));
    buffer_clear(&text->out);
}

static void nothing_is_a_text(void **state)
{
    struct metrics_text text;

    (void)state;
    metrics_text_begin(&text, METRICS_OPEN, NULL);
    expect_text(&text, "# EOF\n");
    metrics_text_begin(&text, METRICS_PROMETHEUS, NULL);
    expect_text(&text, "");
}

/* The same figures in both formats: the names of counters differ, and an info is a gauge. */
static void both_formats(void **state)
{
    static const struct metrics_label common[] = { { "run_id", "7" }, { 0 } };
    static const struct metrics_label label[] = { { "cause", "rank" }, { "role", NULL }, { 0 } };
    static const char *const          expected[] = {
        [METRICS_OPEN] = "# TYPE a_run info\n"
                         "# HELP a_run The run\n"
                         "a_run_info{run_id=\"7\"} 1\n"
                         "# TYPE a_seconds counter\n"
                         "# UNIT a_seconds seconds\n"
                         "# HELP a_seconds Time\n"
                         "a_seconds_total{run_id=\"7\",cause=\"rank\",role=\"\"} 2.5\n"
                         "a_seconds_total{run_id=\"7\"} 3\n"
                         "# TYPE a_step gauge\n"
                         "# HELP a_step Step\n"
                         "a_step{run_id=\"7\"} -1\n"
                         "# EOF\n",
        [METRICS_PROMETHEUS] = "# TYPE a_run_info gauge\n"
                               "# HELP a_run_info The run\n"
                               "a_run_info{run_id=\"7\"} 1\n"
                               "# TYPE a_seconds_total counter\n"
                               "# HELP a_seconds_total Time\n"
                               "a_seconds_total{run_id=\"7\",cause=\"rank\",role=\"\"} 2.5\n"
                               "a_seconds_total{run_id=\"7\"} 3\n"
                               "# TYPE a_step gauge\n"
                               "# HELP a_step Step\n"
                               "a_step{run_id=\"7\"} -1\n",
    };
    struct metrics_text text;
    int                 format;

    (void)state;
    for (format = METRICS_OPEN; format <= METRICS_PROMETHEUS; format++) {
        metrics_text_begin(&text, (enum metrics_format)format, common);
        metrics_text_one(&text, METRICS_INFO, "a_run", NULL, 1, "The run");
        metrics_text_family(&text, METRICS_COUNTER, "a_seconds", "seconds", "Time");
        metrics_text_add(&text, 2.5, label);
        metrics_text_add(&text, 3, NULL);
        metrics_text_one(&text, METRICS_GAUGE, "a_step", NULL, -1, "Step");
        expect_text(&text, expected[format]);
    }
}

static void labels_may_hold_anything(void **state)
{
    static const char *const cases[][2] = {
        { "", "" },
        { "train.py", "train.py" },
        { "a \"b\" \\n", "a \\\"b\\\" \\\\n" },
        { "two\nlines\r", "two^Jlines^M" },
        { "\033[2J", "^[[2J" },
        { "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
        { "\xff\xfe{", "\\\\xff\\\\xfe{" },
        { "cut \xc3", "cut \\\\xc3" },
        { "\"} 7\nmuster_other 1\n", "\\\"} 7^Jmuster_other 1^J" },
    };
    struct metrics_label label[] = { { "name", NULL }, { 0 } };
    struct metrics_text  text;
    char                 expected[200];
    size_t               i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        label[0].value = cases[i][0];
        metrics_text_begin(&text, METRICS_PROMETHEUS, NULL);
        metrics_text_family(&text, METRICS_GAUGE, "a", NULL, "A");
        metrics_text_add(&text, 1, label);
        snprintf(expected, sizeof expected, "# TYPE a gauge\n# HELP a A\na{name=\"%s\"} 1\n",
                 cases[i][1]);
        expect_text(&text, expected);
    }
}

static void values(void **state)
{
    static const struct {
        double      value;
        const char *expected;
    } cases[] = {
        { 0, "0" },
        { -0.0, "0" },
        { 1796058081, "1796058081" },
        { 999999999999999, "999999999999999" },
        { 1e15, "1e+15" },
        { 1e300, "1e+300" },
        { 0.1, "0.1" },
        { -2.25, "-2.25" },
        { 1e-9, "1e-09" },
        { NAN, "NaN" },
        { INFINITY, "+Inf" },
        { -INFINITY, "-Inf" },
    };
    struct metrics_text text;
    char                expected[100];
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        metrics_text_begin(&text, METRICS_PROMETHEUS, NULL);
        metrics_text_one(&text, METRICS_GAUGE, "a", NULL, cases[i].value, "A");
        snprintf(expected, sizeof expected, "# TYPE a gauge\n# HELP a A\na %s\n",
                 cases[i].expected);
        expect_text(&text, expected);
    }
}

/* Both formats forbid them. */
static void a_counter_is_a_number(void **state)
{
    struct metrics_text text;

    (void)state;
    metrics_text_begin(&text, METRICS_PROMETHEUS, NULL);
    metrics_text_family(&text, METRICS_COUNTER, "a", NULL, "A");
    metrics_text_add(&text, NAN, NULL);
    metrics_text_add(&text, -1, NULL);
    metrics_text_add(&text, 1, NULL);
    expect_text(&text, "# TYPE a_total counter\n# HELP a_total A\na_total 1\n");
}

static void what_a_scraper_asks_for(void **state)
{
    static const struct {
        const char         *accept;
        enum metrics_format expected;
    } cases[] = {
        { NULL, METRICS_PROMETHEUS },
        { "", METRICS_PROMETHEUS },
        { "*/*", METRICS_PROMETHEUS },
        { "text/plain", METRICS_PROMETHEUS },
        { "text/html,application/xhtml+xml", METRICS_PROMETHEUS },
        { "application/openmetrics-text", METRICS_OPEN },
        { "Application/OpenMetrics-Text; version=1.0.0", METRICS_OPEN },
        { "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4",
          METRICS_OPEN },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(metrics_text_accepted(cases[i].accept), cases[i].expected);
    assert_string_equal(metrics_text_type(METRICS_OPEN),
                        "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert_string_equal(metrics_text_type(METRICS_PROMETHEUS),
                        "text/plain; version=0.0.4; charset=utf-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_a_text),
        cmocka_unit_test(both_formats),
        cmocka_unit_test(labels_may_hold_anything),
        cmocka_unit_test(values),
        cmocka_unit_test(a_counter_is_a_number),
        cmocka_unit_test(what_a_scraper_asks_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
