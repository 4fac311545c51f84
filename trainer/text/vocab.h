/* vocab.h - the tokens of a tokenizer: each one's bytes, and its number
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_VOCAB_H
#define MUSTER_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VOCAB_WORDS_MAX (1 << 22) /* the greatest id, and the number of tokens, are below it */
#define VOCAB_BYTES_MAX ((size_t)1 << 28)

struct vocab {
    char     *bytes; /* of all tokens */
    size_t    used, room;
    struct vocab_word {
        uint32_t from, size; /* in bytes; size 0: no token has this id */
    } *word;
    int       words; /* the greatest id + 1 */
    int32_t  *slot;  /* a hash table of ids; -1: free */
    size_t    slots; /* a power of two */
    size_t    count; /* ids in the table */
};

void vocab_init(struct vocab *vocab, size_t count); /* count: how many tokens to expect */
void vocab_clear(struct vocab *vocab);

/* Adds a token of at least one byte. -1 if the id is not 0 to VOCAB_WORDS_MAX - 1, another token
 * has this id, the same bytes have another id, or there are too many bytes. */
int vocab_add(struct vocab *vocab, const char *bytes, size_t size, int64_t id);

/* Returns the id of these bytes, or -1. */
int32_t vocab_find(const struct vocab *vocab, const char *bytes, size_t size);

/* Returns a token's bytes, which are not followed by a NUL. NULL: no token has this id. */
const char *vocab_bytes(const struct vocab *vocab, int32_t id, size_t *size);

/* A hash of bytes for tables in memory; it may be another one on another machine. */
uint64_t vocab_hash(const char *bytes, size_t size);

#endif
