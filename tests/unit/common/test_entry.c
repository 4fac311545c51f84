/* test_entry.c - what may be in a tree, and what may not
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "entry.h"

static void test_paths(void **state)
{
    static const struct {
        const char *path, *fault; /* NULL: none */
    } cases[] = {
        { "a", NULL },
        { "a/b/c", NULL },
        { "...", NULL },
        { "a/..b/.c", NULL },
        { " \n\x1b[2J\xff\"'\\", NULL },
        { "", "empty" },
        { "/", "absolute" },
        { "/etc/passwd", "absolute" },
        { "..", "'..'" },
        { "../a", "'..'" },
        { "a/../b", "'..'" },
        { "a/..", "'..'" },
        { ".", "'.'" },
        { "./a", "'.'" },
        { "a/./b", "'.'" },
        { "a//b", "empty name" },
        { "a/", "empty name" },
    };
    const char *fault;
    size_t      i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fault = entry_path_fault(cases[i].path);
        if (cases[i].fault == NULL ? fault != NULL
                                   : fault == NULL || strstr(fault, cases[i].fault) == NULL)
            fail_msg("'%s': %s", cases[i].path, fault != NULL ? fault : "taken");
    }
}

static void test_long_paths(void **state)
{
    char   path[ENTRY_PATH_MAX + 2];
    size_t i;

    (void)state;
    memset(path, 'a', sizeof path);
    path[ENTRY_NAME_MAX] = '\0';
    assert_null(entry_path_fault(path));
    path[ENTRY_NAME_MAX] = 'a';
    path[ENTRY_NAME_MAX + 1] = '\0';
    assert_non_null(strstr(entry_path_fault(path), "255"));
    for (i = 0; i < sizeof path; i++)
        path[i] = i % 2 == 0 ? 'a' : '/';
    path[ENTRY_PATH_MAX] = '\0';
    assert_null(entry_path_fault(path));
    path[ENTRY_PATH_MAX] = 'a';
    path[ENTRY_PATH_MAX + 1] = '\0';
    assert_non_null(strstr(entry_path_fault(path), "4095"));
}

static void test_links(void **state)
{
    static const struct {
        const char *path, *target, *fault;
    } cases[] = {
        { "top/l", "x", NULL },
        { "top/l", "./x", NULL },
        { "top/d/l", "../x", NULL },
        { "top/d/l", "..", NULL },
        { "top/l", "d/x/y", NULL },
        { "top/l", "...", NULL },
        { "l", "x", "outside a tree" },
        { "top/l", "/x", "absolute" },
        { "top/l", "..", "leaves" },
        { "top/l", "../top/x", "leaves" },
        { "top/d/l", "../../x", "leaves" },
        { "top/d/l", ".././../x", "leaves" },
        { "top/d/l", "..//../x", "leaves" },
        { "top/d/l", "x/../../../y", "after a name" },
        { "top/d/l", "../x/..", "after a name" },
    };
    const char *fault;
    size_t      i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fault = entry_link_leaves(cases[i].path, cases[i].target);
        if (cases[i].fault == NULL ? fault != NULL
                                   : fault == NULL || strstr(fault, cases[i].fault) == NULL)
            fail_msg("%s -> '%s': %s", cases[i].path, cases[i].target,
                     fault != NULL ? fault : "taken");
    }
}

static void test_there_and_back(void **state)
{
    static const struct entry sent[] = {
        { .type = ENTRY_DIR, .mode = 02755, .path = "top", .target = "" },
        { .type = ENTRY_FILE, .mode = 04755, .size = INT64_MAX, .path = "top/\xff\n",
          .mtime = { .tv_sec = -1, .tv_nsec = 999999999 }, .target = "" },
        { .type = ENTRY_LINK, .mode = 0777, .path = "top/l", .target = "\xff\n" },
        { .type = ENTRY_LINK, .mode = 0777, .path = "l", .target = "/etc/../x" },
        { .type = ENTRY_HARD, .mode = 0644, .size = 1, .path = "top/h", .target = "" },
    };
    unsigned char       body[sizeof sent / sizeof sent[0] * ENTRY_BYTES_MAX];
    struct entry_reader reader = { .at = body };
    struct entry        got;
    struct error        err;
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof sent / sizeof sent[0]; i++)
        reader.left += entry_put(body + reader.left, &sent[i]);
    for (i = 0; i < sizeof sent / sizeof sent[0]; i++) {
        assert_int_equal(entry_next(&reader, &got, &err), 1);
        assert_int_equal(got.type, sent[i].type);
        assert_int_equal(got.mode, sent[i].mode);
        assert_true(got.size == sent[i].size);
        assert_true(got.mtime.tv_sec == sent[i].mtime.tv_sec &&
                    got.mtime.tv_nsec == sent[i].mtime.tv_nsec);
        assert_string_equal(got.path, sent[i].path);
        assert_string_equal(got.target, sent[i].target);
    }
    assert_int_equal(entry_next(&reader, &got, &err), 0);
}

/* A good entry with a byte changed, or its end missing. */
static void test_bad_bytes(void **state)
{
    static const struct entry sent = { .type = ENTRY_FILE, .mode = 0644, .size = 5, .path = "a/b",
                                       .target = "" };
    static const struct {
        int           at, value; /* value -1: cut there */
        const char   *why;
    } cases[] = {
        { 0, 'p', "unknown type" },
        { 0, 0, "unknown type" },
        { 1, 1, "malformed" },
        { 3, 1, "malformed" },
        { 6, 0x10, "impossible" }, /* mode */
        { 8, 0x80, "impossible" }, /* size */
        { 24, 0x7f, "impossible" }, /* nanoseconds */
        { 0, 'd', "impossible" },   /* a directory of 5 bytes */
        { 0, 'l', "impossible" },   /* a link to nothing */
        { 28, 0xff, "truncated" },
        { 29, 4, "truncated" },
        { 29, 0, "an empty name" },
        { 30, 0xff, "truncated" },
        { 32, '/', "absolute" },
        { 33, 0, "NUL" },
        { 34, '/', "empty name" },
        { 1, -1, "truncated" },
        { 31, -1, "truncated" },
        { 34, -1, "truncated" },
    };
    unsigned char *body;
    struct entry   got;
    struct error   err;
    size_t         i, size;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct entry_reader reader = { 0 };

        body = malloc(ENTRY_BYTES_MAX);
        size = entry_put(body, &sent);
        if (cases[i].value >= 0)
            body[cases[i].at] = (unsigned char)cases[i].value;
        else
            size = (size_t)cases[i].at;
        body = realloc(body, size); /* so that a sanitizer sees what is read behind it */
        reader.at = body;
        reader.left = size;
        if (entry_next(&reader, &got, &err) != -1 || strstr(err.text, cases[i].why) == NULL)
            fail_msg("byte %d: %s, not %s", cases[i].at, err.text, cases[i].why);
        free(body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_long_paths),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_bad_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
