/* tokenizer_read.c - a tokenizer.json becomes a struct tokenizer
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/tokenizer_state.h"
#include "utf8.h"
#include "xalloc.h"

#define TOKEN_MAX ((size_t)1 << 16) /* bytes of a token */

static int  read_model(struct tokenizer *tokenizer, const json_t *model, struct error *err);
static int  check_model(const json_t *model, struct error *err);
static int  read_vocab(struct tokenizer *tokenizer, const json_t *vocab, struct error *err);
static bool to_bytes(const char *token, char *bytes, size_t *size);
static int  find_bytes(struct tokenizer *tokenizer, const json_t *model, struct error *err);
static int  read_merges(struct tokenizer *tokenizer, const json_t *merges, struct error *err);
static int  read_merge(struct tokenizer *tokenizer, const json_t *json, size_t number,
                       struct error *err);
static bool pair_of(const json_t *json, const char *pair[2], size_t sizes[2]);
static int32_t find_token(const struct tokenizer *tokenizer, const char *text, size_t size);
static int  read_added(struct tokenizer *tokenizer, const json_t *list, struct error *err);
static int  read_added_token(struct tokenizer *tokenizer, const json_t *json, size_t number,
                             struct error *err);
static int  count_words(struct tokenizer *tokenizer, const json_t *added, struct error *err);
static int  read_processor(struct tokenizer *tokenizer, const json_t *json, struct error *err);
static int  read_template(struct tokenizer *tokenizer, const json_t *json, struct error *err);
static int  add_special(struct tokenizer *tokenizer, const json_t *specials, const char *name,
                        bool is_after, struct error *err);
static int  read_roberta(struct tokenizer *tokenizer, const json_t *json, struct error *err);

int tokenizer_read(struct tokenizer *tokenizer, struct error *err)
{
    const json_t *json = tokenizer->json, *added = json_object_get(json, "added_tokens");

    if (!json_is_object(json_object_get(json, "model")))
        return err_set(err, "is no tokenizer.json: it has no model");
    if (normal_read(&tokenizer->normal, json_object_get(json, "normalizer"), err) < 0 ||
        split_read(&tokenizer->split, json_object_get(json, "pre_tokenizer"), err) < 0 ||
        read_model(tokenizer, json_object_get(json, "model"), err) < 0 ||
        count_words(tokenizer, added, err) < 0 || read_added(tokenizer, added, err) < 0)
        return -1;
    return read_processor(tokenizer, json_object_get(json, "post_processor"), err);
}

/* ---- the model ---- */

static int read_model(struct tokenizer *tokenizer, const json_t *model, struct error *err)
{
    if (check_model(model, err) < 0)
        return -1;
    tokenizer->ignores_merges = json_is_true(json_object_get(model, "ignore_merges"));
    if (read_vocab(tokenizer, json_object_get(model, "vocab"), err) < 0 ||
        find_bytes(tokenizer, model, err) < 0)
        return -1;
    return read_merges(tokenizer, json_object_get(model, "merges"), err);
}

/* Refuses what would make other tokens. */
static int check_model(const json_t *model, struct error *err)
{
    static const char *const known[] = { "type", "dropout", "unk_token", "fuse_unk",
                                         "continuing_subword_prefix", "end_of_word_suffix",
                                         "byte_fallback", "ignore_merges", "vocab", "merges" };
    static const char *const empty[] = { "continuing_subword_prefix", "end_of_word_suffix" };
    const char *type = json_string_value(json_object_get(model, "type")), *key, *text;
    json_t     *value;
    size_t      i;

    /* Old files do not name the type: what has merges is BPE. */
    if (type == NULL ? json_object_get(model, "merges") == NULL : strcmp(type, "BPE") != 0)
        return err_set(err, "a model of type %.60s is not supported, only BPE is",
                       type != NULL ? type : "unknown");
    json_object_foreach((json_t *)model, key, value) {
        for (i = 0; i < sizeof known / sizeof known[0]; i++)
            if (strcmp(key, known[i]) == 0)
                break;
        if (i == sizeof known / sizeof known[0] && !json_is_null(value) && !json_is_false(value))
            return err_set(err, "model.%.60s is not known: it may make other tokens", key);
    }
    for (i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        text = json_string_value(json_object_get(model, empty[i]));
        if (text != NULL && *text != '\0')
            return err_set(err, "model.%s is not supported", empty[i]);
    }
    if (json_number_value(json_object_get(model, "dropout")) != 0)
        return err_set(err, "model.dropout is not supported: it makes other tokens each time");
    return 0;
}

static int read_vocab(struct tokenizer *tokenizer, const json_t *vocab, struct error *err)
{
    const char *token, *text;
    char       *bytes = xmalloc(TOKEN_MAX);
    json_t     *id;
    size_t      size;
    int         rc = 0;

    vocab_init(&tokenizer->vocab, json_object_size(vocab));
    if (json_object_size(vocab) == 0)
        rc = err_set(err, "model.vocab is missing or empty");
    json_object_foreach((json_t *)vocab, token, id) {
        if (rc < 0)
            break;
        size = strlen(token);
        text = token;
        if (size > 0 && size < TOKEN_MAX && tokenizer->split.is_bytes &&
            to_bytes(token, bytes, &size))
            text = bytes;
        else if (tokenizer->split.is_bytes && size > 0 && size < TOKEN_MAX)
            continue; /* no bytes become it: it is an added token */
        if (size == 0 || size >= TOKEN_MAX || !json_is_integer(id) ||
            vocab_add(&tokenizer->vocab, text, size, json_integer_value(id)) < 0)
            rc = err_set(err, "model.vocab: '%.60s' has no size of 1 to %zu bytes, or no number of "
                              "its own below %d", token, TOKEN_MAX - 1, VOCAB_WORDS_MAX);
    }
    free(bytes);
    return rc;
}

/* GPT-2's alphabet: printable bytes stand for themselves, as Latin-1, the others for characters
 * from U+0100 on. Returns false if the token has another character. */
static bool to_bytes(const char *token, char *bytes, size_t *size)
{
    static const char others[] = /* in their order, those that are not printable */
        "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15"
        "\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x20\x7f\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89"
        "\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x92\x93\x94\x95\x96\x97\x98\x99\x9a\x9b\x9c\x9d\x9e\x9f"
        "\xa0\xad";
    size_t   left = *size, length;
    uint32_t code;

    for (*size = 0; left > 0; left -= length, token += length) {
        length = utf8_decode(token, left, &code);
        if (length == 0 || code <= 0x20 || (code >= 0x7f && code <= 0xa0) || code == 0xad ||
            code >= 0x100 + sizeof others - 1)
            return false;
        bytes[(*size)++] = code < 0x100 ? (char)code : others[code - 0x100];
    }
    return true;
}

/* Finds the tokens of single bytes, which make a token of every text. */
static int find_bytes(struct tokenizer *tokenizer, const json_t *model, struct error *err)
{
    char text[8];
    int  byte;

    if (!tokenizer->split.is_bytes && !json_is_true(json_object_get(model, "byte_fallback")))
        return err_set(err, "neither the pre-tokenizer ByteLevel nor byte_fallback: only "
                            "tokenizers for which no text is unknown are supported");
    for (byte = 0; byte < 256; byte++) {
        snprintf(text, sizeof text, "<0x%02X>", byte);
        if (tokenizer->split.is_bytes)
            text[0] = (char)byte;
        tokenizer->byte[byte] = vocab_find(&tokenizer->vocab, text,
                                           tokenizer->split.is_bytes ? 1 : strlen(text));
        if (tokenizer->byte[byte] < 0)
            return err_set(err, "model.vocab has no token for the byte 0x%02X", byte);
    }
    return 0;
}

static int read_merges(struct tokenizer *tokenizer, const json_t *merges, struct error *err)
{
    const json_t *merge;
    size_t        i;

    if (!json_is_array(merges) || json_array_size(merges) > MERGES_MAX)
        return err_set(err, "model.merges is no list of at most %d merges", MERGES_MAX);
    merges_init(&tokenizer->merges, json_array_size(merges));
    json_array_foreach((json_t *)merges, i, merge)
        if (read_merge(tokenizer, merge, i, err) < 0)
            return -1;
    return 0;
}

/* "a b", or in newer files ["a", "b"] */
static int read_merge(struct tokenizer *tokenizer, const json_t *json, size_t number,
                      struct error *err)
{
    struct merge merge = { .rank = (int32_t)number };
    const char  *pair[2];
    size_t       sizes[2];
    char        *both;

    if (!pair_of(json, pair, sizes) || sizes[0] + sizes[1] >= TOKEN_MAX)
        return err_set(err, "model.merges[%zu] is no pair of tokens", number);
    both = xmalloc(sizes[0] + sizes[1] + 1);
    memcpy(both, pair[0], sizes[0]);
    memcpy(both + sizes[0], pair[1], sizes[1]);
    merge.left = find_token(tokenizer, pair[0], sizes[0]);
    merge.right = find_token(tokenizer, pair[1], sizes[1]);
    merge.id = find_token(tokenizer, both, sizes[0] + sizes[1]);
    free(both);
    if (merge.left < 0 || merge.right < 0 || merge.id < 0)
        return err_set(err, "model.merges[%zu]: the vocabulary does not have '%.*s', '%.*s' and "
                            "both together", number, (int)(sizes[0] < 40 ? sizes[0] : 40), pair[0],
                       (int)(sizes[1] < 40 ? sizes[1] : 40), pair[1]);
    merges_add(&tokenizer->merges, &merge);
    return 0;
}

static bool pair_of(const json_t *json, const char *pair[2], size_t sizes[2])
{
    const char *text = json_string_value(json), *space;
    int         i;

    if (text != NULL) {
        space = strchr(text, ' ');
        if (space == NULL || strchr(space + 1, ' ') != NULL)
            return false;
        pair[0] = text;
        sizes[0] = (size_t)(space - text);
        pair[1] = space + 1;
        sizes[1] = strlen(space + 1);
        return sizes[0] > 0 && sizes[1] > 0;
    }
    for (i = 0; i < 2; i++) {
        pair[i] = json_string_value(json_array_get(json, (size_t)i));
        if (pair[i] == NULL || pair[i][0] == '\0')
            return false;
        sizes[i] = strlen(pair[i]);
    }
    return json_array_size(json) == 2;
}

/* text: as the file writes it */
static int32_t find_token(const struct tokenizer *tokenizer, const char *text, size_t size)
{
    char    *bytes;
    int32_t  id = -1;

    if (!tokenizer->split.is_bytes)
        return vocab_find(&tokenizer->vocab, text, size);
    bytes = xmalloc(size + 1);
    if (to_bytes(text, bytes, &size))
        id = vocab_find(&tokenizer->vocab, bytes, size);
    free(bytes);
    return id;
}

/* ---- added tokens ---- */

static int count_words(struct tokenizer *tokenizer, const json_t *added, struct error *err)
{
    const json_t *token;
    json_int_t    id;
    size_t        i, size;

    if (json_array_size(added) > ADDED_MAX)
        return err_set(err, "more than %d added_tokens", ADDED_MAX);
    for (i = 0; i < (size_t)tokenizer->vocab.words; i++)
        if (vocab_bytes(&tokenizer->vocab, (int32_t)i, &size) != NULL)
            tokenizer->words = (int)i + 1;
    json_array_foreach((json_t *)added, i, token) {
        id = json_integer_value(json_object_get(token, "id"));
        if (id < 0 || id >= VOCAB_WORDS_MAX)
            return err_set(err, "added_tokens[%zu] has no id of 0 to %d", i, VOCAB_WORDS_MAX - 1);
        if (id >= tokenizer->words)
            tokenizer->words = (int)id + 1;
    }
    tokenizer->is_special = xcalloc((size_t)tokenizer->words + 1, sizeof *tokenizer->is_special);
    return 0;
}

static int read_added(struct tokenizer *tokenizer, const json_t *list, struct error *err)
{
    const json_t *token;
    size_t        i;

    vocab_init(&tokenizer->names, json_array_size(list));
    json_array_foreach((json_t *)list, i, token) {
        if (read_added_token(tokenizer, token, i, err) < 0)
            return -1;
        if (tokenizer->raw.nodes + tokenizer->normalized.nodes > ADDED_BYTES_MAX)
            return err_set(err, "the added_tokens have more than %d bytes", ADDED_BYTES_MAX);
    }
    return 0;
}

static int read_added_token(struct tokenizer *tokenizer, const json_t *json, size_t number,
                            struct error *err)
{
    const char        *text = json_string_value(json_object_get(json, "content"));
    const json_t      *id = json_object_get(json, "id");
    struct buffer      normal = { 0 };
    struct added_token token = {
        .is_special = json_is_true(json_object_get(json, "special")),
        .single_word = json_is_true(json_object_get(json, "single_word")),
        .lstrip = json_is_true(json_object_get(json, "lstrip")),
        .rstrip = json_is_true(json_object_get(json, "rstrip")),
    };

    if (text == NULL || *text == '\0' || strlen(text) > ADDED_TOKEN_MAX || !json_is_integer(id))
        return err_set(err, "added_tokens[%zu] has no id, or no content of 1 to %d bytes", number,
                       ADDED_TOKEN_MAX);
    token.id = (int32_t)json_integer_value(id);
    if (vocab_add(&tokenizer->names, text, strlen(text), token.id) < 0)
        return err_set(err, "added_tokens[%zu]: another one has the content '%.60s' or the id %d",
                       number, text, (int)token.id);
    tokenizer->is_special[token.id] = token.is_special;
    if (!json_is_true(json_object_get(json, "normalized"))) {
        added_add(&tokenizer->raw, text, strlen(text), &token);
        return 0;
    }
    if (normal_add(&tokenizer->normal, text, strlen(text), true, &normal, err) < 0)
        return -1;
    if (normal.size > 0)
        added_add(&tokenizer->normalized, normal.bytes, normal.size, &token);
    buffer_clear(&normal);
    return 0;
}

/* ---- the post-processor ---- */

static int read_processor(struct tokenizer *tokenizer, const json_t *json, struct error *err)
{
    const char   *type = json_string_value(json_object_get(json, "type"));
    const json_t *one;
    size_t        i;

    if (json == NULL || json_is_null(json))
        return 0;
    if (type == NULL)
        return err_set(err, "the post-processor has no type");
    if (strcmp(type, "ByteLevel") == 0)
        return 0; /* about places in the text only */
    if (tokenizer->befores + tokenizer->afters > 0)
        return err_set(err, "more than one post-processor adds tokens");
    if (strcmp(type, "TemplateProcessing") == 0)
        return read_template(tokenizer, json, err);
    if (strcmp(type, "RobertaProcessing") == 0)
        return read_roberta(tokenizer, json, err);
    if (strcmp(type, "Sequence") != 0)
        return err_set(err, "the post-processor %.60s is not supported", type);
    json_array_foreach(json_object_get(json, "processors"), i, one) {
        type = json_string_value(json_object_get(one, "type"));
        if (type == NULL || strcmp(type, "Sequence") == 0)
            return err_set(err, "processors[%zu] is no post-processor", i);
        if (read_processor(tokenizer, one, err) < 0)
            return -1;
    }
    return 0;
}

static int read_template(struct tokenizer *tokenizer, const json_t *json, struct error *err)
{
    const json_t *specials = json_object_get(json, "special_tokens"), *item;
    const char   *name;
    size_t        i;
    int           texts = 0;

    json_array_foreach(json_object_get(json, "single"), i, item) {
        name = json_string_value(json_object_get(json_object_get(item, "SpecialToken"), "id"));
        if (name == NULL && !json_is_object(json_object_get(item, "Sequence")))
            return err_set(err, "single[%zu] of the post-processor is neither SpecialToken nor "
                                "Sequence", i);
        texts += name == NULL;
        if (name != NULL && add_special(tokenizer, specials, name, texts > 0, err) < 0)
            return -1;
    }
    if (texts != 1)
        return err_set(err, "single of the post-processor does not have one Sequence");
    return 0;
}

static int add_special(struct tokenizer *tokenizer, const json_t *specials, const char *name,
                       bool is_after, struct error *err)
{
    const json_t *ids = json_object_get(json_object_get(specials, name), "ids"), *id;
    int32_t      *list = is_after ? tokenizer->after : tokenizer->before;
    int          *count = is_after ? &tokenizer->afters : &tokenizer->befores;
    size_t        i;

    if (json_array_size(ids) == 0)
        return err_set(err, "special_tokens of the post-processor has no ids of '%.60s'", name);
    json_array_foreach((json_t *)ids, i, id) {
        if (*count == TEMPLATE_MAX)
            return err_set(err, "the post-processor adds more than %d tokens", TEMPLATE_MAX);
        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            json_integer_value(id) >= tokenizer->words)
            return err_set(err, "'%.60s' of the post-processor is no token", name);
        list[(*count)++] = (int32_t)json_integer_value(id);
    }
    return 0;
}

/* { "cls": ["<s>", 0], "sep": ["</s>", 2] } */
static int read_roberta(struct tokenizer *tokenizer, const json_t *json, struct error *err)
{
    const json_t *first = json_array_get(json_object_get(json, "cls"), 1);
    const json_t *last = json_array_get(json_object_get(json, "sep"), 1);

    if (!json_is_integer(first) || !json_is_integer(last) || json_integer_value(first) < 0 ||
        json_integer_value(last) < 0 || json_integer_value(first) >= tokenizer->words ||
        json_integer_value(last) >= tokenizer->words)
        return err_set(err, "cls and sep of the post-processor are no tokens");
    tokenizer->before[0] = (int32_t)json_integer_value(first);
    tokenizer->after[0] = (int32_t)json_integer_value(last);
    tokenizer->befores = tokenizer->afters = 1;
    return 0;
}
