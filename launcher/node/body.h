/* body.h - reads fields of a frame's JSON body, which a node may have filled with anything
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BODY_H
#define MUSTER_BODY_H

#include <stdint.h>

#include <jansson.h>

/* Returns an integer, or otherwise if there is none. */
int64_t body_int(const json_t *body, const char *key, int64_t otherwise);

/* The same for 0 to most; -1: out of range. */
int body_small_int(const json_t *body, const char *key, int otherwise, int most);

/* Returns a text, borrowed, or "". */
const char *body_text(const json_t *body, const char *key);

/* Returns a copy of a text, or of its beginning if it is very long; NULL: there is none. Caller
 * frees. */
char *body_optional_text(const json_t *body, const char *key);

#endif
