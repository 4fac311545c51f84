/* public_key.h - the public key of this user, for the nodes to know
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PUBLIC_KEY_H
#define MUSTER_PUBLIC_KEY_H

#include <stdbool.h>

#include <jansson.h>

#include "err.h"

/* [LINE], as authorized_keys has it. path: "~/" is the home; NULL: the first of ssh's default keys
 * that is there, or [] if none is. The caller releases it. NULL with err, also for a private
 * key. */
json_t *public_key_read(const char *path, struct error *err);

/* "TYPE BASE64 ...", in printable ASCII. */
bool public_key_is(const char *line);

#endif
