/* test_conn_ssh.c - an open connection over a real sshd, and how it ends
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
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

static void test_bytes_both_ways(void **state)
{
    enum { TOTAL = 8 << 20 };
    struct client    c;
    struct evbuffer *from = evbuffer_new();
    unsigned char   *sent = xmalloc(TOTAL);
    size_t           i;

    NEEDS_SSHD();
    for (i = 0; i < TOTAL; i++)
        sent[i] = (unsigned char)(i * 2654435761u >> 13);
    client_connect(&c);
    expect_open(&c);
    evbuffer_add(from, sent, TOTAL);
    conn_write(c.conn, from);
    c.stop_at = TOTAL;
    client_run(&c);
    assert_memory_equal(evbuffer_pullup(c.got, -1), sent, TOTAL);
    client_clear(&c);
    evbuffer_free(from);
    free(sent);
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
    /* One process of sshd serves the connection, or two where it can split. */
    assert_int_equal(sshd_shell("for p in $(pgrep -P %d); do pkill -KILL -P $p '^sshd'; "
                                "kill -KILL $p; done; :", (int)server.pid), 0);
    expect_failure(&c, "running", EXIT_LOST, "connection lost");
    client_clear(&c);
}

/* ---- leaving early ---- */

static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int  count = 0;

    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static void test_free_at_any_stage(void **state)
{
    static const char *const stages[] = { "resolve", "connect", "key exchange", "host key",
                                          "authenticate", "agent", "open" };
    struct client            c;
    size_t                   i;
    int                      before, turns;

    NEEDS_SSHD();
    before = count_fds();
    for (i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        client_connect(&c);
        c.free_at = stages[i];
        client_run(&c);
        client_clear(&c);
        assert_int_equal(count_fds(), before);
    }
    /* and in between, wherever the turns of the loop end */
    for (turns = 1; turns < 40; turns++) {
        client_connect(&c);
        for (int n = 0; n < turns && !c.is_open; n++)
            event_base_loop(c.base, EVLOOP_ONCE);
        client_clear(&c);
        assert_int_equal(count_fds(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_push_then_reuse),
        TEST(test_bytes_both_ways),
        TEST(test_end_in_order),
        TEST(test_agent_fails),
        TEST(test_connection_lost),
        TEST(test_free_at_any_stage),
    };

    return cmocka_run_group_tests(tests, client_group_setup, client_group_teardown);
}
