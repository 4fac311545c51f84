/* body.h - what is in the JSON body of a frame, which a node may fill as it likes
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BODY_H
#define MUSTER_BODY_H

#include <stdint.h>

#include <jansson.h>

/* An integer, or otherwise. */
int64_t body_int(const json_t *body, const char *key, int64_t otherwise);

/* The same from 0 to most; -1: it is none of those. */
int body_small_int(const json_t *body, const char *key, int otherwise, int most);

/* A text, borrowed, or "". */
const char *body_text(const json_t *body, const char *key);

/* A copy of a text, or of its beginning if it is very long; NULL: there is none. Caller
 * frees. */
char *body_optional_text(const json_t *body, const char *key);

#endif
