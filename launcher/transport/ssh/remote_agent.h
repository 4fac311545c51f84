/* remote_agent.h - the agent at the far end of an SSH session
 *
 * Opens a channel, has the login shell run the bootstrap script, pushes the
 * agent where it is missing or damaged, and is done when the nonce has come:
 * then stream carries frames.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REMOTE_AGENT_H
#define MUSTER_REMOTE_AGENT_H

#include <stdbool.h>

#include <libssh/libssh.h>

#include "transport/agent_file.h"
#include "transport/agent_start.h"
#include "transport/conn.h"
#include "transport/ssh/ssh_config.h"
#include "transport/ssh/ssh_stream.h"

#define REMOTE_TIMEOUT_S 20.0 /* for a login shell with a slow profile */

struct remote {
    ssh_session              session; /* NULL: not begun. This and the next four are borrowed */
    const struct ssh_config *config;
    const struct agent_file  *agent;
    const char              *host;    /* for the log */
    struct ssh_stream        stream;
    struct bootstrap         bootstrap;
    double                   timeout_s; /* grows when the agent must be pushed */
    bool is_channel_open, is_asked, is_running; /* steps that are behind us */
    bool is_leaving;   /* its input is closed: only its end is of interest */
    bool has_replaced; /* the agent in the node's cache was given up */
};

void remote_init(struct remote *remote, ssh_session session, const struct ssh_config *config,
                 const struct agent_file *agent, const char *host);
/* Before ssh_free(session). */
void remote_clear(struct remote *remote);

/* 1: the stream is open. 0: call again when the session has news. -1: see why. */
int remote_step(struct remote *remote, struct conn_failure *why);

/* The command at the far end shall end; go on taking steps, or turns of the stream, until it
 * has. False when there is none. */
bool remote_close_input(struct remote *remote);

/* Say in why what the shell did instead, when time is up. */
void remote_late(struct remote *remote, struct conn_failure *why);

/* After the stream has ended: 0 when the agent went with status 0, else -1 and why. */
int remote_ended(struct remote *remote, struct conn_failure *why);

#endif
