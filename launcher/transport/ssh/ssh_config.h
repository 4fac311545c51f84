/* ssh_config.h - the settings of one host in the user's ssh config
 *
 * Names in a hostfile are often aliases from ~/.ssh/config, so muster reads it as ssh does, and
 * is never less strict. If the reader of ssh_settings.h does not know a construct exactly,
 * muster asks ssh (ssh -G). If libssh cannot follow a setting exactly, ssh makes the connection
 * (needs_openssh).
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
    bool           identities_named; /* named by the config; if not, ssh's defaults */
    bool           identities_only;  /* use no key of the agent */
    struct strlist certificate_files;
    char *identity_agent; /* socket path; "" for none; never NULL */

    struct strlist known_hosts; /* files, the user's first */
    char *host_key_alias;       /* NULL: none */
    bool  accept_unknown;       /* StrictHostKeyChecking no */

    char *proxy_command; /* expanded; NULL: none */
    char *proxy_name;    /* the same for all hosts behind the same proxy; NULL: none */
    char *ciphers, *kex, *macs, *host_keys, *key_types; /* NULL: not set */
    int   rsa_bits;                                     /* minimum RSA key size; 0: not set */

    char *needs_openssh; /* why only ssh itself can reach this host; NULL: libssh can, too */
};

/* Reads target->ssh_config, or else ~/.ssh/config and /etc/ssh/ssh_config; addr, user and port
 * of target override them. If the reader does not understand a line, *doubt describes it (the
 * caller frees it), config is empty and the caller must ask ssh; otherwise *doubt is NULL.
 * Returns -1 with "file:line: why" in err and an empty config. */
int  ssh_config_read(struct ssh_config *config, const struct conn_target *target, char **doubt,
                     struct error *err);
void ssh_config_clear(struct ssh_config *config);

/* Reads the answer of ssh -G instead. */
int  ssh_config_answer(struct ssh_config *config, const char *answer,
                       const struct conn_target *target, struct error *err);

/* Reads text instead of files, for fuzzing and tests. */
int  ssh_config_parse(struct ssh_config *config, const char *name, const char *text,
                      const struct conn_target *target, char **doubt, struct error *err);

/* Returns the versions of all files that ssh reads for target, as text (the caller frees it);
 * NULL if it is not certain which files these are. */
char *ssh_config_stamp(const struct conn_target *target);

#endif
