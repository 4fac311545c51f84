/* ssh_lookup.h - all there is to know about a host before a connection to it
 *
 * What ssh config says, by our own reader or by ssh itself; the keys by which known_hosts knows
 * it; and whether libssh can follow all that, or OpenSSH must make the connection.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_LOOKUP_H
#define MUSTER_SSH_LOOKUP_H

#include <event2/event.h>

#include "transport/conn.h"
#include "transport/ssh/known_hosts.h"
#include "transport/ssh/ssh_config.h"

/* Does not move: known refers to config. */
struct ssh_host {
    struct ssh_config  config; /* needs_openssh: by OpenSSH, for that reason */
    struct known_hosts known;
};

void ssh_host_free(struct ssh_host *host); /* NULL is fine */

struct ssh_lookup;

/* target and its strings stay until it is over. done comes once, perhaps within ssh_lookup_start():
 * the host is the callee's, or NULL, and why says it. */
struct ssh_lookup *ssh_lookup_new(struct event_base *base, const struct conn_target *target,
                                  void (*done)(struct ssh_host *host,
                                               const struct conn_failure *why, void *arg),
                                  void *arg);
void               ssh_lookup_start(struct ssh_lookup *lookup);
void               ssh_lookup_free(struct ssh_lookup *lookup); /* NULL is fine */

#endif
