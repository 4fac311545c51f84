/* test_account.c - lines of passwd and group, whoever wrote them, and names of accounts
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "journal/account.h"

#define PEOPLE "root:x:0:0:root:/root:/bin/bash\nme:x:1000:1000:It's me,,,:/home/me:/bin/sh\n"

static void names(void **state)
{
    static const struct {
        const char *name;
        bool        is_valid;
    } rows[] = {
        { "train", true },   { "_train-2", true },  { "t", true },
        { "root", false },   { "", false },         { "Train", false },
        { "-r", false },     { "2nd", false },      { "a.b", false },
        { "a:b", false },    { "a/../b", false },   { "a b", false },
        { "a\nb", false },   { "tr\xc3\xa4in", false },
        { "a2345678901234567890123456789012", true },
        { "a23456789012345678901234567890123", false },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        if (account_name_is_valid(rows[i].name) != rows[i].is_valid)
            fail_msg("'%s' is taken for %s", rows[i].name, rows[i].is_valid ? "no name" : "one");
}

static void lines(void **state)
{
    static const char *const none[] = {
        "", "me", "me:", "me:x", "me:x:1000", "me:x:1000:1000:c:/home/me",
        "me:x:-1:1000:c:/home/me:/bin/sh", "me:x:1000:4294967296:c:/home/me:/bin/sh",
        "me:x:0x10:1000:c:/home/me:/bin/sh", "me:x:1000:1000:c:home/me:/bin/sh",
        "me:x:1000:1000:c::/bin/sh", "me:x:1000:1000:c:/home/me:/bin/sh:more",
        "xme:x:1000:1000:c:/home/me:/bin/sh", "# me:x:1:1:c:/:/", "me2:x:1000:1000:c:/:/bin/sh",
        "me:x\n1000:1000:c:/home/me:/bin/sh",
    };
    struct account found;
    size_t         i;

    (void)state;
    assert_true(account_find(PEOPLE, "me", &found));
    assert_int_equal(found.uid, 1000);
    assert_string_equal(found.comment, "It's me,,,");
    assert_string_equal(found.home, "/home/me");
    assert_string_equal(found.shell, "/bin/sh");
    account_clear(&found);
    assert_true(account_find(PEOPLE, "root", &found));
    account_clear(&found);
    assert_false(account_find(PEOPLE, "m", &found));
    for (i = 0; i < sizeof none / sizeof *none; i++)
        if (account_find(none[i], "me", &found))
            fail_msg("'%s' is taken for an account", none[i]);
}

static void whole_and_half(void **state)
{
    static const char shadow[] = "root:*:1::::::\nme:!:1::::::\n";
    static const char group[] = "root:x:0:\nus:x:1000:me\n";

    (void)state;
    assert_true(account_is_whole(shadow, group, "me", 1000));
    assert_true(account_is_whole(NULL, group, "me", 1000));
    assert_false(account_is_whole(shadow, group, "me", 100));
    assert_false(account_is_whole(shadow, group, "you", 1000));
    assert_false(account_is_whole(shadow, NULL, "me", 1000));
    assert_false(account_is_whole(shadow, "us", "me", 1000));
    assert_false(account_is_whole(shadow, "us:1000:\n", "me", 1000));
}

static void uids(void **state)
{
    static const struct {
        const char *passwd, *group;
        long        next;
    } rows[] = {
        { PEOPLE, "me:x:1000:\n", 1001 },
        { NULL, NULL, 1000 },
        { "", "", 1000 },
        { "nobody:x:65534:65534::/:/bin/false\n", "daemon:x:1:\n", 1000 },
        { PEOPLE, "team:x:2000:me\n", 2001 },
        { "a:x:59999:1:::\n", "", -1 },
        { "a\n:\n::\nb:x:1005", "a:x:text:\n\n", 1006 },
        { "a:x:99999999999999999999:1:::\n", "", 1000 },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(account_next_uid(rows[i].passwd, rows[i].group), rows[i].next);
}

static void states(void **state)
{
    struct state one = { .exists = true, .bytes = (char *)"1000:1000:c:/home/me:/bin/sh" };
    struct state shell = { .exists = true, .bytes = (char *)"1000:1000:c:/home/me:/bin/zsh" };
    struct state home = { .exists = true, .bytes = (char *)"1000:1000:c:/home/us:/bin/sh" };
    struct state half = { .exists = true, .bytes = (char *)"" }, none = { .exists = true };

    (void)state;
    assert_true(account_state_is(&one, &shell));
    assert_false(account_state_is(&one, &home));
    assert_false(account_state_is(&one, &half));
    assert_true(account_state_is(&half, &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names), cmocka_unit_test(lines), cmocka_unit_test(whole_and_half),
        cmocka_unit_test(uids),  cmocka_unit_test(states),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
