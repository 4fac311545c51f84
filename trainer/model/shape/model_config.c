/* model_config.c - see model_config.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/model_config.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define THETA_MAX  1e15
#define FACTOR_MAX 1e6

static int check_family(const struct model_config *config, struct error *err);
static int check_rope(const struct rope *rope, struct error *err);
static int check_number(const char *what, int value, int max, struct error *err);

int model_config_check(const struct model_config *config, struct error *err)
{
    const bool is_llama = model_config_is_llama(config);
    const int  positions_max = is_llama ? MODEL_LONGEST_MAX : MODEL_POSITIONS_MAX;

    if (check_number("vocabulary", config->vocabulary, MODEL_VOCABULARY_MAX, err) < 0 ||
        check_number("number of positions", config->positions, positions_max, err) < 0 ||
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
    return is_llama ? check_family(config, err) : 0;
}

static int check_number(const char *what, int value, int max, struct error *err)
{
    if (value < 1 || value > max)
        return err_set(err, "%s %d is out of range, must be 1 to %d", what, value, max);
    return 0;
}

static int check_family(const struct model_config *config, struct error *err)
{
    const int width = model_head_width(config), heads = model_kv_heads(config);

    if (config->heads % heads != 0)
        return err_set(err, "%d heads are not a multiple of %d heads of keys and values",
                       config->heads, heads);
    if (check_number("width of a head", width, MODEL_WIDTH_MAX, err) < 0)
        return -1;
    if (width % 2 != 0)
        return err_set(err, "the width of a head, %d, is odd: rotary embeddings turn pairs",
                       width);
    if (config->window < 0 || config->full_blocks < 0)
        return err_set(err, "a window of %d tokens, but not in the first %d blocks",
                       config->window, config->full_blocks);
    return check_rope(&config->rope, err);
}

static int check_rope(const struct rope *rope, struct error *err)
{
    if (!(rope->theta > 1 && rope->theta <= THETA_MAX))
        return err_set(err, "rope_theta %g is out of range, must be more than 1 and at most %g",
                       rope->theta, THETA_MAX);
    if (rope->scaling == ROPE_PLAIN)
        return 0;
    if (!(rope->factor >= 1 && rope->factor <= FACTOR_MAX))
        return err_set(err, "rope scaling: factor %g is out of range, must be 1 to %g",
                       rope->factor, FACTOR_MAX);
    if (rope->scaling == ROPE_LLAMA3 && !(rope->low > 0 && rope->high > rope->low &&
                                          isfinite(rope->high)))
        return err_set(err, "rope scaling: high_freq_factor %g is not more than low_freq_factor "
                            "%g", rope->high, rope->low);
    if (rope->scaling == ROPE_YARN && !(rope->beta_slow > 0 && isfinite(rope->beta_fast) &&
                                        rope->beta_fast >= rope->beta_slow))
        return err_set(err, "rope scaling: beta_fast %g is less than beta_slow %g",
                       rope->beta_fast, rope->beta_slow);
    if (rope->scaling == ROPE_YARN && !(rope->attention_factor > 0 &&
                                        rope->attention_factor <= FACTOR_MAX))
        return err_set(err, "rope scaling: attention_factor %g is out of range",
                       rope->attention_factor);
    return 0;
}

void model_config_resize(struct model_config *config, int width, int heads)
{
    const int old_width = config->width, old_heads = config->heads;
    const int old_kv_heads = config->kv_heads;

    if (width > 0) {
        config->inner = (int)((int64_t)width * config->inner / old_width);
        config->width = width;
    }
    if (heads > 0) {
        config->kv_heads = (int)((int64_t)heads * config->kv_heads / old_heads);
        if (old_kv_heads > 0 && config->kv_heads == 0)
            config->kv_heads = 1;
        while (config->kv_heads > 0 && heads % config->kv_heads != 0)
            config->kv_heads--;
        config->heads = heads;
    }
    /* Proportional to width / heads, as the head of Qwen3, too. */
    config->head_width = (int)((int64_t)config->head_width * config->width * old_heads /
                               ((int64_t)old_width * config->heads));
}

bool model_is_masked(const struct model_config *config)
{
    return config->kind == MODEL_BERT || config->kind == MODEL_ROBERTA;
}

bool model_config_is_llama(const struct model_config *config)
{
    return config->kind >= MODEL_LLAMA;
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
