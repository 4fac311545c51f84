/* test_start_shell.c - a hung login shell is known by what it has not read
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup/start_shell.h"

#define NONCE  "0123456789abcdef0123456789abcdef"
#define HASH   NONCE NONCE
#define LINE   NONCE " " HASH " 5522504\n"

static void test_opening_line(void **state)
{
    static const struct {
        const char *text;
        bool        is_ours;
    } rows[] = {
        { LINE, true },
        { NONCE " " HASH " 1 again\n", true },
        { NONCE " " HASH " 1 elsewhere\n", true },
        { LINE "and what follows it", true },
        { "", false },
        { "\n", false },
        { "import torch\n", false },
        { NONCE, false },
        { NONCE " " HASH, false },
        { NONCE " " HASH " ", false },
        { NONCE " " HASH " \n", false },
        { NONCE " " HASH " 12", false },
        { NONCE " " HASH " x\n", false },
        { NONCE " " HASH " -1\n", false },
        { NONCE " " HASH " 1 soon\n", false },
        { NONCE " " HASH " 1  again\n", false },
        { NONCE "a " HASH " 1\n", false },
        { NONCE "  " HASH " 1\n", false },
        { NONCE " " HASH "0 1\n", false },
        { "0123456789ABCDEF0123456789abcdef " HASH " 1\n", false },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (start_shell_opening(rows[i].text, strlen(rows[i].text)) != rows[i].is_ours)
            fail_msg("row %zu: %s", i, rows[i].text);
    assert_false(start_shell_opening(NONCE "\0" HASH " 1\n", strlen(LINE)));
}

static pid_t hung(int input[2], const char *bytes)
{
    pid_t pid;

    assert_int_equal(write(input[1], bytes, strlen(bytes)), strlen(bytes));
    pid = fork();
    if (pid == 0) {
        dup2(input[0], STDIN_FILENO);
        pause();
        _exit(1);
    }
    close(input[1]);
    return pid;
}

/* dup2() may still be to come. */
static bool becomes_known(pid_t pid)
{
    int tries;

    for (tries = 0; tries < 1000; tries++) {
        if (start_shell_input(pid))
            return true;
        usleep(10000);
    }
    return false;
}

static void ends(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void assert_known(int input[2])
{
    char  text[sizeof LINE];
    pid_t pid = hung(input, LINE);

    assert_true(becomes_known(pid));
    assert_true(start_shell_input(pid)); /* looking has taken nothing */
    assert_int_equal(read(input[0], text, sizeof text), strlen(LINE));
    assert_memory_equal(text, LINE, strlen(LINE));
    assert_false(start_shell_input(pid));
    ends(pid);
    assert_false(start_shell_input(pid));
    close(input[0]);
}

static void test_input_is_looked_at(void **state)
{
    int input[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input), 0);
    assert_known(input);
    assert_int_equal(pipe(input), 0);
    assert_known(input);
}

/* Our parent is alive: whatever it has in its command, its sshd is not gone. */
static void test_others_are_left_alone(void **state)
{
    (void)state;
    assert_false(start_shell_has(getpid()));
    assert_false(start_shell_has(1));
    assert_false(start_shell_input(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opening_line),
        cmocka_unit_test(test_input_is_looked_at),
        cmocka_unit_test(test_others_are_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
