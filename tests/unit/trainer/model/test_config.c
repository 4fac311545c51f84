/* test_config.c - shapes of models: by name, from config.json, and back
 *
 * unit/trainer/configs has the shapes of models of these names, by hand, with the keys that
 * versions 4 of transformers write; and as .v5.json the same, read and written again by
 * transformers 5.12.1.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "file.h"
#include "model/model_config.h"

#define CONFIGS TOP_SRCDIR "/tests/unit/trainer/configs"

/* JSON without escaped quotes. */
#define TEXT(...) #__VA_ARGS__

static struct model_config parse(const char *name, const char *text)
{
    struct model_config config;
    struct error        err = { "" };

    if (model_config_parse(&config, name, text, strlen(text), &err) < 0)
        fail_msg("%s", err.text);
    return config;
}

static void same(const char *name, const struct model_config *a, const struct model_config *b)
{
#define SAME(X, FORMAT)                                                                       \
    if (a->X != b->X)                                                                         \
    fail_msg("%s: " #X " is " FORMAT ", not " FORMAT, name, a->X, b->X)
    SAME(kind, "%u");
    SAME(vocabulary, "%d");
    SAME(positions, "%d");
    SAME(types, "%d");
    SAME(width, "%d");
    SAME(inner, "%d");
    SAME(heads, "%d");
    SAME(blocks, "%d");
    SAME(norm_epsilon, "%g");
    SAME(deviation, "%g");
    SAME(embedding_dropout, "%g");
    SAME(attention_dropout, "%g");
    SAME(hidden_dropout, "%g");
    SAME(qkv_bias, "%d");
    SAME(project_bias, "%d");
    SAME(inner_bias, "%d");
    SAME(head_norm, "%d");
    SAME(is_untied, "%d");
    SAME(window, "%d");
    SAME(full_blocks, "%d");
    SAME(rope.theta, "%g");
    SAME(rope.scaling, "%u");
    SAME(rope.factor, "%g");
    SAME(rope.original, "%d");
    SAME(rope.low, "%g");
    SAME(rope.high, "%g");
    SAME(rope.beta_fast, "%g");
    SAME(rope.beta_slow, "%g");
    SAME(rope.truncate, "%d");
#undef SAME
    if (fabs(a->rope.attention_factor - b->rope.attention_factor) > 1e-14)
        fail_msg("%s: the attention factor is %.17g, not %.17g", name, a->rope.attention_factor,
                 b->rope.attention_factor);
    assert_int_equal(model_kv_heads(a), model_kv_heads(b));
    assert_int_equal(model_head_width(a), model_head_width(b));
}

static const struct {
    const char         *file, *named; /* NULL: wanted */
    struct model_config wanted;
} good[] = {
    { "qwen2.5-0.5b", "qwen2.5-0.5b", { 0 } },
    { "llama-3.1-8b", "llama-3.1-8b", { 0 } },
    { "llama-3.2-1b", "llama-3.2-1b", { 0 } },
    { "mistral-7b-v0.3", "mistral-7b", { 0 } },
    { "qwen3-8b", "qwen3-8b", { 0 } },
    { "qwen2.5-7b-instruct", NULL,
      { .kind = MODEL_QWEN2, .vocabulary = 152064, .positions = 32768, .width = 3584,
        .inner = 18944, .heads = 28, .kv_heads = 4, .blocks = 28, .norm_epsilon = 1e-6,
        .deviation = 0.02, .qkv_bias = true, .is_untied = true, .rope = { .theta = 1e6 } } },
    { "mistral-7b-v0.1", NULL,
      { .kind = MODEL_MISTRAL, .vocabulary = 32000, .positions = 32768, .width = 4096,
        .inner = 14336, .heads = 32, .kv_heads = 8, .blocks = 32, .norm_epsilon = 1e-5,
        .deviation = 0.02, .is_untied = true, .window = 4096, .rope = { .theta = 1e4 } } },
    { "gpt2", NULL,
      { .kind = MODEL_GPT2, .vocabulary = 50257, .positions = 1024, .width = 768, .inner = 3072,
        .heads = 12, .blocks = 12, .norm_epsilon = 1e-5, .deviation = 0.02,
        .embedding_dropout = 0.1, .attention_dropout = 0.1, .hidden_dropout = 0.1 } },
    { "bert-base-uncased", NULL,
      { .kind = MODEL_BERT, .vocabulary = 30522, .positions = 512, .types = 2, .width = 768,
        .inner = 3072, .heads = 12, .blocks = 12, .norm_epsilon = 1e-12, .deviation = 0.02,
        .embedding_dropout = 0.1, .attention_dropout = 0.1, .hidden_dropout = 0.1 } },
    { "roberta-base", NULL,
      { .kind = MODEL_ROBERTA, .vocabulary = 50265, .positions = 514, .types = 1, .width = 768,
        .inner = 3072, .heads = 12, .blocks = 12, .norm_epsilon = 1e-5, .deviation = 0.02,
        .embedding_dropout = 0.1, .attention_dropout = 0.1, .hidden_dropout = 0.1 } },
};
#define GOOD (sizeof good / sizeof good[0])

static void test_files(void **state)
{
    static const char *const ends[] = { ".json", ".v5.json" };
    struct model_config      config, wanted;
    struct error             err = { "" };
    char                     path[4096], *text;
    size_t                   i, size;

    (void)state;
    for (i = 0; i < 2 * GOOD; i++) {
        wanted = good[i / 2].wanted;
        if (good[i / 2].named != NULL)
            assert_int_equal(model_config_named(&wanted, good[i / 2].named, &err), 0);
        snprintf(path, sizeof path, CONFIGS "/%s%s", good[i / 2].file, ends[i % 2]);
        text = file_read(path, MODEL_CONFIG_MAX, &size, &err);
        if (text == NULL)
            fail_msg("%s", err.text);
        config = parse(path, text);
        free(text);
        same(path, &config, &wanted);
    }
}

/* Each kind of model with what its class in transformers takes if a key is missing; and what the
 * files of the test above do not have. */
static const struct {
    const char         *text;
    struct model_config wanted;
} keyed[] = {
#define SHAPE(BLOCKS, WIDTH)                                                                  \
    .blocks = BLOCKS, .width = WIDTH, .heads = 32, .deviation = 0.02, .norm_epsilon = 1e-6
#define QWEN .vocabulary = 151936, .positions = 32768, .inner = 22016, .kv_heads = 32
#define THETA .rope = { .theta = 1e4 }
    { TEXT({ "model_type": "llama" }),
      { .kind = MODEL_LLAMA, SHAPE(32, 4096), .vocabulary = 32000, .positions = 2048,
        .inner = 11008, .is_untied = true, THETA } },
    { TEXT({ "model_type": "mistral" }),
      { .kind = MODEL_MISTRAL, SHAPE(32, 4096), .vocabulary = 32000, .positions = 131072,
        .inner = 14336, .kv_heads = 8, .is_untied = true, .window = 4096, THETA } },
    { TEXT({ "model_type": "qwen2" }),
      { .kind = MODEL_QWEN2, SHAPE(32, 4096), QWEN, .qkv_bias = true, .is_untied = true, THETA } },
    { TEXT({ "model_type": "qwen3" }),
      { .kind = MODEL_QWEN3, SHAPE(32, 4096), QWEN, .head_norm = true, .head_width = 128,
        .is_untied = true, THETA } },
    { TEXT({ "model_type": "qwen3", "head_dim": null, "hidden_size": 2048,
             "num_key_value_heads": null, "attention_bias": true,
             "tie_word_embeddings": true, "attention_dropout": 0.25 }),
      { .kind = MODEL_QWEN3, SHAPE(32, 2048), QWEN, .head_norm = true,
        .qkv_bias = true, .project_bias = true, .attention_dropout = 0.25, THETA } },
    { TEXT({ "model_type": "llama", "attention_bias": true, "mlp_bias": true,
             "num_hidden_layers": 2, "layer_types": ["full_attention", "full_attention"],
             "_unknown": 7, "unknown": null, "unknown_too": false, "sep_token_id": 5,
             "output_past": true }),
      { .kind = MODEL_LLAMA, SHAPE(2, 4096), .vocabulary = 32000, .positions = 2048,
        .inner = 11008, .is_untied = true, .qkv_bias = true, .project_bias = true,
        .inner_bias = true, THETA } },
    /* The window of Qwen. */
    { TEXT({ "model_type": "qwen2", "use_sliding_window": true, "sliding_window": 77 }),
      { .kind = MODEL_QWEN2, SHAPE(32, 4096), QWEN, .qkv_bias = true, .is_untied = true,
        .window = 77, .full_blocks = 28, THETA } },
    { TEXT({ "model_type": "qwen2", "use_sliding_window": true, "max_window_layers": 0 }),
      { .kind = MODEL_QWEN2, SHAPE(32, 4096), QWEN, .qkv_bias = true, .is_untied = true,
        .window = 4096, THETA } },
    { TEXT({ "model_type": "qwen2", "use_sliding_window": true, "max_window_layers": 32 }),
      { .kind = MODEL_QWEN2, SHAPE(32, 4096), QWEN, .qkv_bias = true, .is_untied = true, THETA } },
    { TEXT({ "model_type": "qwen2", "use_sliding_window": true, "sliding_window": null }),
      { .kind = MODEL_QWEN2, SHAPE(32, 4096), QWEN, .qkv_bias = true, .is_untied = true, THETA } },
    { TEXT({ "model_type": "qwen2", "use_sliding_window": true, "sliding_window": 77,
             "max_window_layers": 9, "num_hidden_layers": 3,
             "layer_types": ["full_attention", "sliding_attention", "sliding_attention"] }),
      { .kind = MODEL_QWEN2, SHAPE(3, 4096), QWEN, .qkv_bias = true, .is_untied = true,
        .window = 77, .full_blocks = 1, THETA } },
    { TEXT({ "model_type": "qwen2", "use_sliding_window": true, "num_hidden_layers": 1,
             "max_window_layers": 0, "layer_types": ["full_attention"] }),
      { .kind = MODEL_QWEN2, SHAPE(1, 4096), QWEN, .qkv_bias = true, .is_untied = true, THETA } },
    { TEXT({ "model_type": "mistral", "num_hidden_layers": 1, "sliding_window": 5,
             "layer_types": ["sliding_attention"] }),
      { .kind = MODEL_MISTRAL, SHAPE(1, 4096), .vocabulary = 32000, .positions = 131072,
        .inner = 14336, .kv_heads = 8, .is_untied = true, .window = 5, THETA } },
    { TEXT({ "model_type": "mistral", "num_key_value_heads": null, "sliding_window": null }),
      { .kind = MODEL_MISTRAL, SHAPE(32, 4096), .vocabulary = 32000, .positions = 131072,
        .inner = 14336, .is_untied = true, THETA } },
#undef THETA
    /* Rotary embeddings. */
#define LLAMA                                                                                 \
    .kind = MODEL_LLAMA, SHAPE(32, 4096), .vocabulary = 32000, .positions = 2048,             \
    .inner = 11008, .is_untied = true
    { TEXT({ "model_type": "llama", "rope_theta": 77, "rope_scaling": { "type": "linear",
             "factor": 2 } }),
      { LLAMA, .rope = { .theta = 77, .scaling = ROPE_LINEAR, .factor = 2 } } },
    { TEXT({ "model_type": "llama", "rope_scaling": { "type": "default", "factor": 2 } }),
      { LLAMA, .rope = { .theta = 1e4 } } },
    { TEXT({ "model_type": "llama", "rope_scaling": null, "rope_parameters": {} }),
      { LLAMA, .rope = { .theta = 1e4 } } },
    { TEXT({ "model_type": "llama", "rope_parameters": { "rope_theta": 500,
             "rope_type": "default", "partial_rotary_factor": 1.0 } }),
      { LLAMA, .rope = { .theta = 500 } } },
    { TEXT({ "model_type": "llama", "rope_scaling": { "rope_type": "llama3", "factor": 2,
             "low_freq_factor": 1, "high_freq_factor": 3 } }),
      { LLAMA, .rope = { .theta = 1e4, .scaling = ROPE_LLAMA3, .factor = 2,
                         .original = 2048, .low = 1, .high = 3 } } },
#define YARN(FAST, SLOW)                                                                      \
    .theta = 1e4, .scaling = ROPE_YARN, .factor = 4, .beta_fast = FAST, .beta_slow = SLOW
    { TEXT({ "model_type": "llama", "rope_scaling": { "type": "yarn", "factor": 4.0,
             "original_max_position_embeddings": 512 } }),
      { LLAMA, .rope = { YARN(32, 1), .original = 512, .attention_factor = 1.138629436111989,
                         .truncate = true } } },
    { TEXT({ "model_type": "llama", "original_max_position_embeddings": 512,
             "rope_scaling": { "rope_type": "yarn", "factor": null, "beta_fast": 0,
             "original_max_position_embeddings": 5, "truncate": false, "mscale": 0.5,
             "mscale_all_dim": 0.75 } }),
      { LLAMA, .rope = { YARN(32, 1), .original = 512, .attention_factor = 0.9686066706328836 } } },
    { TEXT({ "model_type": "llama", "rope_scaling": { "rope_type": "yarn", "factor": 4,
             "beta_fast": 16, "beta_slow": 2, "attention_factor": 1.25, "mscale": 0.5,
             "mscale_all_dim": 0.75 } }),
      { LLAMA, .rope = { YARN(16, 2), .original = 2048,
                         .attention_factor = 1.25, .truncate = true } } },
    { TEXT({ "model_type": "llama", "rope_scaling": { "rope_type": "yarn", "factor": 4,
             "mscale": 0.5 } }),
      { LLAMA, .rope = { YARN(32, 1), .original = 2048, .attention_factor = 1.138629436111989,
                         .truncate = true } } },
#undef YARN
#undef LLAMA
#undef QWEN
#undef SHAPE
};

static void test_keys(void **state)
{
    struct model_config config, again;
    char               *text;
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof keyed / sizeof keyed[0]; i++) {
        config = parse(keyed[i].text, keyed[i].text);
        same(keyed[i].text, &config, &keyed[i].wanted);
        text = model_config_text(&config);
        again = parse(text, text);
        same(text, &again, &config);
        free(text);
    }
}

static void test_named(void **state)
{
    static const char known[] =
        "gpt2, gpt2-medium, gpt2-large, gpt2-xl, bert, roberta, hello, qwen2.5-0.5b, "
        "qwen2.5-1.5b, qwen2.5-3b, qwen2.5-7b, qwen2.5-14b, qwen2.5-32b, qwen2.5-72b, "
        "qwen3-0.6b, qwen3-1.7b, qwen3-4b, qwen3-8b, llama-3.1-8b, llama-3.2-1b, llama-3.2-3b, "
        "mistral-7b, tinyllama";
    struct model_config config, again;
    struct error        err = { "" };
    char                name[32], want[1024], *text;
    const char         *at = known;
    int                 length;

    (void)state;
    for (; *at != '\0'; at += length + (at[length] == ',' ? 2 : 0)) {
        length = (int)strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", length, at);
        if (model_config_named(&config, name, &err) < 0 || model_config_check(&config, &err) < 0)
            fail_msg("%s: %s", name, err.text);
        text = model_config_text(&config);
        again = parse(name, text);
        same(name, &again, &config);
        free(text);
    }
    assert_int_equal(model_config_named(&config, "gpt5", &err), -1);
    snprintf(want, sizeof want, "unknown model 'gpt5' (known: %s)", known);
    assert_string_equal(err.text, want);
}

/* No macro within a macro: that would replace true. */
#define GPT2(...)                                                                             \
    "{\"model_type\": \"gpt2\", \"vocab_size\": 9, \"n_embd\": 8, \"n_head\": 2,"             \
    " \"n_layer\": 1, " #__VA_ARGS__ "}"
#define LLAMA(...) "{\"model_type\": \"llama\", " #__VA_ARGS__ "}"
#define QWEN(...) "{\"model_type\": \"qwen2\", \"num_hidden_layers\": 2, " #__VA_ARGS__ "}"
#define ROPE(...) "{\"model_type\": \"llama\", \"rope_scaling\": {" #__VA_ARGS__ "}}"
#define YARN(...) ROPE("rope_type": "yarn", "factor": 2, __VA_ARGS__)

static const char *const bad[][2] = {
    { "", "c:1: '[' or '{' expected near end of file" },
    { "{\"model_type\": \"gpt2\",\n \"model_type\": \"gpt2\"}",
      "c:2: duplicate object key near '\"model_type\"'" },
    { "[]", "c: model_type is missing" },
    { "{}", "c: model_type is missing" },
    { TEXT({ "model_type": "gemma2" }),
      "c: model_type 'gemma2' is not gpt2, bert, roberta, llama, mistral, qwen2 or qwen3" },
    { TEXT({ "model_type": "gpt2" }), "c: vocab_size is missing" },
    { TEXT({ "model_type": "gpt2", "vocab_size": 0 }),
      "c: vocab_size is not a positive integer" },
    { TEXT({ "model_type": "gpt2", "vocab_size": 4294967297 }),
      "c: vocab_size is not a positive integer" },
    { GPT2("n_inner": "20"), "c: n_inner is not a positive integer" },
    { GPT2("layer_norm_epsilon": -1),
      "c: layer_norm_epsilon is not a number of at least 0 and less than 1" },
    { GPT2("activation_function": "relu"),
      "c: activation_function is not \"gelu_new\": this model is not supported" },
    { GPT2("pruned_heads": { "0": [1] }),
      "c: pruned_heads is not {}: this model is not supported" },
    { GPT2("tie_word_embeddings": false),
      "c: tie_word_embeddings is not true: this model is not supported" },
    { GPT2("n_positions": 100000),
      "c: number of positions 100000 is out of range, must be 1 to 65536" },
    { GPT2("rope_theta": 10000, "n_ctx": 9, "alibi": true),
      "c: rope_theta, alibi: unknown, and may change what the model computes; remove from the "
      "file what does not" },
    { TEXT({ "model_type": "gpt2", "vocab_size": 9, "n_embd": 8, "n_head": 3, "n_layer": 1 }),
      "c: width 8 is not a multiple of 3 heads" },
    { TEXT({ "model_type": "gpt2", "vocab_size": 9, "n_embd": 99999999, "n_head": 3,
             "n_layer": 1 }), "c: width 99999999 is out of range, must be 1 to 32768" },
    { LLAMA("quantization_config": { "quant_method": "gptq" }),
      "c: quantization_config: this program trains no quantized weights: take the model from "
      "which they were made" },
    { LLAMA("hidden_act": "gelu"), "c: hidden_act is not \"silu\": this model is not supported" },
    { LLAMA("mlp_bias": 1), "c: mlp_bias is not true or false" },
    { LLAMA("num_key_value_heads": 5),
      "c: 32 heads are not a multiple of 5 heads of keys and values" },
    { LLAMA("head_dim": 7), "c: the width of a head, 7, is odd: rotary embeddings turn pairs" },
    { LLAMA("head_dim": 70000), "c: width of a head 70000 is out of range, must be 1 to 32768" },
    { LLAMA("hidden_size": 100), "c: width 100 is not a multiple of 32 heads" },
    { LLAMA("num_attention_heads": 512),
      "c: number of heads 512 is out of range, must be 1 to 256" },
    { LLAMA("max_position_embeddings": 20000000),
      "c: number of positions 20000000 is out of range, must be 1 to 16777216" },
    { LLAMA("sliding_window": 4096),
      "c: sliding_window: unknown, and may change what the model computes; remove from the file "
      "what does not" },
    { LLAMA("auto_map": { "AutoModel": "x.Y" }),
      "c: auto_map: unknown, and may change what the model computes; remove from the file what "
      "does not" },
    { LLAMA("num_hidden_layers": 1, "layer_types": ["sliding_attention"]),
      "c: layer_types and sliding_window contradict each other" },
    { QWEN("attention_bias": true),
      "c: attention_bias: unknown, and may change what the model computes; remove from the file "
      "what does not" },
    { QWEN("use_sliding_window": 1), "c: use_sliding_window is not true or false" },
    { QWEN("use_sliding_window": true, "sliding_window": 0),
      "c: sliding_window is not a positive integer" },
    { QWEN("use_sliding_window": true, "max_window_layers": -1),
      "c: max_window_layers is not a non-negative integer" },
    { QWEN("layer_types": ["full_attention"]),
      "c: layer_types is not a list of 2 texts, one for each block" },
    { QWEN("use_sliding_window": true, "layer_types": ["sliding_attention", "full_attention"]),
      "c: layer_types: 'full_attention' comes after sliding_attention: only models whose first "
      "blocks have full attention are supported" },
    { QWEN("use_sliding_window": true, "layer_types": ["full_attention", "chunked_attention"]),
      "c: layer_types: 'chunked_attention' is not full_attention or sliding_attention" },
    { QWEN("layer_types": [1, 2]),
      "c: layer_types: '' is not full_attention or sliding_attention" },
    { QWEN("layer_types": ["full_attention", "sliding_attention"]),
      "c: layer_types and sliding_window contradict each other" },
    { LLAMA("rope_theta": "10000"), "c: rope_theta is not a non-negative number" },
    { LLAMA("rope_theta": 1),
      "c: rope_theta 1 is out of range, must be more than 1 and at most 1e+15" },
    { LLAMA("rope_theta": 5, "rope_parameters": { "rope_theta": 6 }),
      "c: rope_theta is 5, but in rope_parameters it is 6: remove the wrong one" },
    { LLAMA("rope_scaling": { "type": "linear", "factor": 2 },
            "rope_parameters": { "rope_type": "default" }),
      "c: rope_scaling and rope_parameters contradict each other: remove the wrong one" },
    { LLAMA("rope_scaling": 4), "c: rope_scaling is not an object" },
    { ROPE("rope_type": "longrope", "factor": 2),
      "c: rope_scaling: the type 'longrope' is not supported: only default, linear, llama3 and "
      "yarn are" },
    { ROPE("rope_type": null),
      "c: rope_scaling: the type '' is not supported: only default, linear, llama3 and yarn "
      "are" },
    { ROPE("type": "dynamic", "long_factor": [1.0]),
      "c: rope_scaling.long_factor is not supported" },
    { ROPE("type": "linear", "factor": 2, "partial_rotary_factor": 0.5),
      "c: rope_scaling.partial_rotary_factor is not supported" },
    { LLAMA("rope_parameters": { "full_attention": { "rope_type": "default" } }),
      "c: rope_parameters.full_attention is not supported" },
    { ROPE("type": "linear"), "c: rope_scaling.factor is missing" },
    { ROPE("type": "linear", "factor": "2"),
      "c: rope_scaling.factor is not a non-negative number" },
    { ROPE("type": "linear", "factor": 0.5),
      "c: rope scaling: factor 0.5 is out of range, must be 1 to 1e+06" },
    { ROPE("rope_type": "llama3", "factor": 2, "low_freq_factor": 1),
      "c: rope_scaling.high_freq_factor is missing" },
    { ROPE("rope_type": "llama3", "factor": 2, "low_freq_factor": 4, "high_freq_factor": 4),
      "c: rope scaling: high_freq_factor 4 is not more than low_freq_factor 4" },
    { YARN("original_max_position_embeddings": 1.5),
      "c: original_max_position_embeddings is not a positive integer" },
    { YARN("truncate": 1), "c: rope_scaling.truncate is not true or false" },
    { YARN("beta_fast": 1, "beta_slow": 2),
      "c: rope scaling: beta_fast 1 is less than beta_slow 2" },
    { YARN("attention_factor": 1e300),
      "c: rope scaling: attention_factor 1e+300 is out of range" },
};

static void test_bad(void **state)
{
    struct model_config config;
    struct error        err;
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (model_config_parse(&config, "c", bad[i][0], strlen(bad[i][0]), &err) == 0)
            fail_msg("%s: no error", bad[i][0]);
        if (strcmp(err.text, bad[i][1]) != 0)
            fail_msg("%s: '%s', not '%s'", bad[i][0], err.text, bad[i][1]);
    }
}

/* An export has the file from which the shape came, with another type of weights. */
static void test_export(void **state)
{
    static const char base[] =
        TEXT({ "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 16,
               "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 2,
               "rms_norm_eps": 1e-06, "eos_token_id": [1, 2],
               "rope_parameters": { "rope_theta": 1000000.0, "rope_type": "default" },
               "layer_types": ["full_attention", "full_attention"],
               "torch_dtype": "bfloat16" });
    static const char  head[] = "{\n  \"model_type\": \"qwen2\",\n  \"architectures\": [\n"
                                "    \"Qwen2ForCausalLM\"\n  ],\n  \"hidden_size\": 16,\n";
    const size_t        size = strlen(base);
    struct model_config config = parse("base", base), again;
    struct error        err = { "" };
    char               *text;

    (void)state;
    text = model_config_export(&config, DTYPE_HALF, base, size, &err);
    assert_memory_equal(text, head, strlen(head));
    assert_non_null(strstr(text, "\"rms_norm_eps\": 1e-6"));
    assert_non_null(strstr(text, "\"torch_dtype\": \"float16\"\n}"));
    assert_null(strstr(text, "\"dtype\""));
    assert_non_null(strstr(text, "\"layer_types\""));
    again = parse("again", text);
    same("again", &again, &config);
    free(text);

    config.blocks = 3;
    config.positions = 99;
    text = model_config_export(&config, DTYPE_FLOAT, base, size, &err);
    again = parse("changed", text);
    same("changed", &again, &config);
    assert_non_null(strstr(text, "\"eos_token_id\""));
    assert_null(strstr(text, "\"layer_types\""));
    free(text);

    text = model_config_export(&config, DTYPE_BFLOAT16, NULL, 0, &err);
    again = parse("without a base", text);
    same("without a base", &again, &config);
    assert_non_null(strstr(text, "\"torch_dtype\": \"bfloat16\""));
    free(text);

    assert_null(model_config_export(&config, DTYPE_HALF, "{}", 2, &err));
    assert_string_equal(err.text, "config.json: model_type is missing");
}

/* transformers 5 writes dtype. A default may depend on what an option has changed. */
static void test_export_defaults(void **state)
{
    static const char base[] =
        TEXT({ "model_type": "llama", "dtype": "bfloat16", "rope_scaling": { "type": "yarn",
               "factor": 2 } });
    struct model_config config = parse("base", base), again;
    struct error        err = { "" };
    char               *text;

    (void)state;
    text = model_config_export(&config, DTYPE_FLOAT, base, strlen(base), &err);
    assert_non_null(strstr(text, "\"dtype\": \"float32\""));
    assert_null(strstr(text, "torch_dtype"));
    assert_null(strstr(text, "hidden_size"));
    free(text);
    config.positions = 99;
    text = model_config_export(&config, DTYPE_FLOAT, base, strlen(base), &err);
    again = parse("changed", text);
    same("changed", &again, &config);
    free(text);
}

static void test_resize(void **state)
{
    struct model_config config;
    struct error        err = { "" };

    (void)state;
    assert_int_equal(model_config_named(&config, "qwen3-0.6b", &err), 0);
    model_config_resize(&config, 64, 4);
    assert_int_equal(config.width, 64);
    assert_int_equal(config.inner, 192);
    assert_int_equal(config.heads, 4);
    assert_int_equal(config.kv_heads, 2);
    assert_int_equal(config.head_width, 32); /* still twice width / heads */
    assert_int_equal(model_config_check(&config, &err), 0);
    model_config_resize(&config, 0, 3);
    assert_int_equal(config.kv_heads, 1);
    model_config_resize(&config, 0, 1);
    assert_int_equal(config.kv_heads, 1); /* not 0, which means all */
    assert_int_equal(model_config_named(&config, "llama-3.1-8b", &err), 0);
    model_config_resize(&config, 0, 14);
    assert_int_equal(config.kv_heads, 2); /* 3 is no divisor */
    assert_int_equal(model_config_named(&config, "gpt2", &err), 0);
    model_config_resize(&config, 64, 0);
    assert_int_equal(config.inner, 256);
    assert_int_equal(config.heads, 12);
    assert_int_equal(config.kv_heads, 0);
    assert_int_equal(config.head_width, 0);
}

/* Frequencies by the formulas of transformers 5.12.1's modeling_rope_utils.py, in Python's
 * doubles; LlamaRotaryEmbedding has the same in float. */
static void test_rope(void **state)
{
    static const struct {
        struct rope rope;
        int         head_width;
        double      frequency[8];
    } cases[] = {
        { { .theta = 1e4 }, 8, { 1, 0.1, 0.01, 0.001 } },
        { { .theta = 1e4, .scaling = ROPE_LINEAR, .factor = 4 }, 8,
          { 0.25, 0.025, 0.0025, 0.00025 } },
        { { .theta = 5e5, .scaling = ROPE_LLAMA3, .factor = 8, .original = 512, .low = 1,
            .high = 4 }, 16,
          { 1, 0.193922744748686, 0.0273441373147213, 0.000911583092152139,
            0.000176776695296637, 3.42810219595259e-05, 6.64786987118124e-06,
            1.28917317215156e-06 } },
        { { .theta = 1e4, .scaling = ROPE_YARN, .factor = 4, .original = 256, .beta_fast = 32,
            .beta_slow = 1, .attention_factor = 1.138629436111989, .truncate = true }, 16,
          { 1, 0.256935059888681, 0.0625, 0.0138349647632367, 0.0025, 0.000790569415042095,
            0.00025, 7.90569415042095e-05 } },
        { { .theta = 1e4, .scaling = ROPE_YARN, .factor = 4, .original = 256, .beta_fast = 16,
            .beta_slow = 2, .attention_factor = 0.9686066706328836 }, 16,
          { 1, 0.291525620087995, 0.050664394391008, 0.00790569415042095, 0.0025,
            0.000790569415042095, 0.00025, 7.90569415042095e-05 } },
        { { .theta = 1e6, .scaling = ROPE_YARN, .factor = 2, .original = 6, .beta_fast = 32,
            .beta_slow = 1, .attention_factor = 1.25, .truncate = true }, 8,
          { 1, 0.0158113883008419, 0.0005, 1.58113883008419e-05 } },
    };
    double table[3 * 8 * 2];
    size_t i;
    int    position, pair;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int    half = cases[i].head_width / 2;
        const double size =
            cases[i].rope.scaling == ROPE_YARN ? cases[i].rope.attention_factor : 1;

        rope_table(&cases[i].rope, cases[i].head_width, 3, table);
        for (position = 0; position < 3; position++) {
            for (pair = 0; pair < half; pair++) {
                const double *at = table + 2 * (position * half + pair);
                const double  want = position * cases[i].frequency[pair];

                assert_true(fabs(hypot(at[0], at[1]) - size) < 1e-14);
                if (fabs(atan2(at[1], at[0]) - want) > 1e-14 + 1e-13 * want)
                    fail_msg("case %zu, position %d, pair %d: the angle is %.15g, not %.15g", i,
                             position, pair, atan2(at[1], at[0]), want);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_named),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_export),
        cmocka_unit_test(test_export_defaults),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_rope),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
