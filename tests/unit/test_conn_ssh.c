/* test_conn_ssh.c - conn_ssh against a real sshd, with a script for an agent
 *
 * The stand-in agent writes its nonce as the real one does, then what the test
 * wants. One sshd serves all tests; its ForceCommand plays the login shell and
 * is exchanged by writing dir/shell.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <dirent.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "agentfile.h"
#include "bootstrap.h"
#include "clock.h"
#include "conn.h"
#include "exit_code.h"
#include "sshd.h"
#include "xalloc.h"

#define PATIENCE_S 30 /* nothing here takes longer on a busy machine */

#define ECHO_AGENT "#!/bin/sh\n[ \"$1\" = --nonce ] || exit 2\nn=$2\n" \
                   "[ \"$n\" != - ] || read -r n rest\necho \"$n\" && exec cat\n"

static struct sshd      server;
static struct agentfile agent;
static bool             has_server;

struct client {
    struct event_base *base;
    struct conn       *conn;
    struct event      *guard;
    struct evbuffer   *got;
    bool               is_open, is_closed, has_failed;
    struct conn_failure why;
    char               stages[256];
    const char        *free_at; /* stage to free the conn in */
    size_t             stop_at; /* bytes in got at which wait() returns */
};

/* ---- a client ---- */

static void stage_cb(const char *stage, void *arg)
{
    struct client *c = arg;
    size_t         used = strlen(c->stages);

    snprintf(c->stages + used, sizeof c->stages - used, "%s;", stage);
    if (c->free_at != NULL && strcmp(stage, c->free_at) == 0)
        event_base_loopbreak(c->base);
}

static void open_cb(void *arg)
{
    struct client *c = arg;

    c->is_open = true;
    event_base_loopbreak(c->base);
}

static void input_cb(struct evbuffer *in, void *arg)
{
    struct client *c = arg;

    evbuffer_add_buffer(c->got, in);
    if (evbuffer_get_length(c->got) >= c->stop_at)
        event_base_loopbreak(c->base);
}

static void closed_cb(const struct conn_failure *why, void *arg)
{
    struct client *c = arg;

    assert_false(c->is_closed);
    c->is_closed = true;
    c->has_failed = why != NULL;
    if (why != NULL)
        c->why = *why;
    conn_free(c->conn); /* as conn.h allows */
    c->conn = NULL;
    event_base_loopbreak(c->base);
}

static const struct conn_ops ops = {
    .stage = stage_cb, .open = open_cb, .input = input_cb, .closed = closed_cb
};

static void guard_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
    fprintf(stderr, "no event for %d s\n", PATIENCE_S);
    abort();
}

static void client_init(struct client *c, const struct conn_target *target)
{
    struct timeval limit = { .tv_sec = PATIENCE_S };

    *c = (struct client){ .stop_at = (size_t)-1 };
    c->base = event_base_new();
    c->got = evbuffer_new();
    c->guard = evtimer_new(c->base, guard_cb, c);
    evtimer_add(c->guard, &limit);
    c->conn = conn_ssh_new(c->base, target, &agent, &ops, c);
    conn_start(c->conn);
}

static struct conn_target node_target(void)
{
    static char config[128];

    snprintf(config, sizeof config, "%s/ssh_config", server.dir);
    return (struct conn_target){ .host = "node", .ssh_config = config, .connect_timeout_s = 20 };
}

static void connect_node(struct client *c)
{
    struct conn_target target = node_target();

    client_init(c, &target);
}

static void run(struct client *c)
{
    event_base_loop(c->base, EVLOOP_NO_EXIT_ON_EMPTY);
}

static void expect_open(struct client *c)
{
    run(c);
    if (!c->is_open)
        print_message("# %s: %s\n", c->why.stage, c->why.text);
    assert_true(c->is_open);
}

static void expect_closed(struct client *c)
{
    while (!c->is_closed)
        run(c);
}

static void expect_failure(struct client *c, const char *stage, int code, const char *text)
{
    expect_closed(c);
    assert_true(c->has_failed);
    if (strstr(c->why.text, text) == NULL || strcmp(c->why.stage, stage) != 0)
        print_message("# %s: %s (%s)\n", c->why.stage, c->why.text, c->why.hint);
    assert_string_equal(c->why.stage, stage);
    assert_non_null(strstr(c->why.text, text));
    assert_int_equal(c->why.exit_code, code);
}

static void client_clear(struct client *c)
{
    conn_free(c->conn);
    event_free(c->guard);
    evbuffer_free(c->got);
    event_base_free(c->base);
}

static void write_text(struct client *c, const char *text)
{
    struct evbuffer *from = evbuffer_new();

    evbuffer_add(from, text, strlen(text));
    conn_write(c->conn, from);
    assert_int_equal(evbuffer_get_length(from), 0);
    evbuffer_free(from);
}

/* Another agent. Its hash differs, so the next connection pushes it. */
static void use_agent(const char *script)
{
    struct error err;
    char        *path = xasprintf("%s/agent", server.dir);

    agentfile_clear(&agent);
    sshd_file(&server, "agent", 0700, "%s", script);
    if (agentfile_open(&agent, path, &err) < 0)
        fail_msg("%s", err.text);
    free(path);
}

/* What every login runs; $SSH_ORIGINAL_COMMAND is the remote command. */
static void use_shell(const char *script)
{
    sshd_file(&server, "shell", 0700, "%s", script);
}

static int setup(void **state)
{
    (void)state;
    if (!has_server)
        return 0;
    use_agent(ECHO_AGENT);
    use_shell("#!/bin/sh\nexec sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    sshd_client_config(&server, "");
    return 0;
}

#define NEEDS_SSHD()  \
    do {              \
        (void)state;  \
        if (!has_server) \
            skip();   \
    } while (0)

/* ---- what goes right ---- */

static void test_push_then_reuse(void **state)
{
    struct client c;

    NEEDS_SSHD();
    sshd_shell("rm -rf %s/home/.cache", server.dir);
    connect_node(&c);
    expect_open(&c);
    assert_string_equal(c.stages, "resolve;connect;key exchange;host key;authenticate;agent;open;");
    write_text(&c, "hello");
    c.stop_at = 5;
    run(&c);
    assert_memory_equal(evbuffer_pullup(c.got, -1), "hello", 5);
    client_clear(&c);
    assert_int_equal(sshd_shell("cd %s/home/.cache/muster && [ $(stat -c %%a . %s %s/muster-agent "
                                "| tr '\\n' ,) = 700,700,700, ] && ls -i %s/muster-agent >../inode",
                                server.dir, agent.sha256, agent.sha256, agent.sha256), 0);
    connect_node(&c);
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
    connect_node(&c);
    expect_open(&c);
    evbuffer_add(from, sent, TOTAL);
    conn_write(c.conn, from);
    assert_int_equal(conn_queued(c.conn), TOTAL);
    c.stop_at = TOTAL;
    run(&c);
    assert_memory_equal(evbuffer_pullup(c.got, -1), sent, TOTAL);
    assert_int_equal(conn_queued(c.conn), 0);
    client_clear(&c);
    evbuffer_free(from);
    free(sent);
}

static void test_end_in_order(void **state)
{
    struct client c;

    NEEDS_SSHD();
    use_agent("#!/bin/sh\necho \"$2\"; echo last words; exit 0\n");
    connect_node(&c);
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
    connect_node(&c);
    expect_failure(&c, "running", EXIT_LOST, "muster-agent exited with status 3: ou?[31mch");
    assert_int_equal(evbuffer_get_length(c.got), strlen("some output\n"));
    client_clear(&c);
    use_agent("#!/bin/sh\necho \"$2\"; kill -9 $$\n");
    connect_node(&c);
    expect_failure(&c, "running", EXIT_LOST, "muster-agent was killed by SIGKILL");
    client_clear(&c);
}

static void test_connection_lost(void **state)
{
    struct client c;

    NEEDS_SSHD();
    connect_node(&c);
    expect_open(&c);
    /* One process of sshd serves the connection, or two where it can split. */
    assert_int_equal(sshd_shell("for p in $(pgrep -P %d); do pkill -KILL -P $p '^sshd'; "
                                "kill -KILL $p; done; :", (int)server.pid), 0);
    expect_failure(&c, "running", EXIT_LOST, "connection lost");
    client_clear(&c);
}

/* ---- the dialogue of bootstrap.c, without a shell ---- */

/* The whole of it in pieces of every size: nothing depends on where they end. */
static void test_dialogue_in_pieces(void **state)
{
    static char         bytes[] = "agent's bytes";
    struct agentfile    pushed = { .bytes = bytes, .size = sizeof bytes, .sha256 = "abc" };
    struct conn_failure why;
    struct bootstrap    b;
    struct evbuffer    *in = evbuffer_new(), *out = evbuffer_new();
    char               *said, *opening;
    size_t              piece, at, n;
    int                 result, pushes;

    (void)state;
    for (piece = 1; piece < 200; piece++) {
        assert_int_equal(bootstrap_start(&b, &pushed, false, out), 0);
        opening = evbuffer_readln(out, NULL, EVBUFFER_EOL_LF);
        assert_int_equal(strlen(opening), strlen(b.nonce) + strlen(" abc 14"));
        /* noise, our line echoed, a cut nonce, then the two answers */
        said = xasprintf("welcome\n%s\n%.20s\nmore%s missing\nlast login%s\nFRAMES", opening,
                         b.nonce, b.nonce, b.nonce);
        result = BOOTSTRAP_MORE;
        pushes = 0;
        for (at = 0; at < strlen(said) && result != BOOTSTRAP_OPEN; at += n) {
            n = strlen(said) - at < piece ? strlen(said) - at : piece;
            evbuffer_add(in, said + at, n);
            while ((result = bootstrap_feed(&b, in, &why)) == BOOTSTRAP_PUSH)
                pushes++;
            assert_int_not_equal(result, BOOTSTRAP_FAILED);
        }
        evbuffer_add(in, said + at, strlen(said) - at);
        assert_int_equal(result, BOOTSTRAP_OPEN);
        assert_int_equal(pushes, 1);
        assert_int_equal(evbuffer_get_length(out), sizeof bytes);
        assert_int_equal(evbuffer_get_length(in), 6);
        assert_memory_equal(evbuffer_pullup(in, -1), "FRAMES", 6);
        evbuffer_drain(in, 6);
        evbuffer_drain(out, sizeof bytes);
        bootstrap_clear(&b);
        free(said);
        free(opening);
    }
    evbuffer_free(in);
    evbuffer_free(out);
}

static void test_command_is_one_word(void **state)
{
    const char *quoted = strchr(bootstrap_script, '\'');

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
    connect_node(&c);
    expect_open(&c);
    client_clear(&c);
    use_shell("#!/bin/sh\nhead -c 300000 /dev/zero; exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    connect_node(&c);
    expect_failure(&c, "agent", EXIT_PROTOCOL, "more than 256 KiB of noise");
    client_clear(&c);
}

static void test_shell_exits(void **state)
{
    struct client c;

    NEEDS_SSHD();
    use_shell("#!/bin/sh\necho 'This account is not available.'; exit 7\n");
    connect_node(&c);
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
        connect_node(&c);
        expect_open(&c);
        client_clear(&c);
        assert_int_equal(sshd_shell("cd %s/home/.cache/muster/%s && echo '%s' >muster-agent",
                                    server.dir, agent.sha256, damages[i]), 0);
        connect_node(&c);
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
    connect_node(&c);
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
    use_shell("#!/bin/sh\n" EMPTY "export XDG_CACHE_HOME=/proc/none XDG_RUNTIME_DIR=$HOME/../runtime\n"
              "exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    sshd_shell("mkdir -p %s/runtime", server.dir);
    connect_node(&c);
    expect_open(&c);
    client_clear(&c);
    assert_int_equal(sshd_shell("test -x %s/runtime/muster/%s/muster-agent", server.dir,
                                agent.sha256), 0);
}

static void test_cache_of_somebody_else(void **state)
{
    struct client c;

    NEEDS_SSHD();
    use_shell("#!/bin/sh\n" EMPTY "export XDG_CACHE_HOME=$HOME/planted XDG_RUNTIME_DIR=$HOME/../runtime\n"
              "exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    sshd_shell("cd %s && rm -rf runtime && mkdir -p runtime home/planted home/trap && "
               "ln -s ../trap home/planted/muster", server.dir);
    connect_node(&c);
    expect_open(&c);
    client_clear(&c);
    assert_int_equal(sshd_shell("cd %s && test -x runtime/muster/%s/muster-agent && "
                                "test ! -e home/trap/%s/muster-agent",
                                server.dir, agent.sha256, agent.sha256), 0);
}

static void test_agent_in_memory(void **state)
{
    struct client c;

    NEEDS_SSHD();
    if (sshd_shell("python3 -c 'import os; os.memfd_create' 2>/dev/null") != 0)
        skip();
    take_places(true);
    use_shell("#!/bin/sh\n" NOWHERE "exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    connect_node(&c);
    expect_open(&c);
    write_text(&c, "x");
    c.stop_at = 1;
    run(&c);
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
    connect_node(&c);
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
    connect_node(&c);
    expect_open(&c);
    client_clear(&c);
    assert_int_equal(sshd_shell("cd %s && test -x runtime2/muster/%s/muster-agent && "
                                "test -z \"$(find full -type f)\"", server.dir, agent.sha256),
                     0);
}

static void test_old_agents_go(void **state)
{
    struct client c;
    char          script[128];
    int           i;

    NEEDS_SSHD();
    sshd_shell("rm -rf %s/home/.cache; mkdir -p %s/home/.cache/muster/notes", server.dir,
               server.dir);
    for (i = 0; i < 6; i++) {
        snprintf(script, sizeof script, "%s# %d\n", ECHO_AGENT, i);
        use_agent(script);
        connect_node(&c);
        expect_open(&c);
        client_clear(&c);
    }
    assert_int_equal(sshd_shell("cd %s/home/.cache/muster && [ $(ls | wc -l) = 4 ] && "
                                "[ -d notes ] && [ -x %s/muster-agent ]",
                                server.dir, agent.sha256), 0);
}

/* ---- host keys ---- */

static void other_key(const char *type, const char *name)
{
    sshd_shell("cd %s && rm -f %s %s.pub && ssh-keygen -q -t %s -N '' -f %s", server.dir, name,
               name, type, name);
}

static void test_unknown_host_key(void **state)
{
    struct client c;

    NEEDS_SSHD();
    sshd_client_config(&server, "UserKnownHostsFile /dev/null");
    connect_node(&c);
    expect_failure(&c, "host key", EXIT_REFUSED, "ssh-ed25519 SHA256:");
    assert_non_null(strstr(c.why.hint, "ssh-keyscan -p"));
    client_clear(&c);
    sshd_client_config(&server, "UserKnownHostsFile /dev/null\nStrictHostKeyChecking accept-new");
    connect_node(&c);
    expect_failure(&c, "host key", EXIT_REFUSED, "not known");
    client_clear(&c);
    sshd_client_config(&server, "UserKnownHostsFile /dev/null\nStrictHostKeyChecking no");
    connect_node(&c);
    expect_open(&c);
    client_clear(&c);
}

static void test_changed_host_key(void **state)
{
    struct client c;
    char          lines[256];

    NEEDS_SSHD();
    other_key("ed25519", "other");
    sshd_shell("cd %s && echo '# first line' >changed && "
               "echo \"[127.0.0.1]:%d $(cut -d' ' -f1,2 other.pub)\" >>changed",
               server.dir, server.port);
    /* Off does not make a changed key pass: libssh's own check would. */
    snprintf(lines, sizeof lines, "UserKnownHostsFile %s/changed\nStrictHostKeyChecking no",
             server.dir);
    sshd_client_config(&server, lines);
    connect_node(&c);
    expect_failure(&c, "host key", EXIT_REFUSED, "has changed");
    assert_non_null(strstr(c.why.text, "/changed:2 has ssh-ed25519 SHA256:"));
    assert_non_null(strstr(c.why.hint, "ssh-keygen -R '[127.0.0.1]:"));
    client_clear(&c);
    sshd_shell("cd %s && cat known_hosts >>changed", server.dir);
    connect_node(&c);
    expect_open(&c); /* one of several keys is the right one */
    client_clear(&c);
    sshd_shell("cd %s && sed 's/^/@revoked /' known_hosts >>changed", server.dir);
    connect_node(&c);
    expect_failure(&c, "host key", EXIT_REFUSED, "revoked");
    client_clear(&c);
}

static void test_known_by_other_names(void **state)
{
    static const char *const names[] = { "127.0.0.1", "node", "node,elsewhere", "*.0.0.1" };
    struct client            c;
    char                     lines[256];
    size_t                   i;

    NEEDS_SSHD();
    snprintf(lines, sizeof lines, "UserKnownHostsFile %s/names", server.dir);
    sshd_client_config(&server, lines);
    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        sshd_shell("cd %s && printf '%s ' >names && cut -d' ' -f1,2 host_key.pub >>names",
                   server.dir, names[i]);
        if (strchr(names[i], '*') == NULL)
            sshd_shell("cd %s && ssh-keygen -q -H -f names >/dev/null 2>&1 && rm names.old",
                       server.dir);
        sshd_shell("cd %s && sed -i '1i malformed\\n' names", server.dir);
        connect_node(&c);
        expect_open(&c);
        client_clear(&c);
    }
    snprintf(lines, sizeof lines, "UserKnownHostsFile %s/names\nHostKeyAlias farm", server.dir);
    sshd_client_config(&server, lines);
    sshd_shell("cd %s && printf 'farm ' >names && cut -d' ' -f1,2 host_key.pub >>names",
               server.dir);
    connect_node(&c);
    expect_open(&c);
    client_clear(&c);
}

/* ---- logging in ---- */

static void test_key_refused(void **state)
{
    struct client c;
    char          lines[256];

    NEEDS_SSHD();
    other_key("ed25519", "other");
    sshd_client_config(&server, "");
    sshd_shell("cd %s && sed -i 's|IdentityFile .*|IdentityFile %s/other|' ssh_config", server.dir,
               server.dir);
    connect_node(&c);
    expect_failure(&c, "authenticate", EXIT_REFUSED, "/other; the server offers publickey)");
    assert_non_null(strstr(c.why.hint, "ssh-copy-id"));
    client_clear(&c);
    /* A refused key does not keep the next one from being tried. */
    snprintf(lines, sizeof lines, "IdentityFile %s/other\nIdentityFile %s/absent", server.dir,
             server.dir);
    sshd_client_config(&server, lines);
    connect_node(&c);
    expect_open(&c);
    client_clear(&c);
}

static void test_key_encrypted(void **state)
{
    struct client c;

    NEEDS_SSHD();
    sshd_shell("cd %s && rm -f locked* && ssh-keygen -q -t ed25519 -N secret -f locked && "
               "sed -i 's|IdentityFile .*|IdentityFile %s/locked|' ssh_config",
               server.dir, server.dir);
    connect_node(&c);
    expect_failure(&c, "authenticate", EXIT_REFUSED, "/locked is encrypted");
    assert_non_null(strstr(c.why.hint, "ssh-add"));
    client_clear(&c);
}

static void test_rsa_and_ecdsa(void **state)
{
    struct client c;
    char          lines[256];

    NEEDS_SSHD();
    other_key("rsa", "rsa");
    other_key("ecdsa", "ecdsa");
    sshd_shell("cd %s && cp id.pub id.pub.orig && cat rsa.pub >>id.pub", server.dir);
    snprintf(lines, sizeof lines, "IdentityFile %s/ecdsa\nIdentityFile %s/rsa\n", server.dir,
             server.dir);
    sshd_client_config(&server, lines);
    sshd_shell("cd %s && sed -i '/IdentityFile .*id$/d' ssh_config", server.dir);
    connect_node(&c);
    expect_open(&c);
    client_clear(&c);
    sshd_shell("cd %s && mv id.pub.orig id.pub", server.dir);
}

static void test_certificate(void **state)
{
    struct client c;

    NEEDS_SSHD();
    other_key("ed25519", "ca");
    other_key("ed25519", "signed");
    sshd_shell("cd %s && ssh-keygen -q -s ca -I muster -n $(id -un) signed.pub && "
               "cp id.pub id.pub.orig && echo \"cert-authority $(cat ca.pub)\" >id.pub && "
               "sed -i 's|IdentityFile .*|IdentityFile %s/signed|' ssh_config",
               server.dir, server.dir);
    connect_node(&c);
    expect_open(&c);
    client_clear(&c);
    sshd_shell("cd %s && mv id.pub.orig id.pub", server.dir);
}

static void test_ssh_agent(void **state)
{
    struct client c;
    char          lines[256];

    NEEDS_SSHD();
    sshd_shell("cd %s && ssh-agent -a $PWD/agent.sock >agent.env && . ./agent.env >/dev/null && "
               "ssh-add -q id", server.dir);
    snprintf(lines, sizeof lines, "IdentityAgent %s/agent.sock", server.dir);
    sshd_client_config(&server, lines);
    sshd_shell("cd %s && sed -i 's|IdentityFile .*|IdentityFile none|' ssh_config", server.dir);
    connect_node(&c);
    expect_open(&c);
    client_clear(&c);
    sshd_shell("cd %s && . ./agent.env >/dev/null && ssh-agent -k >/dev/null", server.dir);

    /* One that accepts and never answers must not hang us. */
    {
        struct conn_target target = node_target();
        int64_t            begin = clock_now_ns();

        sshd_shell("cd %s && sed -i 's|agent.sock|dead.sock|' ssh_config && "
                   "python3 -c 'import socket,sys,time; s=socket.socket(socket.AF_UNIX); "
                   "s.bind(\"dead.sock\"); s.listen(9); print(1,flush=True); time.sleep(20)' "
                   ">listening & p=$!; i=0; while [ ! -s %s/listening ] && [ $i -lt 500 ]; do "
                   "i=$((i+1)); sleep 0.01; done; echo $p >%s/listener",
                   server.dir, server.dir, server.dir);
        client_init(&c, &target);
        expect_failure(&c, "authenticate", EXIT_REFUSED, "does not answer");
        assert_true(clock_now_ns() - begin < 10 * NS_PER_S);
        client_clear(&c);
        sshd_shell("kill $(cat %s/listener)", server.dir);
    }
}

/* ---- reaching the node ---- */

static void test_nothing_listens(void **state)
{
    struct conn_target target = { .host = "127.0.0.9", .port = 1, .connect_timeout_s = 5,
                                  .ssh_config = "/dev/null" };
    struct client      c;

    (void)state;
    client_init(&c, &target);
    expect_failure(&c, "connect", EXIT_UNREACHABLE, "127.0.0.9 port 1: Connection refused");
    client_clear(&c);
}

static void test_name_not_known(void **state)
{
    struct conn_target target = { .host = "no_such-name.invalid", .connect_timeout_s = 20,
                                  .ssh_config = "/dev/null" };
    struct client      c;

    (void)state;
    client_init(&c, &target);
    expect_failure(&c, "resolve", EXIT_UNREACHABLE, "name not known: no_such-name.invalid");
    client_clear(&c);
}

static void test_no_such_config(void **state)
{
    struct conn_target target = { .host = "node", .ssh_config = "/no/such/file" };
    struct client      c;

    (void)state;
    client_init(&c, &target);
    expect_failure(&c, "resolve", EXIT_DATA, "/no/such/file");
    client_clear(&c);
}

/* localhost is ::1 as well on most machines, where this sshd does not listen. */
static void test_every_address(void **state)
{
    struct client c;
    char          lines[256];

    NEEDS_SSHD();
    snprintf(lines, sizeof lines, "HostName localhost\nHostKeyAlias [127.0.0.1]:%d", server.port);
    sshd_client_config(&server, lines);
    connect_node(&c);
    expect_open(&c);
    client_clear(&c);
}

/* The look-up goes on in its thread when its connection has gone. */
static void test_free_while_resolving(void **state)
{
    struct conn_target target = { .host = "localhost", .connect_timeout_s = 20,
                                  .ssh_config = "/dev/null" };
    struct client      c;
    int                i;

    (void)state;
    for (i = 0; i < 50; i++) {
        client_init(&c, &target);
        c.free_at = "resolve";
        run(&c);
        client_clear(&c);
    }
}

/* A server that accepts and then does what the test wants. */
struct listener {
    int           fd, port, accepted;
    struct event *readable;
    bool          hangs_up;
    int           kept;
};

static void accept_cb(evutil_socket_t fd, short what, void *arg)
{
    struct listener *l = arg;
    int              accepted = accept(fd, NULL, NULL);

    (void)what;
    l->accepted++;
    if (l->hangs_up)
        close(accepted);
    else
        l->kept = accepted;
}

static void listener_start(struct listener *l, bool hangs_up)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof address;

    *l = (struct listener){ .hangs_up = hangs_up, .kept = -1 };
    l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(l->fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(l->fd, 8), 0);
    assert_int_equal(getsockname(l->fd, (struct sockaddr *)&address, &size), 0);
    l->port = ntohs(address.sin_port);
}

static void listener_run(struct listener *l, struct client *c)
{
    l->readable = event_new(c->base, l->fd, EV_READ | EV_PERSIST, accept_cb, l);
    event_add(l->readable, NULL);
    expect_closed(c);
    event_free(l->readable);
    close(l->fd);
    if (l->kept >= 0)
        close(l->kept);
}

static void test_closed_before_banner(void **state)
{
    struct conn_target target = { .host = "127.0.0.1", .connect_timeout_s = 20,
                                  .ssh_config = "/dev/null" };
    struct listener    l;
    struct client      c;

    (void)state;
    listener_start(&l, true);
    target.port = l.port;
    client_init(&c, &target);
    listener_run(&l, &c);
    expect_failure(&c, "key exchange", EXIT_UNREACHABLE, "6 times in a row");
    assert_non_null(strstr(c.why.hint, "MaxStartups"));
    assert_int_equal(l.accepted, 6);
    client_clear(&c);
}

static void test_no_banner(void **state)
{
    struct conn_target target = { .host = "127.0.0.1", .connect_timeout_s = 0.3,
                                  .ssh_config = "/dev/null" };
    struct listener    l;
    struct client      c;

    (void)state;
    listener_start(&l, false);
    target.port = l.port;
    client_init(&c, &target);
    listener_run(&l, &c);
    expect_failure(&c, "key exchange", EXIT_UNREACHABLE, "no SSH banner within 0.3 s");
    assert_int_equal(l.accepted, 1);
    client_clear(&c);
}

static void test_proxy(void **state)
{
    struct client c;
    char          lines[512];

    NEEDS_SSHD();
    if (sshd_shell("command -v ssh >/dev/null") != 0)
        skip();
    snprintf(lines, sizeof lines, "Host far_node\n HostName 127.0.0.1\n ProxyJump hop\n"
             " HostKeyAlias [127.0.0.1]:%d\nHost hop\n HostName 127.0.0.1", server.port);
    sshd_client_config(&server, lines);
    {
        struct conn_target target = node_target();

        target.host = "far_node";
        client_init(&c, &target);
        expect_open(&c);
        client_clear(&c);
    }
    sshd_client_config(&server, "ProxyCommand echo no way through >&2; exit 9 %h");
    connect_node(&c);
    expect_failure(&c, "key exchange", EXIT_UNREACHABLE, "no way through");
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
        connect_node(&c);
        c.free_at = stages[i];
        run(&c);
        client_clear(&c);
        assert_int_equal(count_fds(), before);
    }
    /* and in between, wherever the turns of the loop end */
    for (turns = 1; turns < 40; turns++) {
        connect_node(&c);
        for (int n = 0; n < turns && !c.is_open; n++)
            event_base_loop(c.base, EVLOOP_ONCE);
        client_clear(&c);
        assert_int_equal(count_fds(), before);
    }
}

static int start_server(void **state)
{
    (void)state;
    if (!sshd_is_there())
        return 0;
    has_server = sshd_start(&server, "ForceCommand %s/shell");
    return has_server ? 0 : -1;
}

static int stop_server(void **state)
{
    (void)state;
    agentfile_clear(&agent);
    if (has_server)
        sshd_stop(&server);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
    const struct CMUnitTest tests[] = {
        TEST(test_push_then_reuse),
        TEST(test_bytes_both_ways),
        TEST(test_end_in_order),
        TEST(test_agent_fails),
        TEST(test_connection_lost),
        TEST(test_dialogue_in_pieces),
        TEST(test_command_is_one_word),
        TEST(test_noise),
        TEST(test_shell_exits),
        TEST(test_damaged_agent),
        TEST(test_bad_agent),
        TEST(test_cache_is_elsewhere),
        TEST(test_cache_of_somebody_else),
        TEST(test_agent_in_memory),
        TEST(test_no_place),
        TEST(test_second_place),
        TEST(test_old_agents_go),
        TEST(test_unknown_host_key),
        TEST(test_changed_host_key),
        TEST(test_known_by_other_names),
        TEST(test_key_refused),
        TEST(test_key_encrypted),
        TEST(test_rsa_and_ecdsa),
        TEST(test_certificate),
        TEST(test_ssh_agent),
        TEST(test_nothing_listens),
        TEST(test_name_not_known),
        TEST(test_no_such_config),
        TEST(test_every_address),
        TEST(test_free_while_resolving),
        TEST(test_closed_before_banner),
        TEST(test_no_banner),
        TEST(test_proxy),
        TEST(test_free_at_any_stage),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
