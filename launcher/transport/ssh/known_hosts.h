/* known_hosts.h - is the key of the server the one that the user knows?
 *
 * All known_hosts entries of one host are gathered before the key exchange, which then asks the
 * server for a type of key that is known, and the server's key is checked against them
 * afterwards. A key that differs from a known one of its type is always refused; an unknown host
 * is refused unless ssh config says StrictHostKeyChecking no. Nothing is ever written or asked.
 *
 * libssh could check this itself, but names no file and line, gives up on a file at the first
 * malformed line, and accepts a changed key with StrictHostKeyChecking no.
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
    bool    is_exact;   /* under the name and port that we connect to, not under the alias */
    bool    is_revoked; /* @revoked: this very key is refused */
};

struct known_hosts {
    const struct ssh_config *config; /* borrowed */
    char                    *name;   /* as in known_hosts: "te1" or "[te1]:2222" */
    struct known_host       *entry;
    size_t                   count;
};

/* alias: the name in the hostfile; a key that is known under it is accepted as well. */
void known_hosts_find(struct known_hosts *known, const struct ssh_config *config,
                      const char *alias);
void known_hosts_clear(struct known_hosts *known);

/* Before ssh_connect(): prefer the types of key that are known. */
void known_hosts_prefer(const struct known_hosts *known, ssh_session session);

/* After it: 0, or -1 with fingerprints and what to do in why. */
int known_hosts_check(const struct known_hosts *known, ssh_session session,
                      struct conn_failure *why);

#endif
