/* test_lines.c - what is kept of the logs of failed Pods stays small, and is UTF-8
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "life/lines.h"

static const char *text_of(const json_t *list, size_t i)
{
    return json_string_value(json_object_get(json_array_get(list, i), "text"));
}

static void test_attempts(void **state)
{
    json_t *one = lines_with(NULL, "a", "u", 1, "x\n", 2);
    json_t *two = lines_with(one, "b", "v", 1, "y\n", 2);
    json_t *three = lines_with(two, "a", "w", 2, "z\n", 2);

    (void)state;
    assert_true(lines_has(two, "u") && lines_has(two, "v") && !lines_has(two, "w"));
    assert_false(lines_has(NULL, "u"));
    assert_int_equal(lines_count(two, 1), 2);
    assert_int_equal(lines_count(NULL, 1), 0);
    assert_int_equal(json_array_size(three), 1); /* of the new attempt */
    assert_string_equal(text_of(three, 0), "z\n");
    json_decref(one);
    json_decref(two);
    json_decref(three);
}

static void test_texts(void **state)
{
    static const struct {
        const char *text;
        size_t      size;
        const char *kept;
    } rows[] = {
        { "", 0, "" },
        { "a\nb", 3, "a\nb" },
        { "a\xff\n", 3, "a?\n" },
        { "\xc3\xa4\n", 3, "\xc3\xa4\n" },
        { "a\0b\n", 4, "a?b\n" },
        { "\xc3", 1, "?" },
    };
    char    large[3 * LINES_BYTES];
    json_t *list;
    size_t  i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        list = lines_with(NULL, "a", "u", 1, rows[i].text, rows[i].size);
        assert_string_equal(text_of(list, 0), rows[i].kept);
        json_decref(list);
    }
    memset(large, 'x', sizeof large); /* one line: its end */
    list = lines_with(NULL, "a", "u", 1, large, sizeof large);
    assert_int_equal(strlen(text_of(list, 0)), LINES_BYTES);
    json_decref(list);
    for (i = 9; i < sizeof large; i += 10)
        large[i] = '\n';
    list = lines_with(NULL, "a", "u", 1, large, sizeof large);
    assert_true(strlen(text_of(list, 0)) > LINES_BYTES - 10);
    assert_int_equal(strncmp(text_of(list, 0), "xxxxxxxxx\n", 10), 0); /* a whole line */
    json_decref(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attempts),
        cmocka_unit_test(test_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
