/* model_params.c - a model's layers, parameters and initial values, see model.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_run.h"
#include "model/scramble.h"
#include "xalloc.h"

#define LOGITS_MAX ((size_t)128 << 20) /* bytes */

static int      head_rows(const struct model *model);
static void     begin_layer(struct model *model, const char *name);
static void     end_layer(struct model *model);
static size_t   aligned(size_t count);
static void     fill(const struct model_param *param, uint64_t seed, size_t from, size_t to,
                     float *values);
static float    normal(uint64_t place);

struct model *model_new(const struct model_config *config, struct ops *ops, struct error *err)
{
    static const struct model_places none = {
        .norm = { -1, -1 }, .norm_bias = { -1, -1 }, .q_norm = -1, .k_norm = -1,
        .weight = { -1, -1, -1, -1 }, .bias = { -1, -1, -1, -1 },
        .last_norm = -1, .last_norm_bias = -1, .words = -1,
    };
    struct model *model;
    char          name[24];
    int           i;

    if (model_config_check(config, err) < 0)
        return NULL;
    model = xcalloc(1, sizeof *model);
    model->config = *config;
    model->family = model_is_masked(config)  ? &bert_family
                    : model_is_llama(model) ? &llama_family
                                            : &gpt2_family;
    model->places = xmemdup(&none, sizeof none);
    model->ops = ops;
    model->type = ops->type;
    model->layer = xcalloc((size_t)config->blocks + 2, sizeof *model->layer);

    begin_layer(model, "embeddings");
    model->family->list_embeddings(model);
    end_layer(model);
    for (i = 0; i < config->blocks; i++) {
        snprintf(name, sizeof name, "block %d", i);
        begin_layer(model, name);
        model->family->list_block(model, i);
        end_layer(model);
    }
    begin_layer(model, "head");
    model->layer[model->layers].tied = config->is_untied ? -1 : 0;
    model->family->list_head(model);
    end_layer(model);
    model->params = xcalloc((size_t)model->layers, sizeof *model->params);
    model->grads = xcalloc((size_t)model->layers, sizeof *model->grads);
    model->head_rows = head_rows(model);
    return model;
}

/* As many as fit, but enough for a product to be worth its way through the weights. */
static int head_rows(const struct model *model)
{
    const size_t row = (size_t)model->config.vocabulary * dtype_size(model->type);
    const size_t rows = LOGITS_MAX / row / 64 * 64;

    return rows < 64 ? 64 : rows > MODEL_TOKENS_MAX ? MODEL_TOKENS_MAX : (int)rows;
}

void model_free(struct model *model)
{
    if (model == NULL)
        return;
    model_run_free(model);
    free(model->places);
    free(model->layer);
    free(model->param);
    free(model->params);
    free(model->grads);
    free(model);
}

static void begin_layer(struct model *model, const char *name)
{
    struct model_layer *layer = &model->layer[model->layers];

    snprintf(layer->name, sizeof layer->name, "%s", name);
    layer->offset = model->count;
    layer->first_param = model->param_count;
    layer->tied = -1;
}

static void end_layer(struct model *model)
{
    struct model_layer *layer = &model->layer[model->layers++];

    model->count = aligned(model->count);
    layer->count = model->count - layer->offset;
    layer->param_count = model->param_count - layer->first_param;
}

int model_add_param(struct model *model, const char *name, size_t rows, size_t columns,
                    enum model_init init, double deviation, bool together)
{
    struct model_param *param;

    if (model->param_count % 64 == 0)
        model->param = xreallocarray(model->param, (size_t)model->param_count + 64,
                                     sizeof *model->param);
    param = &model->param[model->param_count++];
    *param = (struct model_param){ .layer = model->layers, .dims = columns == 0 ? 1 : 2,
                                   .shape = { rows, columns }, .init = init,
                                   .deviation = (float)deviation };
    snprintf(param->name, sizeof param->name, "%s", name);
    param->offset = together ? model->count : aligned(model->count);
    param->count = columns == 0 ? rows : rows * columns;
    model->count = param->offset + param->count;
    return model->param_count - 1 - model->layer[model->layers].first_param;
}

static size_t aligned(size_t count)
{
    return (count + MODEL_ALIGN - 1) / MODEL_ALIGN * MODEL_ALIGN;
}

const struct model_param *model_param_at(const struct model *model, size_t offset)
{
    int low = 0, high = model->param_count, middle;

    while (high - low > 1) {
        middle = low + (high - low) / 2;
        if (model->param[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return offset - model->param[low].offset < model->param[low].count ? &model->param[low]
                                                                       : NULL;
}

const struct model_param *model_param_named(const struct model *model, const char *name)
{
    int i;

    for (i = 0; i < model->param_count; i++)
        if (strcmp(model->param[i].name, name) == 0)
            return &model->param[i];
    return NULL;
}

void model_initial_values(const struct model *model, uint64_t seed, size_t first, size_t count,
                          float *values)
{
    const uint64_t mixed = scramble(seed);
    const size_t   last = first + count;
    int            i;

    memset(values, 0, count * sizeof *values);
    for (i = 0; i < model->param_count; i++) {
        const struct model_param *param = &model->param[i];
        const size_t              end = param->offset + param->count;
        const size_t              from = param->offset > first ? param->offset : first;

        if (from < end && from < last)
            fill(param, mixed, from, end < last ? end : last, values + (from - first));
    }
}

static void fill(const struct model_param *param, uint64_t seed, size_t from, size_t to,
                 float *values)
{
    size_t i;

    if (param->init == MODEL_INIT_ZERO)
        return;
#pragma omp parallel for schedule(static) if (to - from > 4096)
    for (i = from; i < to; i++)
        values[i - from] =
            param->init == MODEL_INIT_ONE ? 1 : param->deviation * normal(seed + i);
}

/* Returns a normally distributed number from two uniform ones, by Box and Muller's method. */
static float normal(uint64_t place)
{
    const uint64_t bits = scramble(place);
    const float    radius = sqrtf(-2 * logf(((float)(bits >> 40) + 1) * 0x1p-24f));

    return radius * cosf((float)(2 * M_PI) * (float)(bits & 0xffffff) * 0x1p-24f);
}
