/* test_event_hook.c - programs that are told of events: those that work, and those that hang, print
 * without end, leave a child, or are gone
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "file.h"
#include "hook/event_hook.h"
#include "hook/event_log.h"
#include "log.h"
#include "transport/children.h"
#include "xalloc.h"

#define NEVER_S 1000 /* a deadline that is not reached */
#define SHORT_S 0.2
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static struct {
    struct event_base *base;
    struct event_hook *hook;
    int                dir_fd;
    char               logged[4096];
} test;

static bool does_exec_hang; /* as on a file server that does not answer */

int execv(const char *path, char *const argv[])
{
    while (does_exec_hang)
        pause();
    return execve(path, argv, environ);
}

static void keep(const char *line, size_t size, void *arg)
{
    (void)arg;
    strncat(test.logged, line, size < 1000 ? size : 1000);
}

static int setup(void **state)
{
    static char dir[] = "/tmp/test_event_hook.XXXXXX";

    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    if (mkdtemp(dir) == NULL || chdir(dir) < 0)
        return -1;
    memset(&test, 0, sizeof test);
    test.base = event_base_new();
    test.dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    log_init("test", LOG_WARN);
    log_sink(keep, NULL);
    *state = dir;
    return 0;
}

static int teardown(void **state)
{
    char *command = xasprintf("rm -rf %s", (char *)*state);
    int   rc;

    event_hook_free(test.hook);
    children_await(5);
    event_base_free(test.base);
    close(test.dir_fd);
    log_sink(NULL, NULL);
    rc = chdir("/") + system(command);
    free(command);
    return rc;
}

/* A file that is executed must not be open for writing anywhere. */
static void write_program(const char *text)
{
    char *whole = xasprintf("#!/bin/sh\n%s\n", text);
    int   fd = open("new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

    assert_int_equal(write(fd, whole, strlen(whole)), strlen(whole));
    close(fd);
    assert_int_equal(rename("new", "told"), 0);
    free(whole);
}

static void begin(const char *program, double run_s)
{
    const struct event_hook_limits limits = { run_s, SHORT_S };

    write_program(program);
    test.hook = event_hook_new(test.base, "./told", "RUN", test.dir_fd, &limits);
}

static void put(const char *name)
{
    event_hook_put(test.hook, json_pack("{s:s}", "event", name));
}

static void until_idle(void)
{
    while (!event_hook_is_idle(test.hook))
        event_base_loop(test.base, EVLOOP_ONCE);
}

static void until_there(const char *name)
{
    while (access(name, F_OK) < 0)
        event_base_loop(test.base, EVLOOP_ONCE);
}

/* Expects the file to have this text; without the times, if it is the log. */
static void expect_file(const char *name, const char *expected)
{
    struct error err;
    size_t       size, i, used = 0;
    char        *text = file_read(name, 4 << 20, &size, &err);

    assert_non_null(text);
    for (i = 0; i < size; i++) {
        if (strcmp(name, EVENT_LOG_NAME) == 0 && (i == 0 || text[i - 1] == '\n'))
            i += strlen("2026-11-30T10:31:07Z ");
        text[used++] = text[i];
    }
    text[used] = '\0';
    assert_string_equal(text, expected);
    free(text);
}

/* The last lines come from a thread. */
static void end(void)
{
    event_hook_free(test.hook);
    test.hook = NULL;
}

/* No process may be left whose number is in that file. */
static void expect_gone(const char *name)
{
    struct error err;
    size_t       size;
    char        *text = file_read(name, 100, &size, &err);

    assert_non_null(text);
    while (kill((pid_t)strtol(text, NULL, 10), 0) == 0)
        usleep(10000); /* it was killed: it is a zombie of somebody else until that one looks */
    free(text);
}

static void each_gets_its_event_in_order(void **state)
{
    (void)state;
    begin("mkdir one || exit 9; cat >>got; rmdir one", NEVER_S); /* never two at a time */
    put("a");
    put("b");
    until_there("got");
    put("c");
    until_idle();
    expect_file("got", "{\"event\":\"a\"}\n{\"event\":\"b\"}\n{\"event\":\"c\"}\n");
    assert_string_equal(test.logged, "");
    end();
    expect_file(EVENT_LOG_NAME, "");
}

static void it_runs_apart(void **state)
{
    int inherited[2];

    (void)state;
    assert_int_equal(pipe(inherited), 0); /* not closed on exec */
    begin("cut -d ' ' -f 6 /proc/$$/stat >session; echo $$ >pid; echo \"$HOOK_VALUE $#\" >value\n"
          "ls /proc/$$/fd >fds",
          NEVER_S);
    setenv("HOOK_VALUE", "from muster", 1);
    put("a");
    until_idle();
    unsetenv("HOOK_VALUE");
    expect_file("value", "from muster 0\n");
    assert_int_equal(system("cmp -s session pid"), 0);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    assert_int_equal(system("! grep -qxE '[3-9]' fds"), 0); /* the shell has its script on 10 */
#endif
    close(inherited[0]);
    close(inherited[1]);
}

static void it_need_not_read(void **state)
{
    char *large = xmalloc(200001);

    (void)state;
    memset(large, 'x', 200000);
    large[200000] = '\0';
    begin("exit 0", NEVER_S);
    event_hook_put(test.hook, json_pack("{s:s, s:s}", "event", "a", "report", large));
    until_idle();
    write_program("wc -c >size");
    event_hook_put(test.hook, json_pack("{s:s, s:s}", "event", "a", "report", large));
    until_idle();
    expect_file("size", "200026\n");
    assert_string_equal(test.logged, "");
    free(large);
}

static void what_it_prints_is_in_the_log(void **state)
{
    (void)state;
    begin("read -r event; echo \"$event\"; printf 'a\\033[31m\\377\\n\\nlast' >&2", NEVER_S);
    put("a");
    put("b");
    until_idle();
    end();
    expect_file(EVENT_LOG_NAME, "a: {\"event\":\"a\"}\na: a^[[31m\\xff\na: \na: last\n"
                                "b: {\"event\":\"b\"}\nb: a^[[31m\\xff\nb: \nb: last\n");
}

static void the_first_failure_is_a_warning(void **state)
{
    (void)state;
    begin("echo no network; exit 3", NEVER_S);
    put("a");
    put("b");
    until_idle();
    end();
    assert_string_equal(test.logged,
                        "test: warning: --on-event ./told: event a: exit 3 (no network); "
                        "later failures are only in RUN/events.log\n");
    expect_file(EVENT_LOG_NAME, "a: no network\na: exit 3\nb: no network\nb: exit 3\n");
}

static void a_signal_is_a_failure(void **state)
{
    (void)state;
    begin("kill -SEGV $$", NEVER_S);
    put("a");
    until_idle();
    assert_non_null(strstr(test.logged, "event a: killed by signal 11 (Segmentation fault); "));
}

/* Begins with that program and one event, whose deadline passes; with a longer one, until the file
 * is there: a busy machine may have started the program late. */
static void hang(const char *program, const char *name)
{
    double run_s = SHORT_S;

    for (; access(name, F_OK) < 0; run_s *= 2) {
        end();
        test.logged[0] = '\0';
        begin(program, run_s);
        put("a");
        until_idle();
    }
    assert_non_null(strstr(test.logged, "event a: killed, since it had not exited after "));
}

/* In one process group, so that both are killed. */
static void one_that_hangs_is_killed(void **state)
{
    (void)state;
    hang("trap '' TERM; sleep 1000 & echo $! >new; mv new child; wait", "child");
    expect_gone("child");
    put("b");
    until_idle();
    end();
    assert_int_equal(system("grep -q 'b: killed' events.log"), 0);
}

static void term_is_enough(void **state)
{
    (void)state;
    hang("trap 'echo ended >term; exit 0' TERM; sleep 1000 & wait", "term");
    expect_file("term", "ended\n");
}

static void a_child_that_keeps_the_pipe_is_killed(void **state)
{
    (void)state;
    begin("sleep 1000 & echo $! >child; echo said", NEVER_S);
    put("a");
    until_idle();
    expect_gone("child");
    assert_string_equal(test.logged, "");
    end();
    expect_file(EVENT_LOG_NAME, "a: said\n");
}

/* It waits in its write() while muster does something else. */
static void one_that_prints_without_end_is_bounded(void **state)
{
    struct stat about;

    (void)state;
    begin("exec yes", 1);
    put("a");
    until_idle();
    end();
    assert_int_equal(stat(EVENT_LOG_NAME, &about), 0);
    assert_true(about.st_size <= EVENT_LOG_MAX);
    assert_non_null(strstr(test.logged, "event a: killed, since it had not exited after 1 s"));
}

static void the_log_is_bounded(void **state)
{
    struct stat about;

    (void)state;
    begin("read -r event; case $event in *b*) echo more ;; *) seq 200000 ;; esac", NEVER_S);
    put("a");
    put("b");
    until_idle();
    end();
    assert_int_equal(stat(EVENT_LOG_NAME, &about), 0);
    assert_true(about.st_size > EVENT_LOG_MAX - 100 && about.st_size <= EVENT_LOG_MAX);
    assert_int_equal(system("tail -n 1 events.log | grep -q 'file is full' && "
                            "[ \"$(grep -c 'file is full' events.log)\" = 1 ] && "
                            "! grep -q more events.log"), 0);
}

/* As when the run is resumed. */
static void a_full_log_stays_so(void **state)
{
    struct stat before, about;

    (void)state;
    begin("seq 200000", NEVER_S);
    put("a");
    until_idle();
    end();
    assert_int_equal(stat(EVENT_LOG_NAME, &before), 0);
    begin("echo more", NEVER_S);
    put("b");
    until_idle();
    end();
    assert_int_equal(stat(EVENT_LOG_NAME, &about), 0);
    assert_true(about.st_size == before.st_size);
}

static void the_log_continues(void **state)
{
    (void)state;
    begin("echo one", NEVER_S);
    put("a");
    until_idle();
    end();
    begin("echo two", NEVER_S);
    put("b");
    until_idle();
    end();
    expect_file(EVENT_LOG_NAME, "a: one\nb: two\n");
}

static void one_that_is_gone_counts(void **state)
{
    (void)state;
    begin("exit 0", NEVER_S);
    assert_int_equal(unlink("told"), 0);
    put("a");
    put("b");
    until_idle();
    write_program("cat >got");
    put("c");
    until_idle();
    expect_file("got", "{\"event\":\"c\",\"dropped\":2}\n");
    assert_string_equal(test.logged,
                        "test: warning: --on-event ./told: event a: cannot be started: No such "
                        "file or directory; later failures are only in RUN/events.log\n");
}

/* The launcher is needed elsewhere: nodes wait for its answers. */
static void launcher_does_not_wait_for_exec(void **state)
{
    (void)state;
    begin("cat >got", SHORT_S);
    does_exec_hang = true;
    put("a");
    event_base_loop(test.base, EVLOOP_ONCE); /* returns */
    does_exec_hang = false;
    until_idle();
    assert_int_equal(access("got", F_OK), -1);
    assert_string_equal(test.logged, "test: warning: --on-event ./told: event a: killed, since it "
                                     "had not exited after 0.2 s; later failures are only in "
                                     "RUN/events.log\n");
}

static void without_a_directory_output_is_dropped(void **state)
{
    const struct event_hook_limits limits = { NEVER_S, SHORT_S };

    (void)state;
    write_program("seq 100000; exit 1");
    test.hook = event_hook_new(test.base, "./told", NULL, -1, &limits);
    put("a");
    until_idle();
    assert_string_equal(test.logged, "test: warning: --on-event ./told: event a: exit 1 (100000); "
                                     "later failures are not shown\n");
    assert_int_equal(access(EVENT_LOG_NAME, F_OK), -1);
}

static void a_log_that_is_no_file(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(EVENT_LOG_NAME, 0600), 0);
    begin("echo text", NEVER_S);
    put("a");
    until_idle();
    assert_non_null(strstr(test.logged, "is not written to events.log: "));
}

static void the_last_event_gets_its_turn(void **state)
{
    (void)state;
    begin("read -r event; echo \"$event\" >>got; case $event in *a*) sleep 1000 ;; esac", NEVER_S);
    put("a");
    put("b");
    put("z");
    until_there("got");
    event_hook_hurry(test.hook);
    event_hook_hurry(test.hook); /* the last one is not hurried */
    until_idle();
    expect_file("got", "{\"event\":\"a\"}\n{\"event\":\"z\",\"dropped\":1}\n");
    assert_non_null(strstr(test.logged, "event a: killed, since the run has ended"));
}

static void what_runs_at_the_end_is_killed(void **state)
{
    (void)state;
    begin("echo $$ >child.new; mv child.new child; sleep 1000", NEVER_S);
    put("a");
    put("b");
    until_there("child");
    end();
    children_await(100);
    expect_gone("child");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_gets_its_event_in_order),
        TEST(it_runs_apart),
        TEST(it_need_not_read),
        TEST(what_it_prints_is_in_the_log),
        TEST(the_first_failure_is_a_warning),
        TEST(a_signal_is_a_failure),
        TEST(one_that_hangs_is_killed),
        TEST(term_is_enough),
        TEST(a_child_that_keeps_the_pipe_is_killed),
        TEST(one_that_prints_without_end_is_bounded),
        TEST(the_log_is_bounded),
        TEST(a_full_log_stays_so),
        TEST(the_log_continues),
        TEST(one_that_is_gone_counts),
        TEST(launcher_does_not_wait_for_exec),
        TEST(without_a_directory_output_is_dropped),
        TEST(a_log_that_is_no_file),
        TEST(the_last_event_gets_its_turn),
        TEST(what_runs_at_the_end_is_killed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
