/* keys.h - the SSH keys of a job: one to log in with, and a host key for each worker
 *
 * OpenSSL makes Ed25519 keys; they have OpenSSH's formats. They exist only in memory, never in
 * a file, an argument or an environment variable. keys_clear() wipes them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_KEYS_H
#define MUSTER_KEYS_H

#include <stddef.h>

#include "err.h"

struct key {
    char *private_text; /* "-----BEGIN OPENSSH PRIVATE KEY-----..." */
    char *public_text;  /* "ssh-ed25519 AAAA...", no comment, no newline */
};

struct keys {
    struct key  user;
    struct key *host; /* of worker 0, 1 ... */
    size_t      hosts;
};

/* -1: OpenSSL failed; *keys is then empty. */
int  keys_make(struct keys *keys, size_t hosts, struct error *err);
void keys_clear(struct keys *keys);

#endif
