/* gpt2.c - GPT-2: its parameters and embeddings; prenorm.c has its blocks
 *
 * Its weights are stored as [in][out], as in Hugging Face's Conv1D.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "model/model_run.h"

enum { WTE, WPE };

static int add(struct model *model, int block, const char *name, int rows, int columns,
               double deviation);
static void add_pair(struct model *model, int block, const char *name, int in, int out,
                     double deviation, int which);
static void add_norm(struct model *model, int block, const char *name, int which);

static void list_embeddings(struct model *model)
{
    const struct model_config *c = &model->config;

    model_add_param(model, "transformer.wte.weight", (size_t)c->vocabulary, (size_t)c->width,
                    MODEL_INIT_NORMAL, c->deviation, false);
    model_add_param(model, "transformer.wpe.weight", (size_t)c->positions, (size_t)c->width,
                    MODEL_INIT_NORMAL, c->deviation, false);
}

/* Weights whose output is added to x start smaller, by the root of the number of additions. */
static void list_block(struct model *model, int block)
{
    const struct model_config *c = &model->config;
    const double               small = c->deviation / sqrt(2.0 * c->blocks);
    const int                  width = c->width, inner = c->inner;

    add_norm(model, block, "ln_1", 0);
    add_pair(model, block, "attn.c_attn", width, 3 * width, c->deviation, PLACE_QKV);
    add_pair(model, block, "attn.c_proj", width, width, small, PLACE_PROJECT);
    add_norm(model, block, "ln_2", 1);
    add_pair(model, block, "mlp.c_fc", width, inner, c->deviation, PLACE_UP);
    add_pair(model, block, "mlp.c_proj", inner, width, small, PLACE_DOWN);
}

static void add_pair(struct model *model, int block, const char *name, int in, int out,
                     double deviation, int which)
{
    char whole[MODEL_NAME_MAX];

    snprintf(whole, sizeof whole, "%s.weight", name);
    model->places->weight[which] = add(model, block, whole, in, out, deviation);
    snprintf(whole, sizeof whole, "%s.bias", name);
    model->places->bias[which] = add(model, block, whole, out, 0, 0);
}

static void add_norm(struct model *model, int block, const char *name, int which)
{
    char whole[MODEL_NAME_MAX];

    snprintf(whole, sizeof whole, "%s.weight", name);
    model->places->norm[which] = add(model, block, whole, model->config.width, 0, 1);
    snprintf(whole, sizeof whole, "%s.bias", name);
    model->places->norm_bias[which] = add(model, block, whole, model->config.width, 0, 0);
}

/* Vectors start as deviation, which is 0 or 1. */
static int add(struct model *model, int block, const char *name, int rows, int columns,
               double deviation)
{
    char whole[MODEL_NAME_MAX + 32];

    snprintf(whole, sizeof whole, "transformer.h.%d.%s", block, name);
    return model_add_param(model, whole, (size_t)rows, (size_t)columns,
                           columns > 0     ? MODEL_INIT_NORMAL
                           : deviation > 0 ? MODEL_INIT_ONE
                                           : MODEL_INIT_ZERO,
                           deviation, false);
}

static void list_head(struct model *model)
{
    const size_t width = (size_t)model->config.width;

    model->places->last_norm = model_add_param(model, "transformer.ln_f.weight", width, 0,
                                               MODEL_INIT_ONE, 0, false);
    model->places->last_norm_bias = model_add_param(model, "transformer.ln_f.bias", width, 0,
                                                    MODEL_INIT_ZERO, 0, false);
}

static void embed(struct model *model, const struct model_batch *batch)
{
    struct model_run *run = model->run;

    model->ops->embed(model->ops, run->block[0].in, batch->tokens, layer_param(model, 0, WTE),
                      layer_param(model, 0, WPE), NULL, run->rows, run->length,
                      model->config.width);
    drop_rows(model, 0, DROP_EMBEDDED, run->block[0].in, run->block[0].in);
}

static void embed_backward(struct model *model, const struct model_batch *batch)
{
    struct model_run *run = model->run;

    drop_rows(model, 0, DROP_EMBEDDED, run->d, run->d);
    model->ops->embed_backward(model->ops, layer_grad(model, 0, WTE), layer_grad(model, 0, WPE),
                               run->d, batch->tokens, run->rows, run->length,
                               model->config.width);
}

const struct model_family gpt2_family = {
    .list_embeddings = list_embeddings,
    .list_block = list_block,
    .list_head = list_head,
    .embed = embed,
    .embed_backward = embed_backward,
    .block = prenorm_block,
    .block_backward = prenorm_block_backward,
    .head = prenorm_head,
    .head_backward = prenorm_head_backward,
};
