/* test_page_file.c - the page as one file, and which requests for it are meant for us
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

#include "page/page_file.h"
#include "page/page_host.h"

static size_t count(const char *text, const char *word)
{
    size_t found = 0;

    for (; (text = strstr(text, word)) != NULL; text++)
        found++;
    return found;
}

/* The build makes signed bytes of them. */
static void the_files_are_ascii_and_small(void **state)
{
    static const struct {
        const char *name, *bytes;
        size_t      size;
    } files[] = { { "page.html", page_html, 0 },
                  { "page.css", page_css, 0 },
                  { "page.js", page_js, 0 } };
    size_t      i;
    const char *at;

    (void)state;
    assert_true(page_html_size + page_css_size + page_js_size < (size_t)40 * 1024);
    assert_int_equal(strlen(page_html), page_html_size);
    assert_int_equal(strlen(page_css), page_css_size);
    assert_int_equal(strlen(page_js), page_js_size);
    for (i = 0; i < sizeof files / sizeof *files; i++)
        for (at = files[i].bytes; *at != '\0'; at++)
            if (*at != '\n' && (*at < ' ' || *at > '~'))
                fail_msg("%s has a byte %d", files[i].name, *at);
}

static void nothing_comes_from_elsewhere(void **state)
{
    (void)state;
    assert_null(strstr(page_html, "://"));
    assert_null(strstr(page_css, "url("));
    assert_null(strstr(page_css, "@import"));
    assert_int_equal(count(page_js, "://"), 1); /* the name space of SVG */
    assert_null(strstr(page_js, "innerHTML"));
    assert_null(strstr(page_html, " on"));
    assert_null(strstr(page_html, "style="));
}

static void one_file(void **state)
{
    char *page = page_file_make("{\"a\":\"</script><script>alert(1)</script><!--\"}");

    (void)state;
    assert_int_equal(count(page, "<script"), 2);
    assert_int_equal(count(page, "</script>"), 2);
    assert_non_null(strstr(page, "{\"a\":\"\\u003c/script>\\u003cscript>alert(1)\\u003c/script>"
                                 "\\u003c!--\"}</script>"));
    assert_null(strstr(page, "src="));
    assert_int_equal(count(page, "'sha256-"), 2);
    assert_non_null(strstr(page, "default-src 'none'"));
    assert_non_null(strstr(page, "</html>"));
    free(page);
}

static void hosts(void **state)
{
    static const char *const ours[] = {
        "localhost",   "LOCALHOST:80", "127.0.0.1", "127.0.0.1:9464", "10.1.2.3:1", "[::1]",
        "[fd00::5]:9", "login1",       "Login1:7",  "login1.cluster", "login1.cluster:9464",
    };
    static const char *const others[] = {
        "",           "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "login",
        "login1.evil", "login1.",     "127.0.0.1:80:80",        "127.0.0.1:x",  "[::1]x", "[::1",
        "[evil]",     "[]",           ":80",                    "1.2.3",        "0x7f.0.0.1",
        "localhost@evil", " localhost", "[127.0.0.1]",
    };
    char   long_name[1000];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof ours / sizeof *ours; i++)
        if (!page_host_is_ours(ours[i], "login1.cluster"))
            fail_msg("not ours: %s", ours[i]);
    for (i = 0; i < sizeof others / sizeof *others; i++)
        if (page_host_is_ours(others[i], "login1.cluster"))
            fail_msg("ours: %s", others[i]);
    assert_false(page_host_is_ours(NULL, "login1.cluster"));
    memset(long_name, 'l', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_false(page_host_is_ours(long_name, "login1.cluster"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_files_are_ascii_and_small),
        cmocka_unit_test(nothing_comes_from_elsewhere),
        cmocka_unit_test(one_file),
        cmocka_unit_test(hosts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
