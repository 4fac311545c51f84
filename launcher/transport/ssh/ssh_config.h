/* ssh_config.h - what the ssh config of the user says about one host
 *
 * Names in a hostfile are often aliases from ~/.ssh/config, so muster must read it as ssh does:
 * the first value of a keyword wins, lists add up, Host and Match select, Include nests. libssh
 * has a parser too, but it does not return the list of identity files, does not know
 * CertificateFile and HostKeyAlias, and refuses aliases with '_'.
 *
 * Not done: Match exec, canonical, final and the like count as not matching (negated ones too);
 * StrictHostKeyChecking accept-new is as strict as yes, since muster does not write known_hosts.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_CONFIG_H
#define MUSTER_SSH_CONFIG_H

#include <stdbool.h>

#include "err.h"
#include "strlist.h"
#include "transport/conn.h"

struct ssh_config {
    char *hostname; /* what to connect to */
    char *user;
    int   port;
    int   family;   /* AF_UNSPEC, AF_INET, AF_INET6 */

    struct strlist identity_files;   /* paths; they need not exist */
    bool           identities_named; /* by the config; else they are ssh's defaults */
    struct strlist certificate_files;
    char *identity_agent; /* socket path; "" for none; never NULL */

    struct strlist known_hosts; /* files, the user's first */
    char *host_key_alias;       /* NULL: none */
    bool  accept_unknown;       /* StrictHostKeyChecking no */

    char *proxy_command; /* expanded; NULL: none */
    char *ciphers, *kex, *macs, *host_keys, *key_types; /* NULL: not set */
};

/* Read target->ssh_config, or else ~/.ssh/config and /etc/ssh/ssh_config;
 * addr, user and port of target win over them. -1 with "file:line: why" in
 * err and config empty. */
int  ssh_config_read(struct ssh_config *config, const struct conn_target *target,
                     struct error *err);
void ssh_config_clear(struct ssh_config *config);

/* The same from text, for fuzzing and tests: no Include is followed. */
int  ssh_config_parse(struct ssh_config *config, const char *name, const char *text,
                      const struct conn_target *target, struct error *err);

#endif
