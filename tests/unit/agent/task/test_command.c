/* test_command.c - programs that a task runs: output, input, status, and those that do not end
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "task/command.h"

#define LONG_S 100.0

static bool sh(const char *script, const char *input, double timeout_s,
               struct command_result *result)
{
    const char *const argv[] = { "sh", "-c", script, NULL };

    return command_run(argv, input, timeout_s, result);
}

static void says_what_it_said(void **state)
{
    struct command_result result;
    char                  why[256];

    (void)state;
    assert_true(sh("echo out; echo err >&2; cat", "in\n", LONG_S, &result));
    assert_string_equal(result.out, "out\nin\n");
    assert_string_equal(result.err, "err\n");
    assert_int_equal(result.status, 0);
    command_clear(&result);
    assert_false(sh("cat; echo first >&2; echo last words >&2; exit 3", NULL, LONG_S, &result));
    assert_int_equal(result.status, 3);
    command_why(&result, LONG_S, why, sizeof why);
    assert_string_equal(why, "exit status 3: last words");
    command_why_lines(&result, LONG_S, 2, why, sizeof why);
    assert_string_equal(why, "exit status 3: first | last words");
    command_why_lines(&result, LONG_S, 9, why, sizeof why);
    assert_string_equal(why, "exit status 3: first | last words");
    command_why_lines(&result, LONG_S, 2, why, 18);
    assert_string_equal(why, "exit status 3: fi");
    command_clear(&result);
    assert_false(sh("kill -9 $$", NULL, LONG_S, &result));
    assert_int_equal(result.signal, SIGKILL);
    command_clear(&result);
}

static void is_not_there(void **state)
{
    const char *const     argv[] = { "/nonexistent/program", NULL };
    struct command_result result;
    char                  why[256];

    (void)state;
    assert_false(command_run(argv, NULL, LONG_S, &result));
    assert_int_equal(result.error, ENOENT);
    assert_int_equal(result.status, -1);
    command_why(&result, LONG_S, why, sizeof why);
    assert_string_equal(why, "No such file or directory");
    command_clear(&result);
}

/* Its children too. */
static void is_killed_at_the_deadline(void **state)
{
    struct command_result result;
    int64_t               begun_ns = clock_now_ns();
    char                  why[256];
    pid_t                 child;

    (void)state;
    assert_false(sh("sleep 1000 & echo $!; wait", NULL, 0.3, &result));
    assert_true(clock_now_ns() - begun_ns >= NS_PER_S * 3 / 10);
    assert_true(result.timed_out);
    assert_int_equal(result.signal, SIGKILL);
    command_why(&result, 0.3, why, sizeof why);
    assert_string_equal(why, "not finished after 0.3 s");
    child = (pid_t)atoi(result.out);
    assert_true(child > 1);
    while (kill(child, 0) == 0 && clock_now_ns() - begun_ns < LONG_S * NS_PER_S) {
        char path[64], text[256] = "";
        FILE *file;

        snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
        file = fopen(path, "r");
        if (file == NULL || fgets(text, sizeof text, file) == NULL || strstr(text, ") Z ") != NULL)
            break;
        fclose(file);
    }
    assert_true(clock_now_ns() - begun_ns < LONG_S * NS_PER_S);
    command_clear(&result);
}

/* A daemon keeps the pipes; the program itself has ended. */
static void leaves_a_daemon(void **state)
{
    struct command_result result;
    pid_t                 daemon;

    (void)state;
    assert_true(sh("setsid sleep 1000 & echo $!", NULL, LONG_S, &result));
    daemon = (pid_t)atoi(result.out);
    assert_true(daemon > 1);
    kill(daemon, SIGKILL);
    command_clear(&result);
}

static void floods(void **state)
{
    struct command_result result;

    (void)state;
    assert_true(sh("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2", NULL, LONG_S,
                   &result));
    assert_int_equal(result.out_size, COMMAND_OUTPUT_MAX);
    assert_int_equal(result.err_size, COMMAND_OUTPUT_MAX);
    assert_true(result.is_cut);
    command_clear(&result);
}

/* There is always more to read. */
static void floods_without_end(void **state)
{
    struct command_result result;
    int64_t               begun_ns = clock_now_ns();

    (void)state;
    assert_false(sh("yes & yes & yes", NULL, 0.3, &result));
    assert_true(result.timed_out);
    assert_true(clock_now_ns() - begun_ns < LONG_S * NS_PER_S);
    command_clear(&result);
}

/* More than a pipe holds, to a program that reads none of it. */
static void does_not_read(void **state)
{
    struct command_result result;
    char                 *input = malloc(1000001);

    (void)state;
    memset(input, 'x', 1000000);
    input[1000000] = '\0';
    assert_true(sh("exit 0", input, LONG_S, &result));
    command_clear(&result);
    assert_true(sh("wc -c", input, LONG_S, &result));
    assert_int_equal(atoi(result.out), 1000000);
    command_clear(&result);
    free(input);
}

static void environment(void **state)
{
    struct command_result result;

    (void)state;
    unsetenv("PATH");
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    assert_true(sh("echo $LC_ALL; case $PATH in */usr/sbin:*) echo yes;; esac", NULL, LONG_S,
                   &result));
    assert_string_equal(result.out, "C\nyes\n");
    command_clear(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_it_said),
        cmocka_unit_test(is_not_there),
        cmocka_unit_test(is_killed_at_the_deadline),
        cmocka_unit_test(leaves_a_daemon),
        cmocka_unit_test(floods),
        cmocka_unit_test(floods_without_end),
        cmocka_unit_test(does_not_read),
        cmocka_unit_test(environment),
    };

    signal(SIGPIPE, SIG_IGN); /* as in a task */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
