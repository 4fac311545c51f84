/* test_signal_caught.c - who catches a signal, by what /proc says
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "node/signal_caught.h"

static void texts(void **state)
{
    static const struct {
        const char *status;
        int         signal;
        bool        is_caught;
    } rows[] = {
        { "Name:\tx\nSigIgn:\t0000000000000200\nSigCgt:\t0000000000000000\n", SIGUSR1, false },
        { "Name:\tx\nSigCgt:\t0000000000000200\n", SIGUSR1, true },
        { "Name:\tx\nSigCgt:\t0000000000000200\n", SIGUSR2, false },
        { "Name:\tx\nSigCgt:\t8000000000000000\n", 64, true },
        { "Name:\tSigCgt:\t0000000000000200\n", SIGUSR1, false },
        { "Name:\tx\nSigCgt:\t", SIGUSR1, false },
        { "Name:\tx\nSigCgt:\tzz\n", SIGUSR1, false },
        { "Name:\tx\nSigCgt:\tffffffffffffffff\n", 0, false },
        { "Name:\tx\nSigCgt:\tffffffffffffffff\n", 65, false },
        { "", SIGUSR1, false },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        if (signal_is_caught(rows[i].status, rows[i].signal) != rows[i].is_caught)
            fail_msg("row %zu: %s", i, rows[i].status);
}

static void note(int number)
{
    _exit(number);
}

/* A parent that does not catch it, a child that does, and a grandchild that has inherited that. */
static void topmost(void **state)
{
    struct processes all;
    int              up[2], status;
    char             byte;
    pid_t            parent, child;

    (void)state;
    assert_int_equal(pipe(up), 0);
    parent = fork();
    if (parent == 0) {
        child = fork();
        if (child == 0) {
            signal(SIGUSR1, note);
            child = getpid();
            if (fork() == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (getppid() != child)
                    _exit(0); /* it has ended before that */
            } else {
                (void)!write(up[1], "", 1);
            }
            for (;;)
                pause();
        }
        waitpid(child, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 255);
    }
    assert_int_equal(read(up[0], &byte, 1), 1);
    processes_all(&all);
    assert_int_equal(signal_caught(&all, parent, SIGUSR2), 0);
    assert_int_equal(signal_catchers(&all, parent, SIGUSR2), 0);
    assert_int_equal(signal_catchers(&all, parent, SIGUSR1), 1); /* nothing is sent */
    assert_int_equal(signal_caught(&all, parent, SIGUSR1), 1);
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_int_equal(WEXITSTATUS(status), SIGUSR1);
    processes_clear(&all);
}

/* A process that blocks a signal, has it pending, and handles another one. */
static void threads(void **state)
{
    struct signal_threads found;
    sigset_t              usr1;
    pid_t                 child;
    int                   up[2];
    char                  byte;

    (void)state;
    assert_int_equal(pipe(up), 0);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigemptyset(&usr1);
        sigaddset(&usr1, SIGUSR1);
        sigprocmask(SIG_BLOCK, &usr1, NULL);
        (void)!write(up[1], "", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(up[0], &byte, 1), 1);
    signal_threads_read(&found, child, SIGUSR1);
    assert_int_equal(found.all, 1);
    assert_int_equal(found.blocking, 1);
    assert_false(found.is_pending);
    kill(child, SIGUSR1);
    signal_threads_read(&found, child, SIGUSR1);
    assert_true(found.is_pending);
    signal_threads_read(&found, child, SIGUSR2);
    assert_int_equal(found.blocking, 0);
    assert_false(found.is_pending);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    signal_threads_read(&found, child, SIGUSR1);
    assert_int_equal(found.all, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(threads),
        cmocka_unit_test(topmost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
