/* model_params.c - a model's layers, parameters and initial values, see model.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fnv.h"
#include "model/lora.h"
#include "model/model_fill.h"
#include "model/model_run.h"
#include "model/scramble.h"
#include "xalloc.h"

#define LOGITS_MAX ((size_t)128 << 20) /* bytes */

static void     list_layers(struct model *model);
static int      judge_tuning(const struct model *model, struct error *err);
static int      judge_saved(const struct model *model, const struct lora *lora,
                            struct error *err);
static int      head_rows(const struct model *model);
static void     begin_layer(struct model *model, const char *name);
static void     end_layer(struct model *model);
static int      read_initial(void *arg, const struct model_param *param, size_t first,
                             size_t count, float *values, struct error *err);
static void     place(struct model *model, struct model_param *param, bool together);
static bool     is_frozen(const struct model *model, const char *name);
static bool     is_linear(const struct model *model, const struct model_param *param);
static size_t   aligned(size_t count, size_t to);
static float    normal(uint64_t place);
static float    uniform(uint64_t place);

struct model *model_new(const struct model_config *config, struct ops *ops, struct error *err)
{
    return model_new_tuned(config, NULL, ops, err);
}

struct model *model_new_tuned(const struct model_config *config,
                              const struct model_tuning *tuning, struct ops *ops,
                              struct error *err)
{
    static const struct model_places none = {
        .norm = { -1, -1 }, .norm_bias = { -1, -1 }, .q_norm = -1, .k_norm = -1,
        .weight = { -1, -1, -1, -1 }, .bias = { -1, -1, -1, -1 }, .parts = { 1, 1, 1, 1 },
        .last_norm = -1, .last_norm_bias = -1, .words = -1,
    };
    struct model *model;
    int           rc = 0;

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
    model->tuning = tuning;
    model->quantize = tuning != NULL ? tuning->quantize : QUANT_NONE;
    list_layers(model);
    if (tuning != NULL)
        rc = judge_tuning(model, err);
    model->tuning = NULL;
    if (rc < 0) {
        model_free(model);
        return NULL;
    }
    model->params = xcalloc((size_t)model->layers, sizeof *model->params);
    model->grads = xcalloc((size_t)model->layers, sizeof *model->grads);
    model->frozen = xcalloc((size_t)model->layers, sizeof *model->frozen);
    model->head_rows = head_rows(model);
    return model;
}

static void list_layers(struct model *model)
{
    const struct lora *lora = model->tuning != NULL ? model->tuning->lora : NULL;
    char               name[24];
    int                i;

    begin_layer(model, "embeddings");
    model->family->list_embeddings(model);
    end_layer(model);
    for (i = 0; i < model->config.blocks; i++) {
        snprintf(name, sizeof name, "block %d", i);
        begin_layer(model, name);
        model->family->list_block(model, i);
        if (lora != NULL)
            model_add_adapters(model, lora);
        end_layer(model);
    }
    begin_layer(model, "head");
    model->layer[model->layers].tied = model->config.is_untied ? -1 : 0;
    model->family->list_head(model);
    end_layer(model);
}

static int judge_tuning(const struct model *model, struct error *err)
{
    const struct lora *lora = model->tuning->lora;

    if (lora != NULL && adapters_judge(model, lora, err) < 0)
        return -1;
    if (model->quantize != QUANT_NONE && lora == NULL && model->tuning->freeze == NULL)
        return err_set(err, "no parameter is frozen: %s is for those that are not trained",
                       quant_name(model->quantize));
    if (model->count == 0)
        return err_set(err, "every parameter is frozen: there is nothing to train");
    if (model->frozen_bytes == 0)
        return err_set(err, "no parameter is frozen: %s",
                       lora != NULL ? "modules_to_save has all" : "no name has a match");
    if (model->quantize != QUANT_NONE && model->wide_count == 0)
        return err_set(err, "no weight of a block's linear layer is frozen, which could be %s",
                       quant_name(model->quantize));
    return lora != NULL ? judge_saved(model, lora, err) : 0;
}

/* Each name of modules_to_save is a module's. */
static int judge_saved(const struct model *model, const struct lora *lora, struct error *err)
{
    int i, j;

    for (i = 0; i < lora->saves; i++) {
        const struct lora one = { .saves = 1, .saved = &lora->saved[i] };

        for (j = 0; j < model->param_count && !lora_saves(&one, model->param[j].name); j++)
            ;
        if (j == model->param_count)
            return err_set(err, "modules_to_save: no module of this model is named %s",
                           lora->saved[i]);
    }
    return 0;
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
    free(model->frozen);
    free(model);
}

static void begin_layer(struct model *model, const char *name)
{
    struct model_layer *layer = &model->layer[model->layers];

    snprintf(layer->name, sizeof layer->name, "%s", name);
    layer->offset = model->count;
    layer->frozen_offset = model->frozen_bytes;
    layer->first_param = model->param_count;
    layer->tied = -1;
}

static void end_layer(struct model *model)
{
    struct model_layer *layer = &model->layer[model->layers++];

    model->count = aligned(model->count, MODEL_ALIGN);
    layer->count = model->count - layer->offset;
    model->frozen_bytes = aligned(model->frozen_bytes, MODEL_BYTES);
    layer->frozen_bytes = model->frozen_bytes - layer->frozen_offset;
    if (layer->count == 0 && model->first_trained == model->layers - 1)
        model->first_trained = model->layers;
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
    param->count = columns == 0 ? rows : rows * columns;
    param->is_frozen = is_frozen(model, name);
    param->is_spared = param->dims == 1; /* a bias, or the weight of a norm */
    param->is_quantized = param->is_frozen && model->quantize != QUANT_NONE &&
                          is_linear(model, param);
    place(model, param, together);
    return model->param_count - 1 - model->layer[model->layers].first_param;
}

/* Quantized ones need not be together: it is in the room that one product computes with them. */
static void place(struct model *model, struct model_param *param, bool together)
{
    size_t    *wide = &model->layer[model->layers].wide_count;
    const bool follows = together && param[-1].is_quantized;

    if (param->is_frozen) {
        param->offset = together && !param->is_quantized
                            ? model->frozen_bytes
                            : aligned(model->frozen_bytes, MODEL_BYTES);
        model->frozen_bytes = param->offset + model_frozen_bytes(model, param);
    } else {
        param->offset = together ? model->count : aligned(model->count, MODEL_ALIGN);
        model->count = param->offset + param->count;
    }
    if (param->is_quantized) {
        param->wide_offset = follows ? *wide : aligned(*wide, MODEL_ALIGN);
        *wide = param->wide_offset + param->count;
        model->wide_count = *wide > model->wide_count ? *wide : model->wide_count;
    }
}

static bool is_frozen(const struct model *model, const char *name)
{
    const struct model_tuning *tuning = model->tuning;

    if (tuning == NULL || strstr(name, LORA_A) != NULL || strstr(name, LORA_B) != NULL)
        return false;
    if (tuning->lora != NULL)
        return !lora_saves(tuning->lora, name);
    return tuning->freeze != NULL && regexec(tuning->freeze, name, 0, NULL, 0) == 0;
}

/* Blocks have no other matrices but adapters, which are not frozen. */
static bool is_linear(const struct model *model, const struct model_param *param)
{
    return param->dims == 2 && param->layer > 0 && param->layer <= model->config.blocks;
}

int model_spare(struct model *model, const regex_t *regex, struct error *err)
{
    struct model_param *param;
    bool                is_any = false;
    int                 i;

    for (i = 0; i < model->param_count; i++) {
        param = &model->param[i];
        param->is_spared = regex != NULL && regexec(regex, param->name, 0, NULL, 0) == 0;
        is_any = is_any || (param->is_spared && !param->is_frozen);
    }
    if (regex != NULL && !is_any)
        return err_set(err, "no name of a trained parameter has a match");
    return 0;
}

static size_t aligned(size_t count, size_t to)
{
    return (count + to - 1) / to * to;
}

const struct model_param *model_param_at(const struct model *model, size_t offset)
{
    const struct model_param *param;
    int                       i;

    for (i = 0; i < model->param_count; i++) {
        param = &model->param[i];
        if (!param->is_frozen && offset >= param->offset && offset - param->offset < param->count)
            return param;
    }
    return NULL;
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
    const struct value_source source = { .arg = &seed, .read = read_initial };

    (void)model_fill(model, &source, first, count, values, NULL); /* the source cannot fail */
}

static int read_initial(void *arg, const struct model_param *param, size_t first, size_t count,
                        float *values, struct error *err)
{
    (void)err;
    model_initial_param(param, *(const uint64_t *)arg, first, count, values);
    return 0;
}

void model_initial_param(const struct model_param *param, uint64_t seed, size_t first,
                         size_t count, float *values)
{
    const uint64_t place =
        scramble(fnv_add(scramble(seed), param->name, strlen(param->name))) + first;
    const float    deviation = param->deviation;
    size_t         i;

#pragma omp parallel for schedule(static) if (count > 4096)
    for (i = 0; i < count; i++) {
        switch (param->init) {
        case MODEL_INIT_ZERO:    values[i] = 0; break;
        case MODEL_INIT_ONE:     values[i] = 1; break;
        case MODEL_INIT_NORMAL:  values[i] = deviation * normal(place + i); break;
        case MODEL_INIT_UNIFORM: values[i] = deviation * uniform(place + i); break;
        }
    }
}

/* Returns a normally distributed number from two uniform ones, by Box and Muller's method. */
static float normal(uint64_t place)
{
    const uint64_t bits = scramble(place);
    const float    radius = sqrtf(-2 * logf(((float)(bits >> 40) + 1) * 0x1p-24f));

    return radius * cosf((float)(2 * M_PI) * (float)(bits & 0xffffff) * 0x1p-24f);
}

/* Returns a number from -1 to 1. */
static float uniform(uint64_t place)
{
    return (float)(scramble(place) >> 40) * 0x1p-23f - 1;
}
