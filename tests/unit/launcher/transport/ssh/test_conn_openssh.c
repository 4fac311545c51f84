/* test_conn_openssh.c - a connection by OpenSSH's ssh: what conn_ssh.c must do, too
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "exit_code.h"
#include "ssh_client.h"
#include "transport/children.h"
#include "xalloc.h"

static int group_setup(void **state)
{
    client_kind = conn_openssh_new;
    return client_group_setup(state);
}

static void test_push_then_reuse(void **state)
{
    struct client c;

    NEEDS_SSHD();
    sshd_shell("rm -rf %s/home/.cache", server.dir);
    client_connect(&c);
    expect_open(&c);
    assert_string_equal(c.stages, "connect;open;");
    client_write(&c, "hello");
    c.stop_at = 5;
    client_run(&c);
    assert_memory_equal(evbuffer_pullup(c.got, -1), "hello", 5);
    client_clear(&c);
    assert_int_equal(sshd_shell("ls -i %s/home/.cache/muster/%s/muster-agent >%s/inode",
                                server.dir, agent.sha256, server.dir), 0);
    client_connect(&c);
    expect_open(&c);
    client_clear(&c);
    assert_int_equal(sshd_shell("ls -i %s/home/.cache/muster/%s/muster-agent | cmp -s - %s/inode",
                                server.dir, agent.sha256, server.dir), 0);
}

static void test_damaged_agent_is_replaced(void **state)
{
    struct client c;

    NEEDS_SSHD();
    client_connect(&c);
    expect_open(&c);
    client_clear(&c);
    assert_int_equal(sshd_shell("echo damaged >%s/home/.cache/muster/%s/muster-agent", server.dir,
                                agent.sha256), 0);
    client_connect(&c);
    expect_open(&c);
    client_clear(&c);
}

static void test_ends(void **state)
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
    use_agent("#!/bin/sh\necho \"$2\"; printf 'ou\\033[31mch\\n' >&2; exit 3\n");
    client_connect(&c);
    expect_failure(&c, "running", EXIT_LOST, "muster-agent exited with status 3: ou?[31mch");
    assert_false(c.why.is_cut);
    client_clear(&c);
    use_agent("#!/bin/sh\necho \"$2\"; kill -9 $$\n");
    client_connect(&c);
    expect_failure(&c, "running", EXIT_LOST, "muster-agent was killed by ");
    assert_false(c.why.is_cut);
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
    assert_true(c.why.is_cut);
    client_clear(&c);
}

static void test_refusals_have_their_stage(void **state)
{
    struct conn_target target;
    struct client      c;

    NEEDS_SSHD();
    sshd_client_config(&server, "IdentityFile /nonexistent\nIdentitiesOnly yes\nHost node\n");
    sshd_shell("mv %s/id %s/id.away", server.dir, server.dir);
    client_connect(&c);
    expect_failure(&c, "authenticate", EXIT_REFUSED, "Permission denied");
    client_clear(&c);
    sshd_shell("mv %s/id.away %s/id", server.dir, server.dir);
    sshd_client_config(&server, "UserKnownHostsFile /dev/null\nHost node\n");
    client_connect(&c);
    expect_failure(&c, "host key", EXIT_REFUSED, "Host key verification failed");
    client_clear(&c);
    sshd_client_config(&server, "");
    target = node_target();
    target.host = "no-such-host.invalid";
    client_start(&c, &target);
    expect_failure(&c, "resolve", EXIT_UNREACHABLE, "Could not resolve hostname");
    client_clear(&c);
    target = node_target();
    target.port = 1;
    client_start(&c, &target);
    expect_failure(&c, "connect", EXIT_UNREACHABLE, "refused");
    client_clear(&c);
    sshd_client_config(&server, "NoSuchKeyword yes\n");
    client_connect(&c);
    expect_failure(&c, "config", EXIT_DATA, "Bad configuration option");
    client_clear(&c);
}

static void test_shell_that_fails(void **state)
{
    struct client c;

    NEEDS_SSHD();
    use_shell("#!/bin/sh\necho maintenance tonight\nexit 7\n");
    client_connect(&c);
    expect_failure(&c, "agent", EXIT_PROTOCOL, "printed \"maintenance tonight\" and exited with "
                                               "status 7");
    client_clear(&c);
}

/* ssh says nothing then, as if it had been dropped: it is started once more, for more words. */
static void test_shell_that_is_killed(void **state)
{
    struct client c;

    NEEDS_SSHD();
    use_shell("#!/bin/sh\nkill -9 $$\n");
    client_connect(&c);
    expect_failure(&c, "agent", EXIT_PROTOCOL, "the login shell was killed by a signal");
    assert_string_equal(c.stages, "connect;connect;");
    client_clear(&c);
}

/* No descriptor and no process is left, wherever it is freed. */
static void test_free_at_any_time(void **state)
{
    struct client c;
    int           before, turns;

    NEEDS_SSHD();
    before = client_fds();
    for (turns = 1; turns < 30; turns++) {
        client_connect(&c);
        for (int n = 0; n < turns && !c.is_open; n++)
            event_base_loop(c.base, EVLOOP_ONCE);
        client_clear(&c);
        assert_int_equal(client_fds(), before);
    }
    children_await(10);
    assert_int_not_equal(sshd_shell("pgrep -P %d '^ssh$' >/dev/null", (int)getpid()), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_push_then_reuse),
        TEST(test_damaged_agent_is_replaced),
        TEST(client_test_bytes_both_ways),
        TEST(test_ends),
        TEST(test_connection_lost),
        TEST(test_refusals_have_their_stage),
        TEST(test_shell_that_fails),
        TEST(test_shell_that_is_killed),
        TEST(test_free_at_any_time),
    };

    signal(SIGPIPE, SIG_IGN); /* as in muster */
    return cmocka_run_group_tests(tests, group_setup, client_group_teardown);
}
