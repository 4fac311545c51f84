/* message.h - one message of a conversation in JSON, and the words for its errors
 *
 * For use only in chat/: record.c chooses the form of a record.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MESSAGE_H
#define MUSTER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "chat/record.h"
#include "err.h"

/* Numbers are only ids here, and ids may be longer than an integer. */
#define MESSAGE_JSON_FLAGS (JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL)

/* Adds the turns of a list of {role, content} or {from, value}; name is the list's key. Those of
 * the assistant are trained on if is_trained, and if their own keys do not say otherwise. */
int messages_take(struct record *record, const json_t *list, const char *name, bool is_trained,
                  struct error *err);

/* Adds a turn whose text is borrowed; the assistant's is trained on. */
struct turn *record_push(struct record *record, enum chat_role role, struct span text);

/* Copies bytes, which are UTF-8, to where they live as long as the record. */
struct span record_keep(struct record *record, const char *bytes, size_t size);

/* The value of a key: NULL if it is missing or null. */
const json_t *json_present(const json_t *object, const char *key);

/* The same, for a key that must be a string if it is there. */
int string_take(const json_t *object, const char *key, const json_t **string, struct error *err);

/* The bytes of a string; "" for NULL. */
struct span string_span(const json_t *string);

/* "a string", "null" and so on. */
const char *json_type_words(const json_t *value);

/* Is it an empty string, list or object, or "[]"? So some data sets say that they have none. */
bool json_is_bare(const json_t *value);

#endif
