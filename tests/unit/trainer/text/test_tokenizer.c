/* test_tokenizer.c - text as tokens, as Hugging Face's tokenizers make them
 *
 * small/ has two tokenizers and texts with their tokens, which tests/run/train/hugging_tokens.py
 * made with tokenizers 0.23: one of the kind of Qwen, with added tokens of all kinds, and one of
 * the kind of Llama 2.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "text/crew.h"
#include "text/tokenizer.h"
#include "xalloc.h"

#define SMALL TOP_SRCDIR "/tests/unit/trainer/text/small"
#define ALL   (ENCODE_TEMPLATE | ENCODE_SPECIALS)

static struct tokenizer *opened(const char *name)
{
    struct error      err;
    char              path[4096];
    struct tokenizer *tokenizer;

    snprintf(path, sizeof path, SMALL "/%s.json", name);
    tokenizer = tokenizer_open(path, &err);
    if (tokenizer == NULL)
        fail_msg("%s", err.text);
    return tokenizer;
}

/* Returns qwen.json with another normalizer, or without added tokens that are found in normalized
 * text. */
static struct tokenizer *changed(const char *normalizer)
{
    json_t           *json = json_load_file(SMALL "/qwen.json", 0, NULL), *token;
    struct error      err;
    struct tokenizer *tokenizer;
    char             *text;
    size_t            i;

    if (normalizer != NULL)
        json_object_set_new(json, "normalizer", json_loads(normalizer, 0, NULL));
    else
        json_array_foreach(json_object_get(json, "added_tokens"), i, token)
            json_object_set_new(token, "normalized", json_false());
    text = json_dumps(json, 0);
    tokenizer = tokenizer_parse("changed", text, strlen(text), &err);
    if (tokenizer == NULL)
        fail_msg("%s", err.text);
    free(text);
    json_decref(json);
    return tokenizer;
}

/* Returns the rows of texts.jsonl. */
static json_t *texts(void)
{
    FILE   *file = fopen(SMALL "/texts.jsonl", "r");
    json_t *rows = json_array(), *row;

    assert_non_null(file);
    while ((row = json_loadf(file, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL)) != NULL)
        json_array_append_new(rows, row);
    fclose(file);
    assert_true(json_array_size(rows) > 200);
    return rows;
}

static void assert_tokens(const struct tokens *tokens, const json_t *want, const char *text)
{
    size_t i;

    if (tokens->count != json_array_size(want))
        fail_msg("%zu tokens, not %zu, of '%s'", tokens->count, json_array_size(want), text);
    for (i = 0; i < tokens->count; i++)
        if (tokens->id[i] != json_integer_value(json_array_get(want, i)))
            fail_msg("token %zu of '%s' is %d", i, text, (int)tokens->id[i]);
}

/* Each text at once, and in pieces: the same tokens, each in the piece where it begins. */
static void compare(const char *name)
{
    struct tokenizer *tokenizer = opened(name);
    struct encoder   *encoder = encoder_new(tokenizer);
    json_t           *rows = texts(), *row;
    size_t            i;

    json_array_foreach(rows, i, row) {
        const json_t     *json = json_object_get(row, "text"), *want = json_object_get(row, name);
        const char       *text = json_string_value(json);
        const size_t      size = json_string_length(json);
        struct tokens     tokens = { 0 };
        struct text_piece whole = { text, size };
        struct error      err;

        assert_int_equal(encoder_add(encoder, text, size, ALL, &tokens, &err), 0);
        assert_tokens(&tokens, want, text);
        tokens_clear(&tokens);
        assert_int_equal(encoder_add_pieces(encoder, &whole, 1, ALL, &tokens, &err), 0);
        assert_tokens(&tokens, want, text);
        tokens_clear(&tokens);
    }
    json_decref(rows);
    encoder_free(encoder);
    tokenizer_close(tokenizer);
}

static void test_bytes(void **state)
{
    (void)state;
    compare("qwen");
}

static void test_characters(void **state)
{
    (void)state;
    compare("llama2");
}

/* What a tokenizer says of its tokens is the text again, if nothing was normalized. */
static void test_say(void **state)
{
    static const char *const plain[] = { "Two words, 123 and \xe4\xbd\xa0 \xf0\x9f\x98\x80\n",
                                         "  a  b", "\r\n\t<|endof" };
    struct tokenizer *tokenizer[] = { opened("qwen"), opened("llama2") };
    struct error      err;
    size_t            i, j, k;
    bool              is_special;

    (void)state;
    for (k = 0; k < 2; k++) {
        struct encoder *encoder = encoder_new(tokenizer[k]);

        for (i = 0; i < sizeof plain / sizeof plain[0]; i++) {
            struct tokens tokens = { 0 };
            struct buffer text = { 0 };

            assert_int_equal(encoder_add(encoder, plain[i], strlen(plain[i]), 0, &tokens, &err), 0);
            for (j = 0; j < tokens.count; j++) {
                assert_true(tokenizer_say(tokenizer[k], tokens.id[j], &text, &is_special));
                assert_false(is_special);
            }
            /* Llama 2's kind begins each text with a space. */
            assert_int_equal(text.size, strlen(plain[i]) + k);
            assert_memory_equal(text.bytes + k, plain[i], strlen(plain[i]));
            buffer_clear(&text);
            tokens_clear(&tokens);
        }
        assert_false(tokenizer_say(tokenizer[k], -1, NULL, &is_special));
        assert_false(tokenizer_say(tokenizer[k], tokenizer_words(tokenizer[k]), NULL, &is_special));
        encoder_free(encoder);
        tokenizer_close(tokenizer[k]);
    }
}

static void test_specials(void **state)
{
    struct tokenizer *tokenizer = opened("qwen");
    struct encoder   *encoder = encoder_new(tokenizer);
    struct tokens     tokens = { 0 };
    const char        text[] = "<|endoftext|>";
    struct error      err;
    bool              is_special;
    struct buffer     said = { 0 };

    (void)state;
    assert_int_equal(encoder_add(encoder, text, strlen(text), ENCODE_SPECIALS, &tokens, &err), 0);
    assert_int_equal(tokens.count, 1);
    assert_int_equal(tokens.id[0], tokenizer_id(tokenizer, text));
    assert_true(tokenizer_say(tokenizer, tokens.id[0], &said, &is_special));
    assert_true(is_special);
    assert_int_equal(encoder_add(encoder, text, strlen(text), 0, &tokens, &err), 0);
    assert_true(tokens.count > 5); /* it was text this time */
    assert_int_equal(tokenizer_id(tokenizer, "<|nothing|>"), -1);
    buffer_clear(&said);
    tokens_clear(&tokens);
    encoder_free(encoder);
    tokenizer_close(tokenizer);
}

/* A letter in a circle is a part of a word, so that "word" does not stand alone. */
static void test_single_word(void **state)
{
    struct tokenizer *tokenizer = opened("qwen");
    struct encoder   *encoder = encoder_new(tokenizer);
    const int32_t     word = tokenizer_id(tokenizer, "word");
    struct tokens     tokens = { 0 };
    struct error      err;
    size_t            i;

    (void)state;
    assert_int_equal(encoder_add(encoder, "word\xe2\x93\x89", 7, 0, &tokens, &err), 0);
    for (i = 0; i < tokens.count; i++)
        assert_int_not_equal(tokens.id[i], word);
    tokens_clear(&tokens);
    assert_int_equal(encoder_add(encoder, "word\xe2\x98\x83", 7, 0, &tokens, &err), 0);
    assert_int_equal(tokens.id[0], word); /* a snowman is none */
    tokens_clear(&tokens);
    encoder_free(encoder);
    tokenizer_close(tokenizer);
}

/* A normalizer that makes a text longer and longer, and one that leaves nothing of it. */
static void test_growth(void **state)
{
    struct tokenizer *large = changed("{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},"
                                      "\"content\":\"0123456789012345678901234567890123456789"
                                      "0123456789012345678901234567890123456789\"}");
    struct tokenizer *none = changed("{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},"
                                     "\"content\":\"\"}");
    struct encoder   *encoder = encoder_new(large);
    char              text[1000];
    struct tokens     tokens = { 0 };
    struct error      err;

    (void)state;
    memset(text, 'a', sizeof text);
    assert_int_equal(encoder_add(encoder, text, 50, 0, &tokens, &err), 0);
    assert_int_equal(encoder_add(encoder, text, sizeof text, 0, &tokens, &err), -1);
    assert_string_equal(err.text, "the normalizer makes a text too long: more than 64 times as "
                                  "long, or 4 GiB");
    encoder_free(encoder);
    tokens_clear(&tokens);
    encoder = encoder_new(none);
    assert_int_equal(encoder_add(encoder, text, sizeof text, 0, &tokens, &err), 0);
    assert_int_equal(tokens.count, 0);
    encoder_free(encoder);
    tokens_clear(&tokens);
    tokenizer_close(large);
    tokenizer_close(none);
}

/* A token belongs to the piece in which it begins, also if it ends in the next one. */
static void test_pieces(void **state)
{
    const struct text_piece pieces[] = { { "<|endoftext|>user", 17 }, { "", 0 }, { "\nthe the", 8 },
                                         { "e\xcc\x81", 3 }, { " \xe4\xbd\xa0", 4 } };
    struct tokenizer *tokenizer = opened("qwen");
    struct encoder   *encoder = encoder_new(tokenizer);
    struct tokens     tokens = { 0 };
    struct buffer     text[5] = { { 0 } };
    struct error      err;
    bool              is_special;
    size_t            i;

    (void)state;
    assert_int_equal(encoder_add_pieces(encoder, pieces, 5, ENCODE_SPECIALS, &tokens, &err), 0);
    for (i = 0; i < tokens.count; i++) {
        assert_in_range(tokens.piece[i], 0, 4);
        assert_true(i == 0 || tokens.piece[i] >= tokens.piece[i - 1]);
        assert_true(tokenizer_say(tokenizer, tokens.id[i], &text[tokens.piece[i]], &is_special));
    }
    assert_int_equal(text[0].size, 17);
    assert_int_equal(text[1].size, 0);
    assert_memory_equal(text[2].bytes, "\nthe the", 8);
    assert_memory_equal(text[3].bytes, "\xc3\xa9", text[3].size); /* normalized */
    assert_int_equal(text[4].size, 4);
    for (i = 0; i < 5; i++)
        buffer_clear(&text[i]);
    tokens_clear(&tokens);
    encoder_free(encoder);
    tokenizer_close(tokenizer);
}

static int collect(void *arg, const struct tokens *tokens, struct error *err)
{
    (void)err;
    tokens_add(arg, tokens->id, tokens->count);
    return 0;
}

/* Several megabytes, cut into parts: the tokens of the whole. Lines begin with letters where a
 * cut is no end of a token for a tokenizer that joins lines, too. */
static void test_parts(void **state)
{
    static const char *const lines[] = { "A line of words.\n", "    indented\n", "\n\n", "x\n",
                                         "12 numbers, \xe4\xbd\xa0\n", "e\xcc\x81 <|both|> \n" };
    const size_t      size = (size_t)9 << 20;
    char             *text = xcalloc(size + 64, 1);
    struct tokenizer *tokenizer = changed(NULL);
    struct encoder   *encoder = encoder_new(tokenizer);
    struct crew      *crew = crew_new(tokenizer);
    struct tokens     whole = { 0 }, parts = { 0 };
    struct error      err;
    size_t            used = 0;
    uint32_t          random = 1;

    (void)state;
    assert_true(tokenizer_takes_parts(tokenizer));
    while (used < size) {
        const char *line = lines[(random = random * 1664525 + 1013904223) >> 16 & 3];

        if ((random & 0xff000000) == 0)
            line = lines[4 + (random >> 8 & 1)];
        strcpy(text + used, line);
        used += strlen(line);
    }
    assert_int_equal(encoder_add(encoder, text, used, ALL, &whole, &err), 0);
    assert_int_equal(crew_encode(crew, text, used, ALL, collect, &parts, &err), 0);
    assert_int_equal(parts.count, whole.count);
    assert_memory_equal(parts.id, whole.id, whole.count * sizeof *whole.id);
    text[used / 2] = (char)0xff;
    assert_int_equal(crew_encode(crew, text, used, ALL, collect, &parts, &err), -1);
    assert_non_null(strstr(err.text, "is not UTF-8"));
    tokens_clear(&whole);
    tokens_clear(&parts);
    crew_free(crew);
    encoder_free(encoder);
    tokenizer_close(tokenizer);
    free(text);
}

/* A word that no word of this size has: pairs wait in a heap there, and in a list in short ones. */
static void test_long_words(void **state)
{
    struct tokenizer *tokenizer = opened("qwen");
    struct encoder   *encoder = encoder_new(tokenizer);
    const char        letters[] = "theandofingtoraine";
    char              word[400];
    struct tokens     tokens = { 0 };
    struct error      err;
    uint32_t          random = 7;
    int               round, size, i;

    (void)state;
    for (round = 0; round < 300; round++) {
        struct buffer said = { 0 };
        bool          is_special;

        size = 30 + round;
        for (i = 0; i < size; i++)
            word[i] = letters[(random = random * 1664525 + 1013904223) >> 16 & 15];
        tokens.count = 0;
        assert_int_equal(encoder_add(encoder, word, (size_t)size, 0, &tokens, &err), 0);
        for (i = 0; i < (int)tokens.count; i++)
            tokenizer_say(tokenizer, tokens.id[i], &said, &is_special);
        assert_int_equal(said.size, size);
        assert_memory_equal(said.bytes, word, (size_t)size);
        buffer_clear(&said);
    }
    tokens_clear(&tokens);
    encoder_free(encoder);
    tokenizer_close(tokenizer);
}

/* ---- bad input ---- */

static const struct bad {
    const char *object, *key, *value; /* object: a path with dots, or ""; value NULL: removed */
    const char *want;
} bad[] = {
    { "", "model", NULL, "is no tokenizer.json: it has no model" },
    { "model", "type", "\"WordPiece\"", "a model of type WordPiece is not supported, only BPE is" },
    { "model", "vocab", NULL, "model.vocab is missing or empty" },
    { "model", "vocab", "{}", "model.vocab is missing or empty" },
    { "model.vocab", "new", "-1",
      "model.vocab: 'new' has no size of 1 to 65535 bytes, or no number of its own below 4194304" },
    { "model.vocab", "new", "0",
      "model.vocab: 'new' has no size of 1 to 65535 bytes, or no number of its own below 4194304" },
    { "model.vocab", "new", "4194304",
      "model.vocab: 'new' has no size of 1 to 65535 bytes, or no number of its own below 4194304" },
    { "model.vocab", "new", "\"one\"",
      "model.vocab: 'new' has no size of 1 to 65535 bytes, or no number of its own below 4194304" },
    { "model.vocab", "A", NULL, "model.vocab has no token for the byte 0x41" },
    { "model", "merges", NULL, "model.merges is no list of at most 4194304 merges" },
    { "model", "merges", "[\"ab\"]", "model.merges[0] is no pair of tokens" },
    { "model", "merges", "[\"a b c\"]", "model.merges[0] is no pair of tokens" },
    { "model", "merges", "[[\"a\"]]", "model.merges[0] is no pair of tokens" },
    { "model", "merges", "[\"z q\"]",
      "model.merges[0]: the vocabulary does not have 'z', 'q' and both together" },
    { "model", "dropout", "0.1",
      "model.dropout is not supported: it makes other tokens each time" },
    { "model", "end_of_word_suffix", "\"</w>\"", "model.end_of_word_suffix is not supported" },
    { "model", "continuing_subword_prefix", "\"##\"",
      "model.continuing_subword_prefix is not supported" },
    { "model", "superwords", "true", "model.superwords is not known: it may make other tokens" },
    { "", "normalizer", "{\"type\":\"Lowercase\"}", "the normalizer Lowercase is not supported" },
    { "", "normalizer", "{}", "the normalizer has no type" },
    { "", "normalizer", "{\"type\":\"Sequence\"}",
      "the normalizer Sequence has no list of normalizers" },
    { "", "normalizer", "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Sequence\"}]}",
      "normalizers[0] is not a normalizer" },
    { "", "normalizer", "{\"type\":\"Prepend\"}", "the normalizer Prepend has no text in prepend" },
    { "", "normalizer", "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a\"},\"content\":\"b\"}",
      "the normalizer Replace is supported for a String and its content" },
    { "", "pre_tokenizer", "null",
      "neither the pre-tokenizer ByteLevel nor byte_fallback: only tokenizers for which no text is "
      "unknown are supported" },
    { "", "pre_tokenizer", "{\"type\":\"Whitespace\"}",
      "the pre-tokenizer Whitespace is not supported" },
    { "", "pre_tokenizer", "{}", "a pre-tokenizer has no type" },
    { "", "pre_tokenizer", "{\"type\":\"Sequence\"}",
      "the pre-tokenizer Sequence has no list of pretokenizers" },
    { "", "pre_tokenizer", "{\"type\":\"Split\",\"behavior\":\"Isolated\"}",
      "the pre-tokenizer Split has no pattern" },
    { "", "pre_tokenizer",
      "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},\"behavior\":\"Cut\"}",
      "the pre-tokenizer Split has no known behavior: Cut" },
    { "", "pre_tokenizer",
      "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{Letterlike}\"},"
      "\"behavior\":\"Isolated\"}",
      "the pattern '\\p{Letterlike}': unknown property after \\P or \\p" },
    { "", "pre_tokenizer",
      "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\"},{\"type\":\"Digits\"}]}",
      "the pre-tokenizer Digits comes after ByteLevel" },
    { "", "pre_tokenizer", "{\"type\":\"Metaspace\",\"replacement\":\"\"}",
      "the pre-tokenizer Metaspace has no character as replacement" },
    { "", "pre_tokenizer",
      "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"never\"}",
      "the pre-tokenizer Metaspace is supported with prepend_scheme always or first" },
    { "", "post_processor", "{}", "the post-processor has no type" },
    { "", "post_processor", "{\"type\":\"BertProcessing\"}",
      "the post-processor BertProcessing is not supported" },
    { "", "post_processor", "{\"type\":\"RobertaProcessing\",\"cls\":[\"<s>\",0]}",
      "cls and sep of the post-processor are no tokens" },
    { "", "post_processor", "{\"type\":\"TemplateProcessing\",\"single\":[{\"Text\":1}]}",
      "single[0] of the post-processor is neither SpecialToken nor Sequence" },
    { "", "post_processor", "{\"type\":\"TemplateProcessing\",\"single\":[]}",
      "single of the post-processor does not have one Sequence" },
    { "", "post_processor",
      "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}}]}",
      "special_tokens of the post-processor has no ids of '<s>'" },
    { "", "post_processor",
      "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}}],"
      "\"special_tokens\":{\"<s>\":{\"ids\":[99999]}}}",
      "'<s>' of the post-processor is no token" },
    { "", "added_tokens", "[{\"id\":-1,\"content\":\"a\"}]",
      "added_tokens[0] has no id of 0 to 4194303" },
    { "", "added_tokens", "[{\"id\":1}]",
      "added_tokens[0] has no id, or no content of 1 to 1024 bytes" },
    { "", "added_tokens", "[{\"id\":1,\"content\":\"a\"},{\"id\":2,\"content\":\"a\"}]",
      "added_tokens[1]: another one has the content 'a' or the id 2" },
};

static json_t *object_at(json_t *json, const char *path)
{
    char *copy = xstrdup(path), *part, *rest = NULL;

    for (part = strtok_r(copy, ".", &rest); part != NULL; part = strtok_r(NULL, ".", &rest))
        json = json_object_get(json, part);
    free(copy);
    return json;
}

static void test_bad(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        json_t           *json = json_load_file(SMALL "/qwen.json", 0, NULL), *object;
        struct error      err = { "" };
        struct tokenizer *tokenizer;
        char             *text;

        object = object_at(json, bad[i].object);
        if (bad[i].value == NULL)
            assert_int_equal(json_object_del(object, bad[i].key), 0);
        else
            json_object_set_new(object, bad[i].key,
                                json_loads(bad[i].value, JSON_DECODE_ANY, NULL));
        text = json_dumps(json, 0);
        tokenizer = tokenizer_parse("x.json", text, strlen(text), &err);
        assert_null(tokenizer);
        if (strncmp(err.text, "x.json: ", 8) != 0 || strcmp(err.text + 8, bad[i].want) != 0)
            fail_msg("%s.%s = %s: '%s'", bad[i].object, bad[i].key, bad[i].value, err.text);
        free(text);
        json_decref(json);
    }
}

static void test_bad_files(void **state)
{
    struct error err;

    (void)state;
    assert_null(tokenizer_parse("x.json", "{\n\"model\": }", 12, &err));
    assert_string_equal(err.text, "x.json:2: unexpected token near '}'");
    assert_null(tokenizer_open("/nowhere", &err));
    assert_string_equal(err.text, "/nowhere: No such file or directory");
    assert_null(tokenizer_open("/", &err));
    assert_string_equal(err.text, "//tokenizer.json: No such file or directory");
}

static void test_bad_text(void **state)
{
    struct tokenizer *tokenizer = opened("qwen");
    struct encoder   *encoder = encoder_new(tokenizer);
    struct tokens     tokens = { 0 };
    struct error      err;

    (void)state;
    assert_int_equal(encoder_add(encoder, "ok\xed\xa0\x80", 5, ALL, &tokens, &err), -1);
    assert_string_equal(err.text, "byte 3 is not UTF-8: convert the text, for example with iconv");
    assert_int_equal(tokens.count, 0); /* also not those of the template */
    tokens_clear(&tokens);
    encoder_free(encoder);
    tokenizer_close(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),      cmocka_unit_test(test_characters),
        cmocka_unit_test(test_say),        cmocka_unit_test(test_specials),
        cmocka_unit_test(test_growth),     cmocka_unit_test(test_single_word),
        cmocka_unit_test(test_pieces),     cmocka_unit_test(test_parts),
        cmocka_unit_test(test_long_words), cmocka_unit_test(test_bad),
        cmocka_unit_test(test_bad_files),  cmocka_unit_test(test_bad_text),
    };

    return cmocka_run_group_tests_name("tokenizer", tests, NULL, NULL);
}
