/* test_file_list.c - the files that data consists of
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "data/file_list.h"

static char directory[] = "/tmp/muster-test-files-XXXXXX";

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

static void make_file(const char *path)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fclose(file);
}

static void test_names(void **state)
{
    static const char *const names[] = { "b.json", "a.JSONL", "c.txt", ".hidden" };
    struct strlist files;
    struct error   err;
    char           inside[4][128], expected[256];
    size_t         i;

    (void)state;
    assert_int_equal(file_list_read(&files, directory, &err), -1);
    snprintf(expected, sizeof expected, "%s: no files", directory);
    assert_string_equal(err.text, expected);
    for (i = 0; i < 4; i++) {
        snprintf(inside[i], sizeof inside[i], "%s/%s", directory, names[i]);
        make_file(inside[i]);
    }
    assert_int_equal(file_list_read(&files, directory, &err), 0);
    assert_int_equal(files.count, 3);
    assert_string_equal(files.item[0], inside[1]);
    assert_string_equal(files.item[1], inside[0]);
    assert_string_equal(files.item[2], inside[2]);
    assert_true(file_is_json(files.item[0]));
    assert_true(file_is_json(files.item[1]));
    assert_false(file_is_json(files.item[2]));
    strlist_clear(&files);
    assert_int_equal(file_list_read(&files, inside[2], &err), 0);
    assert_int_equal(files.count, 1);
    strlist_clear(&files);
    for (i = 0; i < 4; i++)
        unlink(inside[i]);
}

static void test_refused(void **state)
{
    struct strlist files;
    struct error   err;
    char           packed[128], expected[256];

    (void)state;
    assert_int_equal(file_list_read(&files, "/nowhere", &err), -1);
    assert_string_equal(err.text, "/nowhere: No such file or directory");
    snprintf(packed, sizeof packed, "%s/a.jsonl.gz", directory);
    make_file(packed);
    snprintf(expected, sizeof expected, "%s: .gz files are not supported: make text or JSON lines "
                                        "of it (.jsonl)", packed);
    assert_int_equal(file_list_read(&files, packed, &err), -1);
    assert_string_equal(err.text, expected);
    assert_int_equal(file_list_read(&files, directory, &err), -1);
    assert_string_equal(err.text, expected);
    strlist_clear(&files);
    unlink(packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
