/* test_conn_ssh.c - an open connection over a real sshd, and how it ends
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exit_code.h"
#include "ssh_client.h"
#include "xalloc.h"

/* ---- what goes right ---- */

static void test_push_then_reuse(void **state)
{
    struct client c;

    NEEDS_SSHD();
    sshd_shell("rm -rf %s/home/.cache", server.dir);
    client_connect(&c);
    expect_open(&c);
    assert_string_equal(c.stages, "resolve;connect;key exchange;host key;authenticate;agent;open;");
    client_write(&c, "hello");
    c.stop_at = 5;
    client_run(&c);
    assert_memory_equal(evbuffer_pullup(c.got, -1), "hello", 5);
    client_clear(&c);
    assert_int_equal(sshd_shell("cd %s/home/.cache/muster && [ $(stat -c %%a . %s %s/muster-agent "
                                "| tr '\\n' ,) = 700,700,700, ] && ls -i %s/muster-agent >../inode",
                                server.dir, agent.sha256, agent.sha256, agent.sha256), 0);
    client_connect(&c);
    expect_open(&c);
    client_clear(&c);
    assert_int_equal(sshd_shell("cd %s/home/.cache/muster && ls -i %s/muster-agent | "
                                "cmp -s - ../inode", server.dir, agent.sha256), 0);
    assert_int_equal(sshd_shell("[ -z \"$(find %s/home -name '.*' -type f)\" ]", server.dir), 0);
}

static void test_end_in_order(void **state)
{
    struct client c;

    NEEDS_SSHD();
    use_agent("#!/bin/sh\necho \"$2\"; echo last words; exit 0\n");
    client_connect(&c);
    expect_closed(&c);
    assert_true(c.is_open);
    assert_false(c.has_failed);
    assert_memory_equal(evbuffer_pullup(c.got, -1), "last words\n", 11);
    client_clear(&c);
}

static void test_agent_fails(void **state)
{
    struct client c;

    NEEDS_SSHD();
    use_agent("#!/bin/sh\necho \"$2\"; echo some output; printf 'ou\\033[31mch\\n' >&2; exit 3\n");
    client_connect(&c);
    expect_failure(&c, "running", EXIT_LOST, "muster-agent exited with status 3: ou?[31mch");
    assert_int_equal(evbuffer_get_length(c.got), strlen("some output\n"));
    client_clear(&c);
    use_agent("#!/bin/sh\necho \"$2\"; kill -9 $$\n");
    client_connect(&c);
    expect_failure(&c, "running", EXIT_LOST, "muster-agent was killed by SIGKILL");
    client_clear(&c);
    use_agent("#!/bin/sh\necho \"$2\"; kill -40 $$\n"); /* sshd: SIG@openssh.com */
    client_connect(&c);
    expect_failure(&c, "running", EXIT_LOST, "muster-agent was killed by a signal");
    client_clear(&c);
    use_agent("#!/bin/sh\necho \"$2\"; exit 137\n"); /* as a login shell says the same */
    client_connect(&c);
    expect_failure(&c, "running", EXIT_LOST, "muster-agent was killed by SIGKILL");
    client_clear(&c);
}

static void test_connection_lost(void **state)
{
    struct client c;

    NEEDS_SSHD();
    client_connect(&c);
    expect_open(&c);
    client_kill_sessions();
    expect_failure(&c, "running", EXIT_LOST, "connection lost");
    client_clear(&c);
}

/* ---- leaving early ---- */

static void test_free_at_any_stage(void **state)
{
    static const char *const stages[] = { "resolve", "connect", "key exchange", "host key",
                                          "authenticate", "agent", "open" };
    struct client            c;
    size_t                   i;
    int                      before, turns;

    NEEDS_SSHD();
    before = client_fds();
    for (i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        client_connect(&c);
        c.free_at = stages[i];
        client_run(&c);
        client_clear(&c);
        assert_int_equal(client_fds(), before);
    }
    /* and in between, wherever the turns of the loop end */
    for (turns = 1; turns < 40; turns++) {
        client_connect(&c);
        for (int n = 0; n < turns && !c.is_open; n++)
            event_base_loop(c.base, EVLOOP_ONCE);
        client_clear(&c);
        assert_int_equal(client_fds(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_push_then_reuse),
        TEST(client_test_bytes_both_ways),
        TEST(test_end_in_order),
        TEST(test_agent_fails),
        TEST(test_connection_lost),
        TEST(test_free_at_any_stage),
    };

    return cmocka_run_group_tests(tests, client_group_setup, client_group_teardown);
}
