/* test_kill_gpu.c - whose processes --kill-gpu ends: what it takes, and what it refuses
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>

#include "options/kill_gpu.h"
#include "options_fixture.h"

#define NAME_63 "a23456789012345678901234567890123456789012345678901234567890123"

static const struct {
    const char *text;
    int         pid;
} good[] = {
    { "mine", 0 },           { "ann", 0 },      { "_apt", 0 },
    { "ann-b.c_d", 0 },      { "ann@site", 0 }, { "host$", 0 },
    { "2021cs01", 0 },       { "root", 0 },     { "uid", 0 },
    { NAME_63, 0 },          { "uid 0", 0 },    { "uid 54321", 0 },
    { "uid 4294967294", 0 }, { "1", 1 },        { "4711", 4711 },
    { "4194304", 4194304 },
};

static const char *const bad[] = {
    "",
    " ",
    "0",
    "-1",
    "-ann",
    "--kill",
    "4194305",
    "99999999999999999999",
    "+5",
    "1,2",
    "ann,bob",
    "ann bob",
    "mine ",
    " mine",
    "a/b",
    "..",
    ".ann",
    "ann:x",
    "a\nb",
    "\033[31m",
    "\xc3\xa4",
    "$",
    "a$b",
    "*",
    "%s",
    "uid ",
    "uid x",
    "uid -1",
    "uid 4294967295",
    "uid  5",
    NAME_63 "4",
};

static void test_good_values(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof *good; i++) {
        if (!kill_gpu_is(good[i].text))
            fail_msg("'%s' was refused", good[i].text);
        assert_int_equal(kill_gpu_pid(good[i].text), good[i].pid);
        ACCEPT("clean", "--kill-gpu", good[i].text);
        assert_string_equal(options.kill_gpu, good[i].text);
    }
}

static void test_bad_values(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        char word[128];

        if (kill_gpu_is(bad[i]))
            fail_msg("'%s' was taken", bad[i]);
        snprintf(word, sizeof word, "--kill-gpu=%s", bad[i]);
        REFUSE("is neither mine, nor the name of a user, nor a PID", "clean", word);
    }
}

static void test_where_it_belongs(void **state)
{
    (void)state;
    REFUSE("--kill-gpu: not an option of muster exec; it belongs to clean", "exec",
           "--kill-gpu=mine", "true");
    REFUSE("--kill-gpu", "clean", "--kill-gpu");
    REFUSE("given twice", "clean", "--kill-gpu=mine", "--kill-gpu=7");
    REFUSE("--kill-gpu and --run exclude each other", "clean", "--kill-gpu=mine",
           "--run=20260101-000000-abcd");
    ACCEPT("clean", "--kill", "--kill-gpu=mine");
    assert_true(options.kill);
    ACCEPT("clean", "--kill"); /* whole, although the other begins so */
    assert_null(options.kill_gpu);
    REFUSE("ambiguous", "clean", "--kil");
    setenv("MUSTER_KILL_GPU", "mine", 1);
    ACCEPT("clean");
    assert_null(options.kill_gpu); /* an environment must not end anything */
    unsetenv("MUSTER_KILL_GPU");
}

/* The words with which muster suggests the command again, for the same hosts. */
static void test_words_for_hosts(void **state)
{
    static const char *const words[] = { "--exclude=te2", "--ssh_port=2222", "-H=te1,te2" };
    size_t                   i;

    (void)state;
    ACCEPT("clean", "--exclude", "te2", "--kill", "--grace=1", "--ssh_port", "2222", "-H",
           "te1,te2");
    assert_int_equal(options.host_words.count, 3);
    for (i = 0; i < options.host_words.count; i++)
        assert_string_equal(options.host_words.item[i], words[i]);
    ACCEPT("--exclude", "te2", "x");
    assert_string_equal(options.host_words.item[0],
                        "--exclude-host=te2"); /* for muster bcast */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_good_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where_it_belongs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_words_for_hosts, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("kill_gpu", tests, NULL, NULL);
}
