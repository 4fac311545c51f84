/* conn_sudo.h - a byte stream to an agent that is root
 *
 * A conn around another: it logs in as that one does and, if the agent there is not root, lets
 * sudo start another agent, whose frames are the first that the caller sees. Where sudo wants a
 * password, login.h has it, or asks for it. Its stage is "sudo".
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CONN_SUDO_H
#define MUSTER_CONN_SUDO_H

#include "transport/conn.h"

/* As conn_new_f; make makes the inner conn. purpose: for sudo's log on the node, copied. Fails with
 * 77 if the agent does not become root. */
struct conn *conn_sudo_new(conn_new_f *make, const char *purpose, struct event_base *base,
                           const struct conn_target *target, const struct agent_file *agent,
                           const struct conn_ops *ops, void *arg);

#endif
