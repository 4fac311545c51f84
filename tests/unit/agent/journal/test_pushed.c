/* test_pushed.c - the list of what muster bootstrap has copied: malformed ones, and what differs
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "journal/pushed.h"
#include "xalloc.h"

static char directory[] = "/tmp/muster-test-pushed.XXXXXX";

static void shell(const char *text)
{
    setenv("directory", directory, 1);
    assert_int_equal(system(text), 0);
}

static void put(struct buffer *list, char type, const char *path, uint64_t size, long second,
                const char *target)
{
    struct pushed_file file = { .path = (char *)path, .target = (char *)target, .type = type,
                                .size = size, .mtime = { second, 5 } };

    pushed_put(&file, list);
}

static void lists_that_are_none(void **state)
{
    struct buffer list = { 0 };
    struct pushed pushed;
    struct error  err;
    size_t        size, whole;

    (void)state;
    put(&list, 'f', "a", 1, 100, "");
    whole = list.size;
    put(&list, 'l', "lib/b", 0, 100, "../a");
    for (size = 0; size <= list.size; size++)
        if (pushed_parse(list.bytes, size, &pushed, &err) == 0) {
            assert_int_equal(pushed.count, size < whole ? 0 : size < list.size ? 1 : 2);
            assert_true(size == 0 || size == whole || size == list.size);
            pushed_clear(&pushed);
        }
    list.bytes[0] = 'x'; /* no type */
    assert_int_equal(pushed_parse(list.bytes, list.size, &pushed, &err), -1);
    list.bytes[0] = 'f';
    memcpy(strstr(list.bytes + ENTRY_HEADER_BYTES, "_/a"), "../", 3); /* leads out of it */
    assert_int_equal(pushed_parse(list.bytes, list.size, &pushed, &err), -1);
    assert_int_equal(pushed.count, 0);
    buffer_clear(&list);
    shell("printf 'not a list of entries, but 40 bytes long' >$directory/" PUSHED_RECORD);
    assert_int_equal(pushed_read(directory, &pushed, &err), -1);
    assert_non_null(strstr(err.text, "not a list of muster bootstrap"));
    shell("rm $directory/" PUSHED_RECORD);
    assert_int_equal(pushed_read(directory, &pushed, &err), 0);
}

/* The first and the last of what may be there, and all that may not. */
static void what_differs(void **state)
{
    static const struct {
        const char *command;
        bool        is_same, is_there;
    } rows[] = {
        { "printf 1 >$at; touch -d @100.000000005 $at", true, true },
        { "printf 12 >$at; touch -d @100.000000005 $at", true, true },
        { "printf 123 >$at; touch -d @200.000000005 $at", true, true },
        { "printf 123 >$at; touch -d @100.000000005 $at", false, true },
        { "printf 1 >$at; touch -d @100.000000006 $at", false, true },
        { "mkdir $at", false, true },
        { "ln -s to $at", true, true },
        { "ln -s too $at", false, true },
        { ":", false, false },
    };
    struct buffer list = { 0 };
    struct pushed pushed;
    struct error  err;
    size_t        i;
    bool          is_there;
    char         *command;

    (void)state;
    put(&list, 'f', "b", 1, 100, "");
    put(&list, 'f', "a", 1, 100, "");
    put(&list, 'f', "a", 2, 100, "");
    put(&list, 'l', "a", 0, 100, "to");
    put(&list, 'f', "a", 3, 200, "");
    assert_int_equal(pushed_parse(list.bytes, list.size, &pushed, &err), 0);
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        command = xasprintf("at=$directory/a; rm -rf $at; %s", rows[i].command);
        shell(command);
        free(command);
        if (pushed_matches(&pushed, directory, "a", &is_there) != rows[i].is_same ||
            is_there != rows[i].is_there)
            fail_msg("%s", rows[i].command);
    }
    shell("cp -a /dev/null $directory/a 2>/dev/null || :");
    assert_false(pushed_matches(&pushed, directory, "a", &is_there));
    assert_false(pushed_matches(&pushed, directory, "nowhere", &is_there));
    pushed_clear(&pushed);
    assert_false(pushed_matches(&pushed, directory, "a", &is_there));
    buffer_clear(&list);
}

static int begin(void **state)
{
    (void)state;
    return mkdtemp(directory) == NULL;
}

static int end(void **state)
{
    (void)state;
    shell("rm -r $directory");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_that_are_none),
        cmocka_unit_test(what_differs),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
