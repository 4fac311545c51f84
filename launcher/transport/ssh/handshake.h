/* handshake.h - the way from a host's settings to the agent there, by libssh
 *
 * Passes through the stages that conn.h names, each with a deadline, until the agent has
 * answered with its nonce. The session and channel live as long as the connection:
 * conn_libssh.c uses them afterwards.
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
    /* done() or failed() is the last call. After done() the stream of remote carries frames.
     * The handshake still owns remote, but no longer watches its socket. */
    void (*done)(struct remote *remote, void *arg);
    /* The callee may call handshake_free(). */
    void (*failed)(const struct conn_failure *why, void *arg);
};

/* target is copied, agent is borrowed. Takes ownership of host. */
struct handshake *handshake_new(struct event_base *base, const struct conn_target *target,
                                struct ssh_host *host, const struct agent_file *agent,
                                const struct handshake_ops *ops, void *arg);
/* May call failed() at once. */
void handshake_start(struct handshake *handshake);
/* Closes the input of the remote command, so that it exits. Returns false if there is none. */
bool handshake_close_input(struct handshake *handshake);
/* Also closes the SSH session. handshake may be NULL. */
void handshake_free(struct handshake *handshake);

#endif
