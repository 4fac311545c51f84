/* test_path_pattern.c - which paths --exclude leaves out
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "copy/path_pattern.h"

static void test_table(void **state)
{
    static const struct {
        const char *pattern, *path;
        bool        is_dir, matches;
    } rows[] = {
        /* a name, at any depth */
        { ".git", ".git", true, true },
        { ".git", "a/b/.git", true, true },
        { ".git", "a/.git/b", false, false }, /* the directory is left out as a whole */
        { ".git", ".gitignore", false, false },
        { "*.pyc", "a/b.pyc", false, true },
        { "*", ".hidden", false, true },
        { "[ab]?", "x/a1", false, true },
        { "[ab]?", "x/c1", false, false },
        { "a", "a/b", false, false },
        /* several names, at any depth */
        { "build/x", "build/x", false, true },
        { "build/x", "a/build/x", false, true },
        { "build/x", "abuild/x", false, false },
        { "build/x", "build/x/y", false, false },
        { "b*/x", "a/build/x", false, true },
        { "b*/x", "b/c/x", false, false },
        /* from the top */
        { "/data", "data", true, true },
        { "/data", "a/data", true, false },
        { "/a/*.txt", "a/b.txt", false, true },
        { "/a/*.txt", "a/b/c.txt", false, false },
        { "/*", "a", false, true },
        { "/*", "a/b", false, false },
        /* directories only */
        { "cache/", "a/cache", true, true },
        { "cache/", "a/cache", false, false },
        { "/a/cache//", "a/cache", true, true },
        /* across directories */
        { "a/**/c", "a/b/d/c", false, true },
        { "/a/**", "a/b/c", false, true },
        { "/a/**", "a", true, false },
        { "**/x", "x", false, true },
        { "**/x", "a/b/x", false, true },
        { "**/a/x", "b/a/x", false, true },
        { "**", "a/b", false, true },
        /* nothing at all */
        { "", "a", false, false },
        { "/", "a", true, false },
        { "**/", "a", true, false },
        { "[", "[", false, true },
        { "[", "a", false, false },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        if (path_pattern_matches(rows[i].pattern, rows[i].path, rows[i].is_dir) !=
            rows[i].matches)
            fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].path);
}

static void test_too_long(void **state)
{
    char pattern[PATH_MAX + 1];

    (void)state;
    memset(pattern, '*', sizeof pattern - 1);
    pattern[sizeof pattern - 1] = '\0';
    assert_false(path_pattern_matches(pattern, "a", false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
