/* ssh_client.c - see ssh_client.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ssh_client.h"
#include "xalloc.h"

#define PATIENCE_S 150 /* only what never comes is waited for this long */

struct sshd      server;
bool             has_server;
conn_new_f      *client_kind = conn_ssh_new;
struct agent_file agent;

int client_group_setup(void **state)
{
    (void)state;
    if (!sshd_is_there())
        return 0;
    has_server = sshd_start(&server, "ForceCommand %s/shell");
    return has_server ? 0 : -1;
}

int client_group_teardown(void **state)
{
    (void)state;
    agent_file_clear(&agent);
    if (has_server)
        sshd_stop(&server);
    return 0;
}

int client_setup(void **state)
{
    (void)state;
    if (!has_server)
        return 0;
    use_agent(ECHO_AGENT);
    use_shell("#!/bin/sh\nexec sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    sshd_client_config(&server, "");
    return 0;
}

void use_agent(const char *script)
{
    struct error err;
    char        *path = xasprintf("%s/agent", server.dir);

    agent_file_clear(&agent);
    sshd_file(&server, "agent", 0700, "%s", script);
    if (agent_file_open(&agent, path, &err) < 0)
        fail_msg("%s", err.text);
    free(path);
}

void use_shell(const char *script)
{
    sshd_file(&server, "shell", 0700, "%s", script);
}

/* ---- what the connection says ---- */

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

/* ---- what the test asks for ---- */

struct conn_target node_target(void)
{
    static char config[128];

    snprintf(config, sizeof config, "%s/ssh_config", server.dir);
    return (struct conn_target){ .host = "node", .ssh_config = config, .connect_timeout_s = 100 };
}

void client_start(struct client *c, const struct conn_target *target)
{
    struct timeval limit = { .tv_sec = PATIENCE_S };

    *c = (struct client){ .stop_at = (size_t)-1 };
    c->base = event_base_new();
    c->got = evbuffer_new();
    c->guard = evtimer_new(c->base, guard_cb, c);
    evtimer_add(c->guard, &limit);
    c->conn = client_kind(c->base, target, &agent, &ops, c);
    conn_start(c->conn);
}

void client_connect(struct client *c)
{
    struct conn_target target = node_target();

    client_start(c, &target);
}

void client_run(struct client *c)
{
    event_base_loop(c->base, EVLOOP_NO_EXIT_ON_EMPTY);
}

void client_write(struct client *c, const char *text)
{
    struct evbuffer *from = evbuffer_new();

    evbuffer_add(from, text, strlen(text));
    conn_write(c->conn, from);
    assert_int_equal(evbuffer_get_length(from), 0);
    evbuffer_free(from);
}

void client_clear(struct client *c)
{
    conn_free(c->conn);
    event_free(c->guard);
    evbuffer_free(c->got);
    event_base_free(c->base);
}

void expect_open(struct client *c)
{
    client_run(c);
    if (!c->is_open)
        print_message("# %s: %s\n", c->why.stage, c->why.text);
    assert_true(c->is_open);
}

void expect_closed(struct client *c)
{
    while (!c->is_closed)
        client_run(c);
}

void expect_failure(struct client *c, const char *stage, int code, const char *text)
{
    expect_closed(c);
    assert_true(c->has_failed);
    if (strstr(c->why.text, text) == NULL || strcmp(c->why.stage, stage) != 0)
        print_message("# %s: %s (%s)\n", c->why.stage, c->why.text, c->why.hint);
    assert_string_equal(c->why.stage, stage);
    assert_non_null(strstr(c->why.text, text));
    assert_int_equal(c->why.exit_code, code);
}

/* ---- what holds for every kind ---- */

void client_test_bytes_both_ways(void **state)
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

void client_kill_sessions(void)
{
    /* One process of sshd serves the connection, or two where it can split. */
    assert_int_equal(sshd_shell("for p in $(pgrep -P %d); do pkill -KILL -P $p '^sshd'; "
                                "kill -KILL $p; done; :", (int)server.pid), 0);
}

int client_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int  count = 0;

    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

void expect_end(struct client *c, const struct end *end)
{
    if (end->stage == NULL)
        expect_open(c);
    else
        expect_failure(c, end->stage, end->code, end->text);
    if (end->hint != NULL)
        assert_non_null(strstr(c->why.hint, end->hint));
    client_clear(c);
}

void expect_opens(void)
{
    struct client c;

    client_connect(&c);
    expect_end(&c, &(struct end){ 0 });
}

void expect_fails(const char *stage, int code, const char *text, const char *hint)
{
    struct client c;

    client_connect(&c);
    expect_end(&c, &(struct end){ stage, code, text, hint });
}

void other_key(const char *type, const char *name)
{
    sshd_shell("cd %s && rm -f %s %s.pub && ssh-keygen -q -t %s -N '' -f %s", server.dir, name,
               name, type, name);
}
