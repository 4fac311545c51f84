/* handshake.h - from a host that was looked up to the agent there, by libssh
 *
 * Passes through the stages that conn.h names, with a deadline for each, until the agent has
 * answered with its nonce. The session and channel live as long as the connection: conn_ssh.c
 * uses them from there on.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HANDSHAKE_H
#define MUSTER_HANDSHAKE_H

#include <event2/event.h>

#include "transport/conn.h"
#include "transport/ssh/remote_agent.h"
#include "transport/ssh/ssh_lookup.h"

struct handshake;

struct handshake_ops {
    /* The next stage has begun. */
    void (*stage)(const char *stage, void *arg);
    /* One of these two ends it, as its last call. The stream of remote carries frames; the
     * handshake still owns remote, but no longer watches its socket. */
    void (*done)(struct remote *remote, void *arg);
    /* The callee may handshake_free(). */
    void (*failed)(const struct conn_failure *why, void *arg);
};

/* target is copied, agent is borrowed; host is taken over. */
struct handshake *handshake_new(struct event_base *base, const struct conn_target *target,
                                struct ssh_host *host, const struct agent_file *agent,
                                const struct handshake_ops *ops, void *arg);
/* May call failed() at once. */
void handshake_start(struct handshake *handshake);
/* Close the input of the command at the far end, so that it ends. False if there is none. */
bool handshake_close_input(struct handshake *handshake);
/* Ends the SSH session too. NULL is fine. */
void handshake_free(struct handshake *handshake);

#endif
