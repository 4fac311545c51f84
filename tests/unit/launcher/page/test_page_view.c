/* test_page_view.c - what of a page is new to a browser, and columns in few bytes
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

#include "page/page_runs.h"
#include "page/page_view.h"
#include "xalloc.h"

static struct page_view view;

static int begin(void **state)
{
    (void)state;
    page_view_clear(&view);
    return 0;
}

static void expect(uint64_t after, const char *wanted)
{
    char *got = page_view_message(&view, after, NULL, NULL);

    if (wanted == NULL)
        assert_null(got);
    else
        assert_string_equal(got, wanted);
    free(got);
}

static void only_what_is_new(void **state)
{
    (void)state;
    expect(0, NULL);
    page_view_next(&view);
    page_view_set(&view, PAGE_RUN, xstrdup("{}"));
    page_view_set(&view, PAGE_RANKS, xstrdup("\"r\""));
    expect(0, "{\"version\":1,\"run\":{},\"ranks\":\"r\"}");
    expect(1, NULL);
    page_view_next(&view);
    page_view_set(&view, PAGE_RUN, xstrdup("{}"));
    page_view_set(&view, PAGE_RANKS, xstrdup("\"f\""));
    expect(1, "{\"version\":2,\"ranks\":\"f\"}");
    page_view_next(&view);
    page_view_set(&view, PAGE_BEHIND, xstrdup("\"0\""));
    expect(2, "{\"version\":3,\"behind\":\"0\"}");
    expect(1, "{\"version\":3,\"ranks\":\"f\",\"behind\":\"0\"}"); /* it was slow */
}

/* Of another muster, or invented. */
static void a_version_that_is_still_to_come(void **state)
{
    (void)state;
    page_view_next(&view);
    page_view_set(&view, PAGE_RUN, xstrdup("{}"));
    expect(UINT64_MAX, "{\"version\":1,\"run\":{}}");
}

static void lists(void **state)
{
    char *got;

    (void)state;
    page_view_next(&view);
    page_view_set(&view, PAGE_RUN, xstrdup("{}"));
    got = page_view_message(&view, 1, "[1]", NULL);
    assert_string_equal(got, "{\"version\":1,\"points\":[1]}");
    free(got);
    got = page_view_message(&view, 1, NULL, "[2]");
    assert_string_equal(got, "{\"version\":1,\"events\":[2]}");
    free(got);
}

static void columns(void **state)
{
    struct page_runs runs = { 0 };
    char            *text;
    int              i;

    (void)state;
    text = page_runs_end(&runs);
    assert_string_equal(text, "\"\"");
    free(text);
    for (i = 0; i < 5; i++)
        page_runs_letter(&runs, i < 4 ? 'r' : 'f');
    text = page_runs_end(&runs);
    assert_string_equal(text, "\"r*4,f\"");
    free(text);
    page_runs_number(&runs, INT64_MIN);
    page_runs_number(&runs, -1);
    page_runs_number(&runs, -1);
    page_runs_number(&runs, 7);
    text = page_runs_end(&runs);
    assert_string_equal(text, "\"-9223372036854775808,-1*2,7\"");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(only_what_is_new, begin),
        cmocka_unit_test_setup(a_version_that_is_still_to_come, begin),
        cmocka_unit_test_setup(lists, begin),
        cmocka_unit_test_setup_teardown(columns, begin, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
