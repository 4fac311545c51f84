/* ssh_client.h - one connection to a real sshd, for tests
 *
 * A group of tests has one sshd, whose ForceCommand plays the login shell, and an agent that is
 * a script: it writes its nonce as the real one does, then what the test wants. Both can be
 * exchanged; before each test they are as usual: a shell that does as it is told, an agent that
 * echoes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TEST_SSH_CLIENT_H
#define MUSTER_TEST_SSH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "sshd.h"
#include "transport/agent_file.h"
#include "transport/conn.h"

#define ECHO_AGENT "#!/bin/sh\n[ \"$1\" = --nonce ] || exit 2\nn=$2\n" \
                   "[ \"$n\" != - ] || read -r n rest\necho \"$n\" && exec cat\n"

extern struct sshd      server;
extern bool             has_server;
/* Which connection is tested; conn_ssh_new at first. */
extern conn_new_f      *client_kind;
extern struct agent_file agent;

struct client {
    struct event_base *base;
    struct conn       *conn;
    struct event      *guard;
    struct evbuffer   *got;
    bool               is_open, is_closed, has_failed;
    struct conn_failure why;
    char               stages[256];
    const char        *free_at; /* client_run() returns at this stage */
    size_t             stop_at; /* ... or with so many bytes in got */
};

/* For cmocka: of a group, and before each test. */
int client_group_setup(void **state);
int client_group_teardown(void **state);
int client_setup(void **state);

#define TEST(name) cmocka_unit_test_setup(name, client_setup)

#define NEEDS_SSHD()     \
    do {                 \
        (void)state;     \
        if (!has_server) \
            skip();      \
    } while (0)

/* Another agent. Its hash differs, so the next connection pushes it. */
void use_agent(const char *script);
/* What every login runs; $SSH_ORIGINAL_COMMAND is the remote command. */
void use_shell(const char *script);

struct conn_target node_target(void);

void client_start(struct client *c, const struct conn_target *target);
void client_connect(struct client *c); /* to node_target() */
/* Until it is open or closed, or what free_at and stop_at say. */
void client_run(struct client *c);
void client_write(struct client *c, const char *text);
void client_clear(struct client *c);

void expect_open(struct client *c);
void expect_closed(struct client *c);
void expect_failure(struct client *c, const char *stage, int code, const char *text);

/* What comes of a connection. */
struct end {
    const char *stage; /* NULL: it opens */
    int         code;
    const char *text, *hint; /* NULL: any */
};

/* ... and clears the client. */
void expect_end(struct client *c, const struct end *end);
/* A new connection opens, or fails so. */
void expect_opens(void);
void expect_fails(const char *stage, int code, const char *text, const char *hint);

/* A new pair of keys, dir/NAME and dir/NAME.pub. */
void other_key(const char *type, const char *name);

/* A test of either kind of connection: 8 MiB there and back. */
void client_test_bytes_both_ways(void **state);
/* SIGKILL to the sshd of every connection. */
void client_kill_sessions(void);
/* Descriptors that this process has open. */
int client_fds(void);

#endif
