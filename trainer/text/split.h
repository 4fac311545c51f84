/* split.h - the pre-tokenizer: text becomes pieces, within which tokens are merged
 *
 * As Hugging Face's tokenizers do it: Split, by PCRE2; Digits; ByteLevel, which must be the last;
 * Metaspace; and sequences of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SPLIT_H
#define MUSTER_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "buffer.h"
#include "err.h"

#define SPLIT_STEPS_MAX 16

struct split_step;
struct split {
    struct split_step *step[SPLIT_STEPS_MAX];
    int  steps;
    bool is_bytes;  /* the pieces are bytes: there was ByteLevel */
    bool is_local;  /* pieces depend only on the text from their beginning on */
};

/* Pieces of a text, in its order. Begin from { 0 }. */
struct pieces {
    struct piece {
        uint32_t from, to; /* offsets of bytes */
    } *piece;
    size_t count, room;
};

/* A thread's memory for split_apply(), all zero at first. */
struct split_room {
    void          *match; /* pcre2_match_data */
    struct pieces  found, next, parts;
    struct buffer  text;
};

/* Reads the pre_tokenizer of a tokenizer.json; NULL or null: none. -1 with err. Clear it with
 * split_clear(), also after a failure. */
int  split_read(struct split *split, const json_t *json, struct error *err);
void split_clear(struct split *split);

/* Splits text, which is valid UTF-8 of less than 4 GiB. It may grow, where a step adds a space;
 * then offsets[0 .. count - 1], which are sorted, grow with it. is_start: it is the beginning of
 * all. -1 with err if a pattern takes too long, or the text grows beyond NORMAL_GROWTH. */
int  split_apply(const struct split *split, struct split_room *room, struct buffer *text,
                 bool is_start, uint32_t *offsets, size_t count, struct pieces *pieces,
                 struct error *err);
void split_room_clear(struct split_room *room);
void pieces_clear(struct pieces *pieces);

#endif
