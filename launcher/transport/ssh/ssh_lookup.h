/* ssh_lookup.h - everything about a host that must be known before it is connected
 *
 * What ssh config says, by our own reader or by ssh itself; the keys that known_hosts has for
 * the host; and whether libssh can follow all that, or OpenSSH must make the connection.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_LOOKUP_H
#define MUSTER_SSH_LOOKUP_H

#include <event2/event.h>

#include "transport/conn.h"
#include "transport/ssh/known_hosts.h"
#include "transport/ssh/ssh_config.h"

/* Must not move: known points into config. */
struct ssh_host {
    struct ssh_config  config; /* needs_openssh: OpenSSH must connect, for that reason */
    struct known_hosts known;
};

void ssh_host_free(struct ssh_host *host); /* NULL is fine */

struct ssh_lookup;

/* target and its strings must stay valid until the end. done is called once, perhaps within
 * ssh_lookup_start(): the callee owns the host; if it is NULL, see why. */
struct ssh_lookup *ssh_lookup_new(struct event_base *base, const struct conn_target *target,
                                  void (*done)(struct ssh_host *host,
                                               const struct conn_failure *why, void *arg),
                                  void *arg);
void               ssh_lookup_start(struct ssh_lookup *lookup);
void               ssh_lookup_free(struct ssh_lookup *lookup); /* NULL is fine */

#endif
