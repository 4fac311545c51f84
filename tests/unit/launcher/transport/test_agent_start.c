/* test_agent_start.c - login shells, and where the agent is put on a node
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "exit_code.h"
#include "ssh/ssh_client.h"
#include "transport/agent_start.h"
#include "xalloc.h"

/* ---- the dialogue of agent_start.c, without a shell ---- */

/* The whole of it in pieces of every size: nothing depends on where they end. */
static void test_dialogue_in_pieces(void **state)
{
    static char         bytes[] = "agent's bytes";
    struct agent_file   pushed = { .bytes = bytes, .size = sizeof bytes, .sha256 = "abc" };
    struct conn_failure why;
    struct agent_start  b;
    struct evbuffer    *in = evbuffer_new(), *out = evbuffer_new();
    char               *said, *opening;
    size_t              piece, at, n;
    int                 result, pushes;

    (void)state;
    for (piece = 1; piece < 200; piece++) {
        assert_int_equal(agent_start_begin(&b, &pushed, PUSH_IF_MISSING, out), 0);
        opening = evbuffer_readln(out, NULL, EVBUFFER_EOL_LF);
        assert_int_equal(strlen(opening), strlen(b.nonce) + strlen(" abc 14"));
        /* noise, our line echoed, a cut nonce, then the two answers */
        said = xasprintf("welcome\n%s\n%.20s\nmore%s missing\nlast login%s\nFRAMES", opening,
                         b.nonce, b.nonce, b.nonce);
        result = AGENT_START_MORE;
        pushes = 0;
        for (at = 0; at < strlen(said) && result != AGENT_START_OPEN; at += n) {
            n = strlen(said) - at < piece ? strlen(said) - at : piece;
            evbuffer_add(in, said + at, n);
            while ((result = agent_start_feed(&b, in, &why)) == AGENT_START_PUSH)
                pushes++;
            assert_int_not_equal(result, AGENT_START_FAILED);
        }
        evbuffer_add(in, said + at, strlen(said) - at);
        assert_int_equal(result, AGENT_START_OPEN);
        assert_int_equal(pushes, 1);
        assert_int_equal(evbuffer_get_length(out), sizeof bytes);
        assert_int_equal(evbuffer_get_length(in), 6);
        assert_memory_equal(evbuffer_pullup(in, -1), "FRAMES", 6);
        evbuffer_drain(in, 6);
        evbuffer_drain(out, sizeof bytes);
        agent_start_clear(&b);
        free(said);
        free(opening);
    }
    evbuffer_free(in);
    evbuffer_free(out);
}

/* The size gives a push 3 s in all, at the rate that is least. */
static void test_push_goes_on(void **state)
{
    static char         bytes[] = "agent's bytes";
    struct agent_file   pushed = { .bytes = bytes, .size = 12 * 1024, .sha256 = "abc" };
    struct evbuffer    *in = evbuffer_new(), *out = evbuffer_new();
    struct agent_start  b;
    struct conn_failure why;

    (void)state;
    assert_int_equal(agent_start_begin(&b, &pushed, PUSH_IF_MISSING, out), 0);
    assert_false(agent_start_goes_on(&b, 1000)); /* the shell is late */
    evbuffer_add_printf(in, "%s missing\n", b.nonce);
    assert_int_equal(agent_start_feed(&b, in, &why), AGENT_START_PUSH);
    assert_true(agent_start_goes_on(&b, 1000));
    assert_true(agent_start_goes_on(&b, 999));
    assert_false(agent_start_goes_on(&b, 999));
    assert_true(agent_start_goes_on(&b, 0));
    assert_false(agent_start_goes_on(&b, 0)); /* now the shell is late */
    b.pushed_ns -= 3 * NS_PER_S;
    assert_false(agent_start_goes_on(&b, 500));
    agent_start_clear(&b);
    evbuffer_free(in);
    evbuffer_free(out);
}

static void test_command_is_one_word(void **state)
{
    const char *quoted = strchr(agent_start_script, '\'');

    (void)state;
    assert_non_null(quoted);
    assert_int_equal(strcspn(quoted + 1, "'!\\\n"), strlen(quoted + 1) - 1);
}

/* ---- login shells ---- */

static void test_noise(void **state)
{
    struct client c;

    NEEDS_SSHD();
    use_shell("#!/bin/sh\nhead -c 200000 /dev/urandom; echo noise >&2; printf 'no newline'\n"
              "exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    client_connect(&c);
    expect_open(&c);
    client_clear(&c);
    use_shell("#!/bin/sh\nhead -c 300000 /dev/zero; exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    client_connect(&c);
    expect_failure(&c, "agent", EXIT_PROTOCOL, "more than 256 KiB of noise");
    client_clear(&c);
}

static void test_shell_exits(void **state)
{
    struct client c;

    NEEDS_SSHD();
    use_shell("#!/bin/sh\necho 'This account is not available.'; exit 7\n");
    client_connect(&c);
    expect_failure(&c, "agent", EXIT_PROTOCOL,
                   "printed \"This account is not available.\" and exited with status 7");
    client_clear(&c);
}

static void test_damaged_agent(void **state)
{
    static const char *const damages[] = { "exit 1", "#!/no/such/interpreter", "kill -9 $$" };
    struct client            c;
    size_t                   i;

    NEEDS_SSHD();
    for (i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        client_connect(&c);
        expect_open(&c);
        client_clear(&c);
        assert_int_equal(sshd_shell("cd %s/home/.cache/muster/%s && echo '%s' >muster-agent",
                                    server.dir, agent.sha256, damages[i]), 0);
        client_connect(&c);
        expect_open(&c);
        client_clear(&c);
        assert_int_equal(sshd_shell("cmp -s %s %s/home/.cache/muster/%s/muster-agent", agent.path,
                                    server.dir, agent.sha256), 0);
    }
}

static void test_bad_agent(void **state)
{
    struct client c;

    NEEDS_SSHD();
    use_agent("#!/bin/sh\necho cannot run here >&2; exit 5\n");
    client_connect(&c);
    expect_failure(&c, "agent", EXIT_PROTOCOL, "\"cannot run here\" and exited with status 5");
    assert_non_null(strstr(c.why.hint, "processor"));
    client_clear(&c);
}

/* ---- places for the agent ---- */

/* Every directory is unusable in its own way; then only memory is left, and
 * without Python nothing. */
#define EMPTY   "rm -rf \"$HOME/.cache/muster\"\n" /* where the agent is found first */
#define NOWHERE EMPTY "export XDG_CACHE_HOME=/proc/none XDG_RUNTIME_DIR=/sys TMPDIR=/dev/null\n" \
                "export LOGNAME=taken\n"

static void take_places(bool take)
{
    sshd_shell(take ? "touch /tmp/muster-taken /dev/shm/muster-taken"
                    : "rm -f /tmp/muster-taken /dev/shm/muster-taken");
}

static void test_cache_is_elsewhere(void **state)
{
    struct client c;

    NEEDS_SSHD();
    use_shell("#!/bin/sh\n" EMPTY
              "export XDG_CACHE_HOME=/proc/none XDG_RUNTIME_DIR=$HOME/../runtime\n"
              "exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    sshd_shell("mkdir -p %s/runtime", server.dir);
    client_connect(&c);
    expect_open(&c);
    client_clear(&c);
    assert_int_equal(sshd_shell("test -x %s/runtime/muster/%s/muster-agent", server.dir,
                                agent.sha256), 0);
}

static void test_cache_of_somebody_else(void **state)
{
    struct client c;

    NEEDS_SSHD();
    use_shell("#!/bin/sh\n" EMPTY
              "export XDG_CACHE_HOME=$HOME/planted XDG_RUNTIME_DIR=$HOME/../runtime\n"
              "exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    sshd_shell("cd %s && rm -rf runtime && mkdir -p runtime home/planted home/trap && "
               "ln -s ../trap home/planted/muster", server.dir);
    client_connect(&c);
    expect_open(&c);
    client_clear(&c);
    assert_int_equal(sshd_shell("cd %s && test -x runtime/muster/%s/muster-agent && "
                                "test -z \"$(ls -A home/trap)\"",
                                server.dir, agent.sha256), 0);
}

/* An agent is there, and would start; but somebody else may have put it there. */
static void test_usual_place_of_somebody_else(void **state)
{
    static const char *const plants[] = {
        "mv ../muster ../../trap && ln -s ../trap ../muster",
        "mv $h ../../trap && ln -s ../../trap $h",
        "mv $h/muster-agent ../../trap && ln -s ../../../trap $h/muster-agent",
        "chown 65534 .",
        "chown 65534 $h",
        "chown 65534 $h/muster-agent",
    };
    struct client c;
    size_t        i;

    NEEDS_SSHD();
    use_shell("#!/bin/sh\nexport XDG_RUNTIME_DIR=$HOME/../runtime\nunset XDG_CACHE_HOME\n"
              "exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    for (i = 0; i < sizeof plants / sizeof plants[0] - (getuid() != 0 ? 3 : 0); i++) {
        sshd_shell("cd %s && rm -rf home/trap home/.cache runtime && mkdir -p runtime",
                   server.dir);
        client_connect(&c);
        expect_open(&c);
        client_clear(&c);
        assert_int_equal(sshd_shell("cd %s/home/.cache/muster && h=%s && "
                                    "sed -i '2i touch %s/trapped' $h/muster-agent && %s",
                                    server.dir, agent.sha256, server.dir, plants[i]), 0);
        client_connect(&c);
        expect_open(&c);
        client_clear(&c);
        assert_int_equal(sshd_shell("test ! -e %s/trapped", server.dir), 0);
    }
    sshd_shell("cd %s && rm -rf home/trap home/.cache runtime", server.dir);
}

static void test_agent_in_memory(void **state)
{
    struct client c;

    NEEDS_SSHD();
    if (sshd_shell("python3 -c 'import os; os.memfd_create' 2>/dev/null") != 0)
        skip();
    take_places(true);
    use_shell("#!/bin/sh\n" NOWHERE "exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    client_connect(&c);
    expect_open(&c);
    client_write(&c, "x");
    c.stop_at = 1;
    client_run(&c);
    take_places(false);
    client_clear(&c);
}

static void test_no_place(void **state)
{
    struct client c;

    NEEDS_SSHD();
    sshd_shell("cd %s && mkdir -p bin && for p in sh mkdir chmod rm cat head wc; do "
               "ln -sf $(command -v $p) bin; done", server.dir);
    take_places(true);
    use_shell("#!/bin/sh\n" NOWHERE "PATH=$HOME/../bin exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    client_connect(&c);
    expect_failure(&c, "agent", EXIT_CREATE, "/proc/none/muster: cannot be made");
    assert_non_null(strstr(c.why.hint, "XDG_CACHE_HOME"));
    take_places(false);
    client_clear(&c);
}

/* The first place takes the bytes and then fails: they are sent once more. */
static void test_second_place(void **state)
{
    struct client c;

    NEEDS_SSHD();
    sshd_shell("cd %s && rm -rf once && mkdir -p bin2 runtime2", server.dir);
    sshd_file(&server, "bin2/mv", 0755, "#!/bin/sh\n[ -e %s/once ] && exec /bin/mv \"$@\"\n"
              "echo x >%s/once; exit 1\n", server.dir, server.dir);
    use_shell("#!/bin/sh\nexport PATH=$HOME/../bin2:$PATH XDG_RUNTIME_DIR=$HOME/../runtime2\n"
              "export XDG_CACHE_HOME=$HOME/../full\n"
              "exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    client_connect(&c);
    expect_open(&c);
    client_clear(&c);
    assert_int_equal(sshd_shell("cd %s && test -x runtime2/muster/%s/muster-agent && "
                                "test ! -e full/muster", server.dir, agent.sha256), 0);
}

/* The session ends while the agent comes; and what a session left that could not clean up. Only
 * this shell keeps the pipe open: when it ends, the script hears the end of its input. */
static void test_cut_push_leaves_nothing(void **state)
{
    (void)state;
    NEEDS_SSHD();
    sshd_file(&server, "start", 0755, "#!/bin/sh\n%s\n", agent_start_script);
    assert_int_equal(
        sshd_shell("cd %s && mkdir cut && mkfifo cut/in && exec 3<>cut/in && "
                   "echo %032d abc 100 >&3\n"
                   "HOME=$PWD/cut XDG_CACHE_HOME= setsid sh start <cut/in >cut/out 2>&1 3<&- & "
                   "for try in $(seq 100); do [ -e cut/.cache/muster/abc/.%032d ] && break; "
                   "sleep 0.1; done; [ -e cut/.cache/muster/abc/.%032d ] || exit 1; "
                   "kill -TERM -$!; wait $!; [ -d cut/.cache ] && [ ! -e cut/.cache/muster ]",
                   server.dir, 0, 0, 0), 0);
}

/* The agent in the cache has not answered: another place, and the file goes. */
static void test_elsewhere(void **state)
{
    (void)state;
    NEEDS_SSHD();
    sshd_file(&server, "start", 0755, "#!/bin/sh\n%s\n", agent_start_script);
    assert_int_equal(
        sshd_shell("cd %s && mkdir -p hung/run && "
                   "printf '#!/bin/sh\necho started\n' >hung/agent && "
                   "hash=$(sha256sum <hung/agent | cut -c1-64) && old=hung/.cache/muster/$hash && "
                   "mkdir -p $old && printf '#!/bin/sh\nsleep 1000\n' >$old/muster-agent && "
                   "chmod 755 $old/muster-agent && "
                   "{ echo %032d $hash $(wc -c <hung/agent) elsewhere; cat hung/agent; } | "
                   "HOME=$PWD/hung XDG_CACHE_HOME= XDG_RUNTIME_DIR=$PWD/hung/run sh start | "
                   "grep -qx started && [ -x hung/run/muster/$hash/muster-agent ] && "
                   "for try in $(seq 100); do [ ! -e $old/muster-agent ] && break; "
                   "sleep 0.1; done; "
                   "[ ! -e $old/muster-agent ]", server.dir, 0), 0);
}

static void test_old_agents_go(void **state)
{
    struct client c;
    char          script[128];
    int           i;

    NEEDS_SSHD();
    sshd_shell("rm -rf %s/home/.cache; cd %s/home && mkdir -p .cache/muster/notes && "
               "touch -d yesterday .cache/muster/notes/.%032d && touch .cache/muster/notes/.%032d",
               server.dir, server.dir, 0, 1);
    for (i = 0; i < 6; i++) {
        snprintf(script, sizeof script, "%s# %d\n", ECHO_AGENT, i);
        use_agent(script);
        client_connect(&c);
        expect_open(&c);
        client_clear(&c);
    }
    assert_int_equal(sshd_shell("cd %s/home/.cache/muster && [ $(ls | wc -l) = 4 ] && "
                                "[ $(ls -A notes) = .%032d ] && [ -x %s/muster-agent ]",
                                server.dir, 1, agent.sha256), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_dialogue_in_pieces),
        TEST(test_push_goes_on),
        TEST(test_command_is_one_word),
        TEST(test_noise),
        TEST(test_shell_exits),
        TEST(test_damaged_agent),
        TEST(test_bad_agent),
        TEST(test_cache_is_elsewhere),
        TEST(test_cache_of_somebody_else),
        TEST(test_usual_place_of_somebody_else),
        TEST(test_agent_in_memory),
        TEST(test_no_place),
        TEST(test_second_place),
        TEST(test_cut_push_leaves_nothing),
        TEST(test_elsewhere),
        TEST(test_old_agents_go),
    };

    return cmocka_run_group_tests(tests, client_group_setup, client_group_teardown);
}
