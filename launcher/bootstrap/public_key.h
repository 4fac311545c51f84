/* public_key.h - reads the user's public key, which the nodes will accept
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PUBLIC_KEY_H
#define MUSTER_PUBLIC_KEY_H

#include <stdbool.h>

#include <jansson.h>

#include "err.h"

/* Returns [LINE], in the format of authorized_keys; the caller releases it. path: "~/" is the
 * home; NULL: the first of ssh's default keys that exists, also if its .pub does not and it has no
 * passphrase; else the first key of the ssh agent, or [] if there is none. NULL with err on errors,
 * also for a private key in path. */
json_t *public_key_read(const char *path, struct error *err);
/* Returns the path of the first of ssh's default private keys that exists, which the caller frees;
 * NULL: none does. */
char *public_key_private(void);

/* Is line "TYPE BASE64 ...", in printable ASCII? */
bool public_key_is(const char *line);

#endif
