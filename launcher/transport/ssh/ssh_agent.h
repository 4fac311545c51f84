/* ssh_agent.h - is there an ssh agent, and does it hold keys?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_AGENT_H
#define MUSTER_SSH_AGENT_H

#include "err.h"

/* How many keys the agent at that socket has; -1 with the reason in err. Waits at most two
 * seconds; the answer for the last path is remembered, so that many connections ask once. path
 * "" is none. */
int ssh_agent_count(const char *path, struct error *err);

/* A connection to it, for ssh_set_agent_socket(). -1 with err. */
int ssh_agent_connect(const char *path, struct error *err);

#endif
