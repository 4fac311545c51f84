/* test_answer.c - what a program prints, or why there is no answer
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ask/answer.h"

#define LIMIT_S 1000 /* never reached */

static int ask(const char *script, int limit_s, size_t max, char **text, struct error *err)
{
    const char *argv[] = { "sh", "-c", script, NULL };
    size_t      size = 0;
    int         status = answer_ask(argv, limit_s, max, text, &size, err);

    if (*text != NULL)
        assert_int_equal(strlen(*text), size);
    return status;
}

static void an_answer_is_what_it_prints(void **state)
{
    static const struct {
        const char *script, *text;
    } cases[] = {
        { "echo te1; echo te2", "te1\nte2\n" },
        { "cat", "" }, /* it has no input */
        { "echo no >&2", "" },
        { "exec >&- 2>&-; exit 0", "" },
        { "sleep 1000 & echo te1", "te1\n" }, /* that one is not waited for */
        { "seq 100000 | wc -l", "100000\n" },
        { "seq 100000 >&2; echo x", "x\n" },
    };
    struct error err;
    char        *text;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (ask(cases[i].script, LIMIT_S, 4096, &text, &err) != 0)
            fail_msg("%s: %s", cases[i].script, err.text);
        assert_string_equal(text, cases[i].text);
        free(text);
    }
    assert_int_equal(ask("seq 200000", LIMIT_S, 4 << 20, &text, &err), 0);
    assert_int_equal(strlen(text), 1288895);
    free(text);
}

static void no_answer_says_why(void **state)
{
    static const struct {
        const char *script;
        int         status, limit_s;
        const char *why;
    } cases[] = {
        { "echo no such group >&2; exit 3", 3, LIMIT_S, "sh failed: no such group" },
        { "echo te1; exit 3", 3, LIMIT_S, "sh ended with status 3" },
        { "kill -9 $$", 128 + SIGKILL, LIMIT_S, "sh ended with status 137" },
        { "printf '\\033[2Jx\\n' >&2; exit 1", 1, LIMIT_S, "sh failed: ?[2Jx" },
        { "yes", ANSWER_NONE, LIMIT_S, "sh prints more than 4096 bytes" },
        { "exec sleep 1000", ANSWER_NONE, 1, "sh gave no answer within 1 s" },
        { "exec >&- 2>&-; exec sleep 1000", ANSWER_NONE, 1, "sh gave no answer within 1 s" },
    };
    const char  *argv[] = { "no-such-program", NULL };
    struct error err;
    char        *text;
    size_t       i, size;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = ask(cases[i].script, cases[i].limit_s, 4096, &text, &err);

        if (status != cases[i].status || strcmp(err.text, cases[i].why) != 0)
            fail_msg("%s: %d %s", cases[i].script, status, err.text);
        assert_null(text);
    }
    assert_int_equal(answer_ask(argv, LIMIT_S, 1, &text, &size, &err), ANSWER_CANNOT_RUN);
    assert_string_equal(err.text, "cannot run no-such-program: No such file or directory");
}

/* Returns the PID that a process has written into a pipe. */
static pid_t read_pid(int fd)
{
    char    text[32] = "";
    ssize_t n;

    do
        n = read(fd, text, sizeof text - 1);
    while (n < 0 && errno == EINTR);
    assert_true(n > 0);
    return (pid_t)strtol(text, NULL, 10);
}

/* Waits until all processes have closed the other end of the pipe. */
static void wait_for_end(int fd)
{
    char byte;

    while (read(fd, &byte, 1) > 0)
        ;
}

/* The program, and what it has started, hold the write end of a pipe. */
static void a_signal_ends_the_program_too(void **state)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    char             script[128], *text;
    int              pair[2], status;
    struct error     err;
    size_t           i;
    pid_t            pid;

    (void)state;
    for (i = 0; i < sizeof signals / sizeof *signals; i++) {
        assert_int_equal(pipe(pair), 0);
        snprintf(script, sizeof script, "sleep 1000 & sleep 1000 & echo $$ >&%d; wait", pair[1]);
        pid = fork();
        if (pid == 0) {
            signal(signals[i], SIG_DFL);
            ask(script, LIMIT_S, 4096, &text, &err);
            _exit(0);
        }
        close(pair[1]);
        assert_int_not_equal(read_pid(pair[0]), 0);
        kill(pid, signals[i]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        wait_for_end(pair[0]);
        close(pair[0]);
    }
}

/* As below nohup: the answer still comes. */
static void an_ignored_signal_changes_nothing(void **state)
{
    char         script[128], *text;
    int          ready[2], go[2], status;
    struct error err;
    pid_t        pid;

    (void)state;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    snprintf(script, sizeof script, "echo $$ >&%d; read x <&%d; echo te1", ready[1], go[0]);
    pid = fork();
    if (pid == 0) {
        signal(SIGHUP, SIG_IGN);
        _exit(ask(script, LIMIT_S, 4096, &text, &err) == 0 && strcmp(text, "te1\n") == 0 ? 7 : 1);
    }
    assert_int_not_equal(read_pid(ready[0]), 0);
    kill(pid, SIGHUP);
    assert_int_equal(write(go[1], "\n", 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    close(ready[0]);
    close(ready[1]);
    close(go[0]);
    close(go[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_what_it_prints),
        cmocka_unit_test(no_answer_says_why),
        cmocka_unit_test(a_signal_ends_the_program_too),
        cmocka_unit_test(an_ignored_signal_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
