/* model_config.c - see model_config.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/model_config.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "xalloc.h"

static const struct {
    const char         *name;
    struct model_config config;
} named[] = {
#define GPT2(WIDTH, HEADS, BLOCKS)                                                            \
    { .kind = MODEL_GPT2, .vocabulary = 50257, .positions = 1024, .width = WIDTH,             \
      .inner = 4 * WIDTH, .heads = HEADS, .blocks = BLOCKS, .norm_epsilon = 1e-5,             \
      .deviation = 0.02 }
    { "gpt2", GPT2(768, 12, 12) },
    { "gpt2-medium", GPT2(1024, 16, 24) },
    { "gpt2-large", GPT2(1280, 20, 36) },
    { "gpt2-xl", GPT2(1600, 25, 48) },
    { "bert",
      { .kind = MODEL_BERT, .vocabulary = 30522, .positions = 512, .types = 2, .width = 768,
        .inner = 3072, .heads = 12, .blocks = 12, .norm_epsilon = 1e-12, .deviation = 0.02 } },
    { "roberta",
      { .kind = MODEL_ROBERTA, .vocabulary = 50265, .positions = 514, .types = 1, .width = 768,
        .inner = 3072, .heads = 12, .blocks = 12, .norm_epsilon = 1e-5, .deviation = 0.02 } },
    { "hello",
      { .kind = MODEL_ROBERTA, .vocabulary = 50265, .positions = 514, .types = 1, .width = 256,
        .inner = 512, .heads = 8, .blocks = 6, .norm_epsilon = 1e-5, .deviation = 0.02 } },
};
#define NAMED (sizeof named / sizeof named[0])

/* The numbers in config.json, with their names in each kind of model. */
static const struct {
    size_t      field;
    const char *gpt2, *bert;
    int         gpt2_default, bert_default, roberta_default; /* 0: required */
} numbers[] = {
#define FIELD(NAME) offsetof(struct model_config, NAME)
    { FIELD(vocabulary), "vocab_size", "vocab_size", 0, 0, 0 },
    { FIELD(positions), "n_positions", "max_position_embeddings", 1024, 512, 514 },
    { FIELD(types), NULL, "type_vocab_size", 0, 2, 1 },
    { FIELD(width), "n_embd", "hidden_size", 0, 0, 0 },
    { FIELD(heads), "n_head", "num_attention_heads", 0, 0, 0 },
    { FIELD(blocks), "n_layer", "num_hidden_layers", 0, 0, 0 },
    { FIELD(inner), "n_inner", "intermediate_size", INT_MAX, 0, 0 }, /* INT_MAX: 4 * width */
#undef FIELD
};
#define NUMBERS (sizeof numbers / sizeof numbers[0])

/* Settings that change the computation: only these values are supported. */
static const struct {
    const char *key, *value;
    int         kinds; /* bits */
} fixed[] = {
    { "activation_function", "\"gelu_new\"", 1 << MODEL_GPT2 },
    { "scale_attn_weights", "true", 1 << MODEL_GPT2 },
    { "scale_attn_by_inverse_layer_idx", "false", 1 << MODEL_GPT2 },
    { "add_cross_attention", "false", -1 },
    { "tie_word_embeddings", "true", -1 },
    { "hidden_act", "\"gelu\"", 1 << MODEL_BERT | 1 << MODEL_ROBERTA },
    { "position_embedding_type", "\"absolute\"", 1 << MODEL_BERT | 1 << MODEL_ROBERTA },
    { "is_decoder", "false", 1 << MODEL_BERT | 1 << MODEL_ROBERTA },
};
#define FIXED (sizeof fixed / sizeof fixed[0])

/* Where a key is missing, Hugging Face uses a dropout of 0.1; this program uses none. */
static const struct {
    size_t      field;
    const char *gpt2, *bert; /* BERT has no separate key for embeddings */
} dropouts[] = {
#define FIELD(NAME) offsetof(struct model_config, NAME)
    { FIELD(embedding_dropout), "embd_pdrop", "hidden_dropout_prob" },
    { FIELD(attention_dropout), "attn_pdrop", "attention_probs_dropout_prob" },
    { FIELD(hidden_dropout), "resid_pdrop", "hidden_dropout_prob" },
#undef FIELD
};
#define DROPOUTS (sizeof dropouts / sizeof dropouts[0])

static int  take_all(struct model_config *config, const json_t *root, struct error *err);
static int  take_kind(struct model_config *config, const json_t *root, struct error *err);
static int  take_number(struct model_config *config, const json_t *root, size_t i,
                        struct error *err);
static int  take_real(const json_t *root, const char *key, double standard, double *value,
                      struct error *err);
static int  check_fixed(const struct model_config *config, const json_t *root,
                        struct error *err);
static int  check_number(const char *what, int value, int max, struct error *err);

int model_config_named(struct model_config *config, const char *name, struct error *err)
{
    char   names[200] = "";
    size_t i, at = 0;

    for (i = 0; i < NAMED; i++) {
        if (strcmp(named[i].name, name) == 0) {
            *config = named[i].config;
            return 0;
        }
        if (at < sizeof names)
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i == 0 ? "" : ", ",
                                   named[i].name);
    }
    return err_set(err, "unknown model '%.60s' (known: %s)", name, names);
}

int model_config_parse(struct model_config *config, const char *name, const char *text,
                       size_t size, struct error *err)
{
    json_error_t why;
    struct error reason;
    json_t      *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    int          rc;

    if (root == NULL)
        return err_set(err, "%s:%d: %s", name, why.line, why.text);
    *config = (struct model_config){ 0 };
    rc = take_all(config, root, &reason);
    json_decref(root);
    return rc < 0 ? err_set(err, "%s: %s", name, reason.text) : 0;
}

static int take_all(struct model_config *config, const json_t *root, struct error *err)
{
    const double epsilons[] = { [MODEL_GPT2] = 1e-5, [MODEL_BERT] = 1e-12,
                                [MODEL_ROBERTA] = 1e-5 };
    size_t       i;

    if (take_kind(config, root, err) < 0)
        return -1;
    for (i = 0; i < NUMBERS; i++)
        if (take_number(config, root, i, err) < 0)
            return -1;
    if (take_real(root, config->kind == MODEL_GPT2 ? "layer_norm_epsilon" : "layer_norm_eps",
                  epsilons[config->kind], &config->norm_epsilon, err) < 0 ||
        take_real(root, "initializer_range", 0.02, &config->deviation, err) < 0)
        return -1;
    for (i = 0; i < DROPOUTS; i++)
        if (take_real(root, config->kind == MODEL_GPT2 ? dropouts[i].gpt2 : dropouts[i].bert, 0,
                      (double *)(void *)((char *)config + dropouts[i].field), err) < 0)
            return -1;
    if (check_fixed(config, root, err) < 0)
        return -1;
    return model_config_check(config, err);
}

static int take_kind(struct model_config *config, const json_t *root, struct error *err)
{
    static const char *const kinds[] = { [MODEL_GPT2] = "gpt2", [MODEL_BERT] = "bert",
                                         [MODEL_ROBERTA] = "roberta" };
    const char              *type = json_string_value(json_object_get(root, "model_type"));
    int                      i;

    if (type == NULL)
        return err_set(err, "model_type is missing");
    for (i = 0; i < 3; i++) {
        if (strcmp(type, kinds[i]) == 0) {
            config->kind = (enum model_kind)i;
            return 0;
        }
    }
    return err_set(err, "model_type '%.60s' is not gpt2, bert or roberta", type);
}

static int take_number(struct model_config *config, const json_t *root, size_t i,
                       struct error *err)
{
    const int   defaults[] = { [MODEL_GPT2] = numbers[i].gpt2_default,
                               [MODEL_BERT] = numbers[i].bert_default,
                               [MODEL_ROBERTA] = numbers[i].roberta_default };
    const char *key = config->kind == MODEL_GPT2 ? numbers[i].gpt2 : numbers[i].bert;
    int        *field = (int *)((char *)config + numbers[i].field);
    json_t     *value;

    if (key == NULL)
        return 0;
    value = json_object_get(root, key);
    if ((value == NULL || json_is_null(value)) && defaults[config->kind] != 0) {
        *field = defaults[config->kind];
        if (*field == INT_MAX && config->width <= MODEL_WIDTH_MAX)
            *field = 4 * config->width;
        return 0;
    }
    if (value == NULL)
        return err_set(err, "%s is missing", key);
    if (!json_is_integer(value) || json_integer_value(value) < 1 ||
        json_integer_value(value) > INT_MAX)
        return err_set(err, "%s is not a positive integer", key);
    *field = (int)json_integer_value(value);
    return 0;
}

static int take_real(const json_t *root, const char *key, double standard, double *value,
                     struct error *err)
{
    const json_t *given = json_object_get(root, key);

    *value = standard;
    if (given == NULL || json_is_null(given))
        return 0;
    *value = json_number_value(given);
    if (!json_is_number(given) || !(*value >= 0 && *value < 1))
        return err_set(err, "%s is not a number of at least 0 and less than 1", key);
    return 0;
}

static int check_fixed(const struct model_config *config, const json_t *root,
                       struct error *err)
{
    size_t  i;
    json_t *given, *want;
    bool    same;

    for (i = 0; i < FIXED; i++) {
        given = json_object_get(root, fixed[i].key);
        if (!(fixed[i].kinds & 1 << config->kind) || given == NULL)
            continue;
        want = json_loads(fixed[i].value, JSON_DECODE_ANY, NULL);
        same = json_equal(given, want);
        json_decref(want);
        if (!same)
            return err_set(err, "%s is not %s: this model is not supported", fixed[i].key,
                           fixed[i].value);
    }
    return 0;
}

int model_config_check(const struct model_config *config, struct error *err)
{
    if (check_number("vocabulary", config->vocabulary, MODEL_VOCABULARY_MAX, err) < 0 ||
        check_number("number of positions", config->positions, MODEL_POSITIONS_MAX, err) < 0 ||
        check_number("width", config->width, MODEL_WIDTH_MAX, err) < 0 ||
        check_number("inner width", config->inner, 4 * MODEL_WIDTH_MAX, err) < 0 ||
        check_number("number of heads", config->heads, MODEL_HEADS_MAX, err) < 0 ||
        check_number("number of blocks", config->blocks, MODEL_BLOCKS_MAX, err) < 0)
        return -1;
    if (model_is_masked(config) &&
        check_number("number of token types", config->types, MODEL_VOCABULARY_MAX, err) < 0)
        return -1;
    if (config->head_width == 0 && config->width % config->heads != 0)
        return err_set(err, "width %d is not a multiple of %d heads", config->width,
                       config->heads);
    if (model_longest(config) < 1)
        return err_set(err, "%d positions: RoBERTa never uses the first two", config->positions);
    return 0;
}

static int check_number(const char *what, int value, int max, struct error *err)
{
    if (value < 1 || value > max)
        return err_set(err, "%s %d is out of range, must be 1 to %d", what, value, max);
    return 0;
}

bool model_is_masked(const struct model_config *config)
{
    return config->kind == MODEL_BERT || config->kind == MODEL_ROBERTA;
}

int model_kv_heads(const struct model_config *config)
{
    return config->kv_heads > 0 ? config->kv_heads : config->heads;
}

int model_head_width(const struct model_config *config)
{
    return config->head_width > 0 ? config->head_width : config->width / config->heads;
}

int model_longest(const struct model_config *config)
{
    return config->kind == MODEL_ROBERTA ? config->positions - 2 : config->positions;
}

char *model_config_text(const struct model_config *c)
{
    const bool gpt2 = c->kind == MODEL_GPT2;
    json_t    *root;
    char      *text;
    size_t     i;

    root = json_pack("{s:s, s:[s], s:s, s:b, s:f, s:f}", "model_type",
                     gpt2 ? "gpt2" : c->kind == MODEL_BERT ? "bert" : "roberta",
                     "architectures",
                     gpt2 ? "GPT2LMHeadModel"
                     : c->kind == MODEL_BERT ? "BertForMaskedLM" : "RobertaForMaskedLM",
                     gpt2 ? "activation_function" : "hidden_act", gpt2 ? "gelu_new" : "gelu",
                     "tie_word_embeddings", 1,
                     gpt2 ? "layer_norm_epsilon" : "layer_norm_eps", c->norm_epsilon,
                     "initializer_range", c->deviation);
    for (i = 0; i < NUMBERS; i++) {
        const char *key = gpt2 ? numbers[i].gpt2 : numbers[i].bert;

        if (key != NULL)
            json_object_set_new(root, key,
                                json_integer(*(const int *)((const char *)c + numbers[i].field)));
    }
    for (i = 0; i < DROPOUTS; i++)
        json_object_set_new(root, gpt2 ? dropouts[i].gpt2 : dropouts[i].bert,
                            json_real(*(const double *)(const void *)((const char *)c +
                                                            dropouts[i].field)));
    text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_decref(root);
    return text;
}
