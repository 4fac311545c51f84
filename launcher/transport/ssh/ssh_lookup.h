/* ssh_lookup.h - everything that muster must know about a host before it connects
 *
 * These are the settings in ssh config, read by our own reader or by ssh itself; the host's
 * keys in known_hosts; and whether libssh can follow all of this, or OpenSSH must make the
 * connection.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_LOOKUP_H
#define MUSTER_SSH_LOOKUP_H

#include <event2/event.h>

#include "transport/conn.h"
#include "transport/ssh/known_hosts.h"
#include "transport/ssh/ssh_config.h"

/* The struct must not move: known points into config. */
struct ssh_host {
    struct ssh_config  config; /* needs_openssh: why OpenSSH must connect */
    struct known_hosts known;
};

void ssh_host_free(struct ssh_host *host); /* NULL is fine */

struct ssh_lookup;

/* target and its strings must stay valid until ssh_lookup_free(). done is called once, perhaps
 * within ssh_lookup_start(). The callee owns host; if host is NULL, see why. */
struct ssh_lookup *ssh_lookup_new(struct event_base *base, const struct conn_target *target,
                                  void (*done)(struct ssh_host *host,
                                               const struct conn_failure *why, void *arg),
                                  void *arg);
void               ssh_lookup_start(struct ssh_lookup *lookup);
void               ssh_lookup_free(struct ssh_lookup *lookup); /* NULL is fine */

#endif
