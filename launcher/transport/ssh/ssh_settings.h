/* ssh_settings.h - the lines of ssh config files that apply to one host
 *
 * Raw words with the place that they came from: Host, Match and Include have been applied, and
 * the rule that the first value wins. ssh_config.c interprets them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_SETTINGS_H
#define MUSTER_SSH_SETTINGS_H

#include <stdbool.h>

#include "err.h"
#include "strlist.h"
#include "transport/conn.h"

#define INCLUDE_DEPTH_MAX 16 /* as in OpenSSH */
#define SYSTEM_DIR        "/etc/ssh"

enum keyword {
    KEY_HOST, KEY_MATCH, KEY_INCLUDE, /* these steer the reading */
    /* the first value wins */
    KEY_HOSTNAME, KEY_PORT, KEY_USER, KEY_ADDRESS_FAMILY, KEY_IDENTITY_AGENT,
    KEY_HOST_KEY_ALIAS, KEY_STRICT, KEY_CIPHERS, KEY_KEX, KEY_MACS, KEY_HOST_KEYS,
    KEY_KEY_TYPES, KEY_PROXY_COMMAND, KEY_PROXY_JUMP, KEY_USER_KNOWN_HOSTS,
    KEY_GLOBAL_KNOWN_HOSTS,
    /* these add up */
    KEY_IDENTITY_FILE, KEY_CERTIFICATE_FILE,
    KEY_COUNT
};

struct ssh_settings {
    const struct conn_target *target;
    struct strlist            value[KEY_COUNT];
    char                     *place[KEY_COUNT]; /* "file:line" of the first value */
    char *home, *local_user;

    /* while reading */
    const char *name; /* of the file */
    int         line;
    bool        is_system; /* relative Includes are under /etc/ssh */
    bool        is_active; /* the last Host or Match applies */
    int         depth;     /* of Include; INCLUDE_DEPTH_MAX: none allowed */
};

void ssh_settings_init(struct ssh_settings *settings, const struct conn_target *target);
void ssh_settings_clear(struct ssh_settings *settings);

/* Read a file; with must_exist false, one that is not there is an empty one. -1
 * with "file:line: why". */
int ssh_settings_read(struct ssh_settings *settings, const char *path, bool must_exist,
                      struct error *err);
/* The same from text, which is cut up. */
int ssh_settings_parse(struct ssh_settings *settings, const char *name, char *text,
                       struct error *err);

/* given unless NULL, else the first word set for key, else otherwise. */
const char *ssh_settings_get(const struct ssh_settings *settings, enum keyword key,
                             const char *given, const char *otherwise);

#endif
