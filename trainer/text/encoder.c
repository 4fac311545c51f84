/* encoder.c - a thread's part of tokenizer.h: text becomes tokens
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "text/tokenizer_state.h"
#include "utf8.h"
#include "xalloc.h"

/* Words that came before, and their tokens; a word that falls on another one's place replaces
 * it. */
#define CACHE_WORDS ((size_t)1 << 15)
#define CACHE_TEXT  22
#define CACHE_IDS   8

#define AHEAD_MAX 4096 /* bytes after a part that are looked at: the end of a long word */

struct cached_word {
    uint64_t hash;
    uint8_t  size, count; /* size 0: free */
    char     text[CACHE_TEXT];
    int32_t  id[CACHE_IDS];
};

struct encoder {
    const struct tokenizer *tokenizer;
    struct cached_word     *cache;
    struct merge_room       merging;
    struct split_room       splitting;
    struct pieces           pieces;
    struct buffer           whole, section, plain; /* text at its stages */
    int32_t                *ids; /* of a word */
    size_t                  ids_room;

    /* Where the pieces of the text begin: in the text, in the section after normalization, and in
     * what is split. */
    uint32_t *begins, *offsets, *plain_offsets;
    size_t    begin_count; /* 0: the text has no pieces */
};

/* A part of a text in which there are no added tokens. */
struct section {
    const char *text;
    size_t      from, size; /* from: its offset in the whole text */
    size_t      ahead;      /* bytes after it that only tell where its last token ends */
};

static int  check_text(const char *text, size_t size, struct error *err);
static int  encode(struct encoder *encoder, const char *text, size_t size, size_t ahead,
                   unsigned how, struct tokens *tokens, struct error *err);
static int  add_text(struct encoder *encoder, const char *text, size_t size, size_t ahead,
                     bool specials, struct tokens *tokens, struct error *err);
static int  add_section(struct encoder *encoder, const struct section *section, bool specials,
                        struct tokens *tokens, struct error *err);
static int  normalize(struct encoder *encoder, const struct section *section, struct error *err);
static int  add_plain(struct encoder *encoder, const struct section *section, bool is_start,
                      struct tokens *tokens, struct error *err);
static void add_word(struct encoder *encoder, const char *text, size_t size,
                     struct tokens *tokens);
static size_t merge_word(struct encoder *encoder, const char *text, size_t size);
static size_t first_parts(const struct tokenizer *tokenizer, const char *text, size_t size,
                          int32_t *ids);
static void label_word(const struct encoder *encoder, size_t at, struct tokens *tokens,
                       size_t first);
static uint32_t piece_of(const struct encoder *encoder, const uint32_t *offsets, size_t at);
static void add_token(struct encoder *encoder, int32_t id, uint32_t piece, struct tokens *tokens);

struct encoder *encoder_new(const struct tokenizer *tokenizer)
{
    struct encoder *encoder = xcalloc(1, sizeof *encoder);

    encoder->tokenizer = tokenizer;
    encoder->cache = xcalloc(CACHE_WORDS, sizeof *encoder->cache);
    return encoder;
}

void encoder_free(struct encoder *encoder)
{
    if (encoder == NULL)
        return;
    free(encoder->cache);
    merge_room_clear(&encoder->merging);
    split_room_clear(&encoder->splitting);
    pieces_clear(&encoder->pieces);
    buffer_clear(&encoder->whole);
    buffer_clear(&encoder->section);
    buffer_clear(&encoder->plain);
    free(encoder->ids);
    free(encoder->begins);
    free(encoder->offsets);
    free(encoder->plain_offsets);
    free(encoder);
}

int encoder_add(struct encoder *encoder, const char *text, size_t size, unsigned how,
                struct tokens *tokens, struct error *err)
{
    encoder->begin_count = 0;
    return encode(encoder, text, size, 0, how, tokens, err);
}

int encoder_add_part(struct encoder *encoder, const char *text, size_t size, size_t ahead,
                     unsigned how, struct tokens *tokens, struct error *err)
{
    encoder->begin_count = 0;
    if (ahead > AHEAD_MAX) /* and no half of a character */
        for (ahead = AHEAD_MAX; ahead > 0 && ((uint8_t)text[size + ahead] & 0xc0) == 0x80; ahead--)
            ;
    return encode(encoder, text, size, ahead, how, tokens, err);
}

int encoder_add_pieces(struct encoder *encoder, const struct text_piece *pieces, int count,
                       unsigned how, struct tokens *tokens, struct error *err)
{
    const size_t room = ((size_t)count + 1) * sizeof *encoder->begins;
    int          i;

    encoder->begins = xrealloc(encoder->begins, room);
    encoder->offsets = xrealloc(encoder->offsets, room);
    encoder->plain_offsets = xrealloc(encoder->plain_offsets, room);
    encoder->begin_count = (size_t)count;
    if (tokens->piece == NULL) {
        tokens->room += tokens->room == 0;
        tokens->id = xreallocarray(tokens->id, tokens->room, sizeof *tokens->id);
        tokens->piece = xcalloc(tokens->room, sizeof *tokens->piece);
    }
    encoder->whole.size = 0;
    for (i = 0; i < count; i++) {
        if (pieces[i].size > TOKENIZER_TEXT_MAX - encoder->whole.size)
            return err_set(err, "the text has more than %zu bytes", TOKENIZER_TEXT_MAX);
        encoder->begins[i] = (uint32_t)encoder->whole.size;
        buffer_add(&encoder->whole, pieces[i].text, pieces[i].size);
    }
    return encode(encoder, encoder->whole.bytes, encoder->whole.size, 0, how, tokens, err);
}

static int encode(struct encoder *encoder, const char *text, size_t size, size_t ahead,
                  unsigned how, struct tokens *tokens, struct error *err)
{
    const struct tokenizer *tokenizer = encoder->tokenizer;
    const size_t            first = tokens->count;
    const uint32_t          last = (uint32_t)encoder->begin_count - (encoder->begin_count > 0);
    int                     i, rc;

    if (check_text(text, size + ahead, err) < 0)
        return -1;
    for (i = 0; i < tokenizer->befores && how & ENCODE_BEFORE; i++)
        add_token(encoder, tokenizer->before[i], 0, tokens);
    rc = add_text(encoder, text, size, ahead, how & ENCODE_SPECIALS, tokens, err);
    for (i = 0; i < tokenizer->afters && how & ENCODE_AFTER; i++)
        add_token(encoder, tokenizer->after[i], last, tokens);
    if (rc != 0)
        tokens->count = first;
    return rc;
}

static int check_text(const char *text, size_t size, struct error *err)
{
    uint32_t code;
    size_t   at, length;
    uint64_t eight;

    if (size > TOKENIZER_TEXT_MAX + AHEAD_MAX)
        return err_set(err, "the text has more than %zu bytes", TOKENIZER_TEXT_MAX);
    for (at = 0; at < size; at += length) {
        for (; at + sizeof eight <= size; at += sizeof eight) {
            memcpy(&eight, text + at, sizeof eight);
            if (eight & UINT64_C(0x8080808080808080))
                break;
        }
        if (at == size)
            break;
        length = (uint8_t)text[at] < 0x80 ? 1 : utf8_decode(text + at, size - at, &code);
        if (length == 0)
            return err_set(err, "byte %zu is not UTF-8: convert the text, for example with iconv",
                           at + 1);
    }
    return 0;
}

/* ---- added tokens ---- */

static int add_text(struct encoder *encoder, const char *text, size_t size, size_t ahead,
                    bool specials, struct tokens *tokens, struct error *err)
{
    const struct added *added = &encoder->tokenizer->raw;
    struct added_found  found = { 0 };
    struct section      section = { .text = text };
    size_t              at = 0, next = 0;
    int                 rc = 0;

    while (rc == 0 && at < size) {
        const struct added_token *token =
            added_find(added, text, size + ahead, at, next, specials, &found);

        if (token == NULL)
            found = (struct added_found){ .from = size + ahead, .to = size + ahead };
        if (found.from < size && found.to > size)
            return 1;
        section = (struct section){ text + at, at, found.from - at, 0 };
        if (found.from > size) {
            section.size = size - at;
            section.ahead = found.from - size;
        }
        if (found.from > at)
            rc = add_section(encoder, &section, specials, tokens, err);
        if (rc == 0 && token != NULL && found.from < size)
            add_token(encoder, token->id, piece_of(encoder, encoder->begins, found.at), tokens);
        at = found.to;
        next = found.next;
    }
    return rc;
}

static int add_section(struct encoder *encoder, const struct section *section, bool specials,
                       struct tokens *tokens, struct error *err)
{
    const struct added *added = &encoder->tokenizer->normalized;
    struct added_found  found;
    struct section      plain;
    size_t              at = 0, next = 0, size;
    int                 rc = 0;

    if (normalize(encoder, section, err) < 0)
        return -1;
    size = encoder->section.size;
    if (size == 0)
        return 0;
    if (added->nodes == 0) {
        if (normal_add(&encoder->tokenizer->normal, section->text + section->size,
                       section->ahead, false, &encoder->section, err) < 0)
            return -1;
        plain = (struct section){ encoder->section.bytes, 0, size, encoder->section.size - size };
        return add_plain(encoder, &plain, section->from == 0, tokens, err);
    }
    while (rc == 0 && at < size) {
        const struct added_token *token =
            added_find(added, encoder->section.bytes, size, at, next, specials, &found);

        if (token == NULL)
            found = (struct added_found){ .from = size, .to = size };
        plain = (struct section){ encoder->section.bytes + at, at, found.from - at, 0 };
        if (found.from > at)
            rc = add_plain(encoder, &plain, section->from == 0 && at == 0, tokens, err);
        if (rc == 0 && token != NULL)
            add_token(encoder, token->id, piece_of(encoder, encoder->offsets, found.at), tokens);
        at = found.to;
        next = found.next;
    }
    return rc;
}

/* The text between the begins of two pieces is normalized alone, so that it is known where each
 * piece begins afterwards. That makes no difference: what comes before an answer ends in a
 * character that no other one joins. */
static int normalize(struct encoder *encoder, const struct section *section, struct error *err)
{
    const struct normal *normal = &encoder->tokenizer->normal;
    const size_t         end = section->from + section->size;
    size_t               at = section->from, i;

    encoder->section.size = 0;
    for (i = 0; i < encoder->begin_count; i++) {
        if (encoder->begins[i] > at && encoder->begins[i] < end) {
            if (normal_add(normal, section->text + (at - section->from), encoder->begins[i] - at,
                           at == section->from, &encoder->section, err) < 0)
                return -1;
            at = encoder->begins[i];
        }
        encoder->offsets[i] = encoder->begins[i] < end ? (uint32_t)encoder->section.size
                                                       : UINT32_MAX;
    }
    return normal_add(normal, section->text + (at - section->from), end - at,
                      at == section->from, &encoder->section, err);
}

/* ---- pieces and words ---- */

/* section: of the normalized text. is_start: the whole text begins here. */
static int add_plain(struct encoder *encoder, const struct section *section, bool is_start,
                     struct tokens *tokens, struct error *err)
{
    struct pieces *pieces = &encoder->pieces;
    size_t         i, first;

    for (i = 0; i < encoder->begin_count; i++)
        encoder->plain_offsets[i] =
            encoder->offsets[i] < section->from ? 0 : encoder->offsets[i] - (uint32_t)section->from;
    encoder->plain.size = 0;
    buffer_add(&encoder->plain, section->text, section->size + section->ahead);
    if (split_apply(&encoder->tokenizer->split, &encoder->splitting, &encoder->plain, is_start,
                    encoder->plain_offsets, encoder->begin_count, pieces, err) < 0)
        return -1;
    for (i = 0; i < pieces->count; i++) {
        const struct piece *piece = &pieces->piece[i];

        if (section->ahead > 0 && piece->from >= section->size)
            break;
        if (section->ahead > 0 && piece->to > section->size)
            return 1;
        first = tokens->count;
        add_word(encoder, encoder->plain.bytes + piece->from, piece->to - piece->from, tokens);
        if (encoder->begin_count > 0)
            label_word(encoder, piece->from, tokens, first);
    }
    return 0;
}

static void add_word(struct encoder *encoder, const char *text, size_t size,
                     struct tokens *tokens)
{
    const uint64_t      hash = vocab_hash(text, size);
    struct cached_word *cached = &encoder->cache[hash & (CACHE_WORDS - 1)];
    size_t              count;

    if (cached->hash == hash && cached->size == size && memcmp(cached->text, text, size) == 0) {
        tokens_add(tokens, cached->id, cached->count);
        return;
    }
    count = merge_word(encoder, text, size);
    tokens_add(tokens, encoder->ids, count);
    if (size > CACHE_TEXT || count > CACHE_IDS)
        return;
    *cached = (struct cached_word){ .hash = hash, .size = (uint8_t)size, .count = (uint8_t)count };
    memcpy(cached->text, text, size);
    memcpy(cached->id, encoder->ids, count * sizeof cached->id[0]);
}

/* Writes the word's tokens to encoder->ids and returns their number. */
static size_t merge_word(struct encoder *encoder, const char *text, size_t size)
{
    const struct tokenizer *tokenizer = encoder->tokenizer;
    int32_t                 id;

    if (size > encoder->ids_room) {
        encoder->ids_room = size + 256;
        encoder->ids = xreallocarray(encoder->ids, encoder->ids_room, sizeof *encoder->ids);
    }
    if (tokenizer->ignores_merges && (id = vocab_find(&tokenizer->vocab, text, size)) >= 0) {
        encoder->ids[0] = id;
        return 1;
    }
    return merges_apply(&tokenizer->merges, &encoder->merging, encoder->ids,
                        first_parts(tokenizer, text, size, encoder->ids));
}

/* Writes the tokens of the word's bytes, or of its characters, and returns their number. */
static size_t first_parts(const struct tokenizer *tokenizer, const char *text, size_t size,
                          int32_t *ids)
{
    size_t   count = 0, at, length, i;
    uint32_t code;
    int32_t  id;

    for (at = 0; at < size && tokenizer->split.is_bytes; at++)
        ids[count++] = tokenizer->byte[(uint8_t)text[at]];
    for (; at < size; at += length) {
        length = utf8_decode(text + at, size - at, &code);
        id = vocab_find(&tokenizer->vocab, text + at, length);
        if (id >= 0)
            ids[count++] = id;
        for (i = 0; i < length && id < 0; i++)
            ids[count++] = tokenizer->byte[(uint8_t)text[at + i]];
    }
    return count;
}

/* Notes in which piece each token of a word begins; the word begins at plain.bytes[at]. */
static void label_word(const struct encoder *encoder, size_t at, struct tokens *tokens,
                       size_t first)
{
    const struct tokenizer *tokenizer = encoder->tokenizer;
    const char             *bytes;
    size_t                  i, size = 0;

    for (i = first; i < tokens->count; i++, at += size) {
        tokens->piece[i] = piece_of(encoder, encoder->plain_offsets, at);
        bytes = vocab_bytes(&tokenizer->vocab, tokens->id[i], &size);
        if (!tokenizer->split.is_bytes && size == 6 && memcmp(bytes, "<0x", 3) == 0)
            size = 1;
    }
}

/* Returns the last piece that begins at this offset or before it. */
static uint32_t piece_of(const struct encoder *encoder, const uint32_t *offsets, size_t at)
{
    size_t low = 0, high = encoder->begin_count, middle;

    while (high - low > 1 && high > 0) {
        middle = low + (high - low) / 2;
        if (offsets[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

static void add_token(struct encoder *encoder, int32_t id, uint32_t piece, struct tokens *tokens)
{
    tokens_add(tokens, &id, 1);
    if (encoder->begin_count > 0)
        tokens->piece[tokens->count - 1] = piece;
}

/* ---- tokens ---- */

void tokens_add(struct tokens *tokens, const int32_t *ids, size_t count)
{
    if (count > tokens->room - tokens->count) {
        tokens->room = 2 * tokens->room + count + 256;
        tokens->id = xreallocarray(tokens->id, tokens->room, sizeof *tokens->id);
        if (tokens->piece != NULL)
            tokens->piece = xreallocarray(tokens->piece, tokens->room, sizeof *tokens->piece);
    }
    memcpy(tokens->id + tokens->count, ids, count * sizeof *ids);
    tokens->count += count;
}

void tokens_clear(struct tokens *tokens)
{
    free(tokens->id);
    free(tokens->piece);
    *tokens = (struct tokens){ .count = 0 };
}
