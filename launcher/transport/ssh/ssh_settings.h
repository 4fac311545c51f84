/* ssh_settings.h - the lines of ssh config files that apply to one host
 *
 * The settings are raw words with their origin. Host, Include and the rule that the first value
 * wins have been applied. ssh_config.c interprets the words.
 *
 * muster must never be less strict than ssh. Therefore this reader knows a few constructs
 * exactly, and reports the place of anything else (doubt): an unknown keyword, a quote, Match,
 * a value that ssh may refuse. muster then asks ssh (ssh -G, ssh_query.h), and this reader
 * reads the answer, too.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_SETTINGS_H
#define MUSTER_SSH_SETTINGS_H

#include <stdbool.h>

#include "buffer.h"
#include "err.h"
#include "strlist.h"
#include "transport/conn.h"

#define INCLUDE_DEPTH_MAX 16 /* as in OpenSSH */
#define SYSTEM_DIR        "/etc/ssh"

enum keyword {
    KEY_HOST, KEY_INCLUDE, /* these control what is read */
    /* the first value wins */
    KEY_HOSTNAME, KEY_PORT, KEY_USER, KEY_ADDRESS_FAMILY, KEY_IDENTITY_AGENT,
    KEY_IDENTITIES_ONLY, KEY_HOST_KEY_ALIAS, KEY_STRICT, KEY_CHECK_IP, KEY_PROXY_COMMAND,
    KEY_PROXY_JUMP,
    KEY_USER_KNOWN_HOSTS, KEY_GLOBAL_KNOWN_HOSTS,
    KEY_IDENTITY_FILE, /* these accumulate */
    /* only in ssh's answer */
    KEY_CERTIFICATE_FILE,
    KEY_CIPHERS, KEY_KEX, KEY_MACS, KEY_HOST_KEYS, KEY_KEY_TYPES, KEY_RSA_SIZE,
    KEY_PUBKEY, KEY_PREFERRED, KEY_KNOWN_HOSTS_COMMAND, KEY_REVOKED, KEY_DNS, KEY_PKCS11,
    KEY_BIND_ADDRESS, KEY_BIND_INTERFACE, KEY_FDPASS, KEY_REKEY,
    KEY_IGNORED, /* muster does not need it, but a bad value matters */
    KEY_COUNT
};

struct ssh_settings {
    const struct conn_target *target;
    struct strlist            value[KEY_COUNT];
    char                     *place[KEY_COUNT]; /* "file:line" of the first value */
    char *home, *local_user;
    char *doubt; /* NULL: all lines were understood; otherwise "file:line: what was not" */

    /* while reading */
    const char *name; /* name of the file */
    int         line;
    bool        is_system; /* relative Includes are under /etc/ssh */
    bool        is_users;  /* ~/.ssh/config: ssh refuses it if others can write to it */
    bool        is_active; /* the last Host or Match applies */
    int         depth;     /* of Include; INCLUDE_DEPTH_MAX: no Include is allowed */
};

void ssh_settings_init(struct ssh_settings *settings, const struct conn_target *target);
void ssh_settings_clear(struct ssh_settings *settings);

/* Reads a file; if must_exist is false, a missing file counts as empty. Returns -1 with "file:
 * why". A line that the reader does not understand sets doubt and is no error. */
int ssh_settings_read(struct ssh_settings *settings, const char *path, bool must_exist,
                      struct error *err);
/* Reads text instead of a file. Changes text. */
void ssh_settings_parse(struct ssh_settings *settings, const char *name, char *text);

/* Appends to stamp the version of the file path and of every file that it includes, for all
 * hosts. As long as the stamp is the same, ssh reads the same files with the same contents.
 * Returns false if that is not certain because of an Include that this reader does not know
 * exactly. */
bool ssh_settings_stamp(struct ssh_settings *settings, const char *path, struct buffer *stamp);

/* Reads the answer of ssh -G: all keywords with values, one per line, with lists expanded.
 */
void ssh_settings_take_answer(struct ssh_settings *settings, char *text);

/* Returns given unless it is NULL, or else the first word set for key, or else otherwise. */
const char *ssh_settings_get(const struct ssh_settings *settings, enum keyword key,
                             const char *given, const char *otherwise);

#endif
