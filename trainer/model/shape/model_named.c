/* model_named.c - shapes with names; see model_config.h
 *
 * From the config.json that each model has on Hugging Face: openai-community/gpt2*,
 * bert-base-uncased, roberta-base, Qwen/Qwen2.5-* and Qwen/Qwen3-* (without -Instruct, -Base),
 * meta-llama/Llama-3.*, mistralai/Mistral-7B-v0.3 and TinyLlama/TinyLlama-1.1B-Chat-v1.0.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "model/model_config.h"

static const struct {
    const char         *name;
    struct model_config config;
} named[] = {
#define GPT2(WIDTH, HEADS, BLOCKS)                                                            \
    { .kind = MODEL_GPT2, .vocabulary = 50257, .positions = 1024, .width = WIDTH,             \
      .inner = 4 * WIDTH, .heads = HEADS, .blocks = BLOCKS, .norm_epsilon = 1e-5,             \
      .deviation = 0.02 }
#define FAMILY(VOCABULARY, POSITIONS, WIDTH, INNER, BLOCKS, HEADS, KV_HEADS, EPSILON)         \
    .vocabulary = VOCABULARY, .positions = POSITIONS, .width = WIDTH, .inner = INNER,         \
    .blocks = BLOCKS, .heads = HEADS, .kv_heads = KV_HEADS, .norm_epsilon = EPSILON,          \
    .deviation = 0.02
#define QWEN2                                                                                 \
    .kind = MODEL_QWEN2, .qkv_bias = true, .rope = { .theta = 1e6 }
#define QWEN3                                                                                 \
    .kind = MODEL_QWEN3, .head_norm = true, .head_width = 128, .rope = { .theta = 1e6 }
#define LLAMA3(FACTOR)                                                                        \
    .kind = MODEL_LLAMA,                                                                      \
    .rope = { .theta = 5e5, .scaling = ROPE_LLAMA3, .factor = FACTOR, .original = 8192,       \
              .low = 1, .high = 4 }
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
    { "qwen2.5-0.5b", { QWEN2, FAMILY(151936, 32768, 896, 4864, 24, 14, 2, 1e-6) } },
    { "qwen2.5-1.5b", { QWEN2, FAMILY(151936, 131072, 1536, 8960, 28, 12, 2, 1e-6) } },
    { "qwen2.5-3b", { QWEN2, FAMILY(151936, 32768, 2048, 11008, 36, 16, 2, 1e-6) } },
    { "qwen2.5-7b",
      { QWEN2, FAMILY(152064, 131072, 3584, 18944, 28, 28, 4, 1e-6), .is_untied = true } },
    { "qwen2.5-14b",
      { QWEN2, FAMILY(152064, 131072, 5120, 13824, 48, 40, 8, 1e-5), .is_untied = true } },
    { "qwen2.5-32b",
      { QWEN2, FAMILY(152064, 131072, 5120, 27648, 64, 40, 8, 1e-5), .is_untied = true } },
    { "qwen2.5-72b",
      { QWEN2, FAMILY(152064, 131072, 8192, 29568, 80, 64, 8, 1e-5), .is_untied = true } },
    { "qwen3-0.6b", { QWEN3, FAMILY(151936, 40960, 1024, 3072, 28, 16, 8, 1e-6) } },
    { "qwen3-1.7b", { QWEN3, FAMILY(151936, 40960, 2048, 6144, 28, 16, 8, 1e-6) } },
    { "qwen3-4b", { QWEN3, FAMILY(151936, 40960, 2560, 9728, 36, 32, 8, 1e-6) } },
    { "qwen3-8b",
      { QWEN3, FAMILY(151936, 40960, 4096, 12288, 36, 32, 8, 1e-6), .is_untied = true } },
    { "llama-3.1-8b",
      { LLAMA3(8), FAMILY(128256, 131072, 4096, 14336, 32, 32, 8, 1e-5), .is_untied = true } },
    { "llama-3.2-1b",
      { LLAMA3(32), FAMILY(128256, 131072, 2048, 8192, 16, 32, 8, 1e-5), .head_width = 64 } },
    { "llama-3.2-3b",
      { LLAMA3(32), FAMILY(128256, 131072, 3072, 8192, 28, 24, 8, 1e-5), .head_width = 128 } },
    { "mistral-7b",
      { .kind = MODEL_MISTRAL, FAMILY(32768, 32768, 4096, 14336, 32, 32, 8, 1e-5),
        .rope = { .theta = 1e6 }, .is_untied = true } },
    { "tinyllama",
      { .kind = MODEL_LLAMA, FAMILY(32000, 2048, 2048, 5632, 22, 32, 4, 1e-5),
        .rope = { .theta = 1e4 }, .is_untied = true } },
};
#define NAMED (sizeof named / sizeof named[0])

int model_config_named(struct model_config *config, const char *name, struct error *err)
{
    char   names[600] = "";
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
