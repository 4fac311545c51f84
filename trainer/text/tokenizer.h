/* tokenizer.h - text as numbers, to the letter as Hugging Face's tokenizers make them
 *
 * A tokenizer.json with byte pair encoding is read: of the kind of GPT-2, Llama 3, Qwen and Mistral
 * Nemo, where each byte is a token at first; or of the kind of Llama 2 and Mistral, where each
 * character is one, and the bytes of those that the vocabulary has not. What is not known is
 * refused by name.
 *
 *     tokenizer_open -> encoder_new, one per thread -> encoder_add -> encoder_free
 *
 * The path of a text: added tokens are found; the rest is normalized (normal.h), split into pieces
 * (split.h), and each piece becomes tokens (merges.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TOKENIZER_H
#define MUSTER_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "err.h"

#define TOKENIZER_SIZE_MAX ((size_t)1 << 27) /* bytes of a tokenizer.json */
#define TOKENIZER_TEXT_MAX ((size_t)1 << 30) /* bytes that are encoded at once */

struct tokenizer;
struct encoder;

/* path: a tokenizer.json, or a directory that has one. NULL with "PATH: reason" in err. Several
 * threads may use the result at the same time. */
struct tokenizer *tokenizer_open(const char *path, struct error *err);
/* The same for a text; name is for err. */
struct tokenizer *tokenizer_parse(const char *name, const char *text, size_t size,
                                  struct error *err);
void              tokenizer_close(struct tokenizer *tokenizer); /* NULL is fine */

/* Returns the greatest number of a token + 1: the vocabulary that a model needs. */
int tokenizer_words(const struct tokenizer *tokenizer);

/* Returns the number of the token that is written so, as "<|im_end|>"; -1: there is none. */
int32_t tokenizer_id(const struct tokenizer *tokenizer, const char *token);

/* Adds the bytes that a token stands for, which may be a part of a character, to text. is_special:
 * it is no part of the text. Returns false if no token has this number. */
bool tokenizer_say(const struct tokenizer *tokenizer, int32_t id, struct buffer *text,
                   bool *is_special);

/* Does the post-processor add a token after each text? */
bool tokenizer_ends_texts(const struct tokenizer *tokenizer);

/* Can a text be encoded in parts, with encoder_add_part()? */
bool tokenizer_takes_parts(const struct tokenizer *tokenizer);

/* Tokens, and of each the number of the piece of text in which it begins. */
struct tokens {
    int32_t  *id;
    uint32_t *piece; /* encoder_add_pieces() fills it, nothing else */
    size_t    count, room;
};
void tokens_add(struct tokens *tokens, const int32_t *ids, size_t count);
void tokens_clear(struct tokens *tokens);

/* A thread's memory, and what it remembers of frequent words. */
struct encoder *encoder_new(const struct tokenizer *tokenizer);
void            encoder_free(struct encoder *encoder); /* NULL is fine */

/* What else is done with a text: each a bit. */
enum encode {
    ENCODE_BEFORE = 1,  /* the post-processor adds tokens before it, as <|begin_of_text|> */
    ENCODE_AFTER = 2,   /* and after it */
    ENCODE_SPECIALS = 4, /* special tokens in the text become their numbers; else they are text */
};
#define ENCODE_TEMPLATE (ENCODE_BEFORE | ENCODE_AFTER)

/* Adds the tokens of a text to tokens. -1 with err if it is not UTF-8, too long, or the
 * tokenizer's pattern takes too long. */
int encoder_add(struct encoder *encoder, const char *text, size_t size, unsigned how,
                struct tokens *tokens, struct error *err);

/* A text in pieces: the same tokens as of the whole, and in tokens->piece where each begins. */
struct text_piece {
    const char *text;
    size_t      size;
};
int encoder_add_pieces(struct encoder *encoder, const struct text_piece *pieces, int count,
                       unsigned how, struct tokens *tokens, struct error *err);

/* The first size bytes of a text, of which ahead more bytes follow in memory: the same tokens as
 * those of the whole text. Returns 1, and adds none, if no token ends at size: then take a larger
 * part. Cut before a letter or digit of ASCII that is after a line's end. */
int encoder_add_part(struct encoder *encoder, const char *text, size_t size, size_t ahead,
                     unsigned how, struct tokens *tokens, struct error *err);

#endif
