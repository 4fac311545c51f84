/* fuzz_tokenizer.c - any bytes as a tokenizer.json, or as a text for the tokenizers of a unit test
 *
 * What begins with '{' is a tokenizer.json; if it has no model, it gets one, so that few bytes are
 * enough. If it is accepted, it encodes hard texts. All else is a text.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "text/tokenizer.h"
#include "xalloc.h"

#define SMALL TOP_SRCDIR "/tests/unit/trainer/text/small/"
#define ALL   (ENCODE_TEMPLATE | ENCODE_SPECIALS)

static const char *const hard[] = {
    "",
    " ",
    "it's  The end\r\n\n\t 12345 x",
    "e\xcc\x81 \xe1\xba\x9b\xcc\xa3 \xe1\x84\x80\xe1\x85\xa1 \xef\xb7\xba \xc2\xa0\xe2\x80\x83",
    "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9 <s>a<|im_end|> </s> <0x41>",
    "hello\xe2\x96\x81helloAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
};

static void read_file(const char *data, size_t size);
static json_t *base_model(void);
static void encode_text(const char *text, size_t size);
static struct tokenizer *small(size_t number);
static void compare(const struct tokenizer *tokenizer, struct encoder *encoder, const char *text,
                    size_t size);
static void add_pieces(struct encoder *encoder, const char *text, size_t size,
                       const struct tokens *whole);
static void add_parts(struct encoder *encoder, const char *text, size_t size,
                      const struct tokens *whole);
static void say_again(const struct tokenizer *tokenizer, const struct tokens *tokens,
                      const char *text, size_t size);
static bool is_same(const struct tokens *a, const struct tokens *b);
static bool is_ascii(const char *text, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] == '{')
        read_file((const char *)data, size);
    else
        encode_text((const char *)data, size);
    return 0;
}

/* ---- any tokenizer.json ---- */

static void read_file(const char *data, size_t size)
{
    static json_t    *model;
    json_t           *json = json_loadb(data, size, 0, NULL);
    struct error      err = { "" };
    struct tokenizer *tokenizer;
    struct encoder   *encoder;
    char             *text;
    size_t            i;

    if (model == NULL)
        model = base_model();
    if (json_is_object(json) && json_object_get(json, "model") == NULL) {
        json_object_set(json, "model", model);
        text = json_dumps(json, 0);
        tokenizer = tokenizer_parse("fuzz", text, strlen(text), &err);
        free(text);
    } else
        tokenizer = tokenizer_parse("fuzz", data, size, &err);
    json_decref(json);
    /* A failure always comes with its reason. */
    if (tokenizer == NULL) {
        if (err.text[0] == '\0')
            abort();
        return;
    }
    encoder = encoder_new(tokenizer);
    for (i = 0; i < sizeof hard / sizeof hard[0]; i++)
        compare(tokenizer, encoder, hard[i], strlen(hard[i]));
    encoder_free(encoder);
    tokenizer_close(tokenizer);
}

/* Returns a model for bytes and for characters: it has both kinds of tokens of single bytes. */
static json_t *base_model(void)
{
    json_t *vocab = json_object();
    char    name[16];
    int     byte, other = 0x100, code, id = 0;

    for (byte = 0; byte < 256; byte++) {
        code = byte > 0x20 && (byte < 0x7f || byte > 0xa0) && byte != 0xad ? byte : other++;
        if (code < 0x80)
            snprintf(name, sizeof name, "%c", code);
        else
            snprintf(name, sizeof name, "%c%c", 0xc0 | code >> 6, 0x80 | (code & 0x3f));
        json_object_set_new(vocab, name, json_integer(id++));
        snprintf(name, sizeof name, "<0x%02X>", byte);
        json_object_set_new(vocab, name, json_integer(id++));
    }
    json_object_set_new(vocab, "he", json_integer(id++));
    json_object_set_new(vocab, "ll", json_integer(id++));
    json_object_set_new(vocab, "hell", json_integer(id++));
    json_object_set_new(vocab, "AA", json_integer(id++));
    json_object_set_new(vocab, "AAA", json_integer(id++));
    return json_pack("{s:s, s:b, s:o, s:[s,s,s,s,s]}", "type", "BPE", "byte_fallback", 1, "vocab",
                     vocab, "merges", "h e", "l l", "he ll", "A A", "AA A");
}

/* ---- any text ---- */

static void encode_text(const char *text, size_t size)
{
    static struct tokenizer *tokenizer[3];
    static struct encoder   *encoder[3]; /* with the words of earlier texts */
    struct tokens            tokens = { 0 };
    struct error             err;
    size_t                   i;

    if (tokenizer[0] == NULL)
        for (i = 0; i < 3; i++) {
            tokenizer[i] = small(i);
            encoder[i] = encoder_new(tokenizer[i]);
        }
    for (i = 0; i < 3; i++)
        compare(tokenizer[i], encoder[i], text, size);
    for (i = 0; i < 3; i += 2) {
        tokens.count = 0;
        if (encoder_add(encoder[i], text, size, 0, &tokens, &err) == 0 && is_ascii(text, size))
            say_again(tokenizer[i], &tokens, text, size);
    }
    tokens_clear(&tokens);
}

/* Returns qwen, llama2, and qwen so that it takes a text in parts: without tokens that are found in
 * normalized text. */
static struct tokenizer *small(size_t number)
{
    json_t           *json = json_load_file(SMALL "qwen.json", 0, NULL), *token;
    struct error      err;
    struct tokenizer *tokenizer;
    char             *text;
    size_t            i;

    json_array_foreach(json_object_get(json, "added_tokens"), i, token)
        if (number == 2)
            json_object_set_new(token, "normalized", json_false());
    text = json_dumps(json, 0);
    tokenizer = number == 1 ? tokenizer_open(SMALL "llama2.json", &err)
                            : tokenizer_parse("small", text, strlen(text), &err);
    free(text);
    json_decref(json);
    if (tokenizer == NULL || tokenizer_takes_parts(tokenizer) != (number == 2))
        abort();
    return tokenizer;
}

/* Without tokens that take the spaces beside them, the tokens say the text again. */
static void say_again(const struct tokenizer *tokenizer, const struct tokens *tokens,
                      const char *text, size_t size)
{
    const int32_t left = tokenizer_id(tokenizer, "<|left|>");
    const int32_t right = tokenizer_id(tokenizer, "<|right|>");
    struct buffer said = { 0 };
    bool          is_special, strips = false;
    size_t        i;

    for (i = 0; i < tokens->count; i++) {
        strips |= tokens->id[i] == left || tokens->id[i] == right;
        if (!tokenizer_say(tokenizer, tokens->id[i], &said, &is_special))
            abort();
    }
    if (!strips && (said.size != size || (size > 0 && memcmp(said.bytes, text, size) != 0)))
        abort();
    buffer_clear(&said);
}

/* ---- both ---- */

/* Encodes a text at once, in pieces, and in parts, where the tokenizer can: the same tokens. */
static void compare(const struct tokenizer *tokenizer, struct encoder *encoder, const char *text,
                    size_t size)
{
    struct tokens tokens = { 0 };
    struct error  err = { "" };
    size_t        i;

    if (encoder_add(encoder, text, size, ALL, &tokens, &err) < 0) {
        if (err.text[0] == '\0' || tokens.count != 0)
            abort();
    } else {
        for (i = 0; i < tokens.count; i++)
            if (tokens.id[i] < 0 || tokens.id[i] >= tokenizer_words(tokenizer))
                abort();
        add_pieces(encoder, text, size, &tokens);
        if (tokenizer_takes_parts(tokenizer))
            add_parts(encoder, text, size, &tokens);
    }
    tokens_clear(&tokens);
}

/* Each piece is a third of the text, or begins at the next character. A character of another piece
 * is not composed with those before it, so only of ASCII the tokens must be the same. */
static void add_pieces(struct encoder *encoder, const char *text, size_t size,
                       const struct tokens *whole)
{
    struct text_piece piece[4] = { { text, 0 } };
    struct tokens     tokens = { 0 };
    struct error      err = { "" };
    size_t            at = 0, end, i;

    for (i = 0; i < 4; i++, at = end) {
        end = i < 3 ? at + size / 3 : size;
        while (end < size && ((uint8_t)text[end] & 0xc0) == 0x80)
            end++;
        end = end < size ? end : size;
        piece[i] = (struct text_piece){ text + at, end - at };
    }
    if (encoder_add_pieces(encoder, piece, 4, ALL, &tokens, &err) < 0) {
        if (err.text[0] == '\0')
            abort();
    } else {
        if (is_ascii(text, size) && !is_same(&tokens, whole))
            abort();
        for (i = 0; i < tokens.count; i++)
            if (tokens.piece[i] > 3 || (i > 0 && tokens.piece[i] < tokens.piece[i - 1]))
                abort();
    }
    tokens_clear(&tokens);
}

/* Cuts the text where crew.c cuts a large one. */
static void add_parts(struct encoder *encoder, const char *text, size_t size,
                      const struct tokens *whole)
{
    struct tokens tokens = { 0 };
    struct error  err = { "" };
    size_t        from = 0, to;
    unsigned      how;
    int           rc;

    for (to = 1; to <= size; to++) {
        if (to < size && (text[to - 1] != '\n' || !isalpha((unsigned char)text[to])))
            continue;
        how = ENCODE_SPECIALS | (from == 0 ? ENCODE_BEFORE : 0) | (to == size ? ENCODE_AFTER : 0);
        rc = encoder_add_part(encoder, text + from, to - from, size - to, how, &tokens, &err);
        if (rc < 0 || (rc > 0 && to == size))
            abort();
        if (rc == 0)
            from = to;
    }
    if (size > 0 && !is_same(&tokens, whole))
        abort();
    tokens_clear(&tokens);
}

static bool is_same(const struct tokens *a, const struct tokens *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->id, b->id, a->count * sizeof *a->id) == 0);
}

static bool is_ascii(const char *text, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        if ((uint8_t)text[i] >= 0x80)
            return false;
    return true;
}
