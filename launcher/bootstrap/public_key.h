/* public_key.h - reads the user's public key, which the nodes will accept
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PUBLIC_KEY_H
#define MUSTER_PUBLIC_KEY_H

#include <stdbool.h>

#include <jansson.h>

#include "err.h"

/* Returns [LINE], in the format of authorized_keys; the caller releases it. path: "~/" is the
 * home; NULL: the first of ssh's default keys that exists, or [] if none does. NULL with err on
 * errors, also for a private key. */
json_t *public_key_read(const char *path, struct error *err);

/* Is line "TYPE BASE64 ...", in printable ASCII? */
bool public_key_is(const char *line);

#endif
