/* normal.h - the normalizer of a tokenizer: what happens to text before it is split
 *
 * As Hugging Face's tokenizers do it: Unicode's normal forms, by utf8proc; Prepend; Replace of a
 * string.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NORMAL_H
#define MUSTER_NORMAL_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "buffer.h"
#include "err.h"

#define NORMAL_STEPS_MAX 16

/* So many times as long as it was a text may become, and some bytes more. */
#define NORMAL_GROWTH     64
#define NORMAL_GROWTH_ADD 4096

struct normal {
    struct normal_step {
        enum { NORMAL_FORM, NORMAL_PREPEND, NORMAL_REPLACE } kind;
        int         form;         /* utf8proc's options */
        const char *from, *to;    /* REPLACE; PREPEND: to. Borrowed from the JSON */
        size_t      from_size, to_size;
    } step[NORMAL_STEPS_MAX];
    int steps;
};

/* Reads the normalizer of a tokenizer.json, which must outlive normal; NULL or null: none. -1 with
 * the type that is not supported in err. */
int normal_read(struct normal *normal, const json_t *json, struct error *err);

/* Adds valid UTF-8 of size bytes to out, normalized. is_first: it begins the string, so that it is
 * Prepend's place. -1 with err if it grows beyond NORMAL_GROWTH; out is as before. */
int normal_add(const struct normal *normal, const char *text, size_t size, bool is_first,
               struct buffer *out, struct error *err);

/* Has a text of before bytes become too long? Also where offsets have 32 bits. */
bool normal_is_too_long(size_t size, size_t before);

/* Returns whether the text stays as it is, looking only at what is cheap. */
bool normal_keeps(const struct normal *normal, const char *text, size_t size);

#endif
