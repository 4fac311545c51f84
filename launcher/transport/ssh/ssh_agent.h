/* ssh_agent.h - is there an ssh agent, and does it hold keys?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_AGENT_H
#define MUSTER_SSH_AGENT_H

#include "err.h"

/* Returns how many keys the agent at the socket path has; -1 with the reason in err. Waits at
 * most two seconds. Remembers the answer for the last path, so that many connections ask once.
 * path "": there is no agent. */
int ssh_agent_count(const char *path, struct error *err);

/* Connects to the agent, for ssh_set_agent_socket(). Returns -1 with err. */
int ssh_agent_connect(const char *path, struct error *err);

#endif
