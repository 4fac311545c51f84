/* known_hosts.h - is the key of the server the one that the user knows?
 *
 * By the rules of OpenSSH, and nothing more. All entries of one host are gathered before the
 * key exchange, which then asks the server for a type of key that is known, and the server's
 * key is checked against them afterwards. The name is HostKeyAlias, else "host" or
 * "[host]:port"; without an alias, a name with a port for which no key is known may be known
 * without it. A key that differs from a known one of its type is always refused; an
 * unknown host is refused unless ssh config says StrictHostKeyChecking no. Nothing is ever
 * asked, and written only if login.h says so.
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
    bool    is_exact;   /* under the name itself, not under the one without a port */
    bool    is_revoked; /* @revoked: this very key is refused */
};

struct known_hosts {
    const struct ssh_config *config; /* borrowed */
    char                    *name;   /* as in known_hosts: "te1" or "[te1]:2222" */
    struct known_host       *entry;
    size_t                   count;
    bool                     has_authority; /* by @cert-authority: only OpenSSH can tell */
};

void known_hosts_find(struct known_hosts *known, const struct ssh_config *config);
void known_hosts_clear(struct known_hosts *known);

/* Before ssh_connect(): of the types of key that config allows, prefer those that are known. */
void known_hosts_prefer(const struct known_hosts *known, ssh_session session);

/* After it: 0, or -1 with fingerprints and what to do in why. */
int known_hosts_check(const struct known_hosts *known, ssh_session session,
                      struct conn_failure *why);

#endif
