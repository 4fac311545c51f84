/* conn_libssh.h - one of the two ways in which conn_ssh.c reaches a host
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CONN_LIBSSH_H
#define MUSTER_CONN_LIBSSH_H

#include "transport/conn.h"
#include "transport/ssh/ssh_lookup.h"

/* Like conn_new_f, but takes ownership of host, which must not need OpenSSH. */
struct conn *conn_libssh_new(struct event_base *base, const struct conn_target *target,
                             struct ssh_host *host, const struct agent_file *agent,
                             const struct conn_ops *ops, void *arg);

#endif
