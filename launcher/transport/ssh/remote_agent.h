/* remote_agent.h - starts the agent at the far end of an SSH session
 *
 * Opens a channel, has the login shell run the start script (agent_start.h), pushes the agent
 * if it is missing or damaged, and is done when the nonce has come. From then on stream carries
 * frames.
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

struct remote {
    ssh_session              session; /* NULL: not started. The first four are borrowed */
    const struct ssh_config *config;
    const struct agent_file *agent;
    const char              *host;    /* for the log */
    struct ssh_stream        stream;
    struct agent_start       start;
    size_t                   noise;     /* bytes that the login shell printed */
    double                   connect_timeout_s;
    double                   timeout_s; /* the limit for what the node does now */
    bool is_channel_open, is_asked, is_running; /* steps that are done */
    bool is_ending;    /* the command's input is closed: only its exit matters */
    enum agent_push push;
};

void remote_init(struct remote *remote, ssh_session session, const struct ssh_config *config,
                 const struct agent_file *agent, const char *host, double connect_timeout_s);
/* Call before ssh_free(session). */
void remote_clear(struct remote *remote);

/* Returns 1 if the stream is open; 0: call again when the session has news; -1: see why. */
int remote_step(struct remote *remote, struct conn_failure *why);

/* Makes the remote command exit. Continue with steps, or turns of the stream, until it has.
 * Returns false if there is none. */
bool remote_close_input(struct remote *remote);

/* Handle the deadline. They return true if a push goes on, or if the agent in the cache may hang:
 * continue with steps and another deadline. */
bool remote_push_goes_on(struct remote *remote);
bool remote_try_elsewhere(struct remote *remote);
/* If they return false: describes in why what the shell did instead. */
void remote_late(struct remote *remote, struct conn_failure *why);

/* Call after the stream has ended. Returns 0 if the agent exited with 0, otherwise -1 and
 * why. */
int remote_ended(struct remote *remote, struct conn_failure *why);

#endif
