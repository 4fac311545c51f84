/* known_hosts.h - is the key of the server the one that the user knows?
 *
 * Follows exactly the rules of OpenSSH. All entries of a host are gathered before the key
 * exchange, which then asks the server for a known type of key. Afterwards the server's key is
 * checked against the entries. The name is HostKeyAlias, or else "host" or "[host]:port".
 * Without an alias, a name with a port for which no key is known may be known without the port.
 * A key that differs from a known one of its type is always refused. An unknown host is refused
 * unless ssh config has StrictHostKeyChecking no. muster never prompts, and writes to the file
 * only if login.h allows it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_KNOWN_HOSTS_H
#define MUSTER_KNOWN_HOSTS_H

#include <libssh/libssh.h>

#include "transport/conn.h"
#include "transport/ssh/ssh_config.h"

struct known_host {
    ssh_key key;
    char   *file;
    int     line;
    bool    is_exact;   /* under the name itself, not under the name without a port */
    bool    is_revoked; /* @revoked: this key is refused */
};

struct known_hosts {
    const struct ssh_config *config; /* borrowed */
    char                    *name;   /* as in known_hosts: "te1" or "[te1]:2222" */
    struct known_host       *entry;
    size_t                   count;
    bool                     has_authority; /* by @cert-authority: only OpenSSH can check */
};

void known_hosts_find(struct known_hosts *known, const struct ssh_config *config);
void known_hosts_clear(struct known_hosts *known);

/* Call before ssh_connect(). Of the key types that config allows, prefers the known ones. */
void known_hosts_prefer(const struct known_hosts *known, ssh_session session);

/* Call after ssh_connect(). Returns 0, or -1 with fingerprints and advice in why. */
int known_hosts_check(const struct known_hosts *known, ssh_session session,
                      struct conn_failure *why);

#endif
