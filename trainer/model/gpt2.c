/* gpt2.c - GPT-2: norm before each sublayer, causal attention
 *
 *     x += project(attention(norm(x)))
 *     x += down(gelu(up(norm(x))))
 *
 * Its weights are stored as [in][out], as in Hugging Face's Conv1D.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "model/model_run.h"

enum { WTE, WPE };
enum { NORM1, NORM1_BIAS, QKV, QKV_BIAS, PROJECT, PROJECT_BIAS, NORM2, NORM2_BIAS, UP, UP_BIAS,
       DOWN, DOWN_BIAS };
enum { NORM, NORM_BIAS };

static void add_block_param(struct model *model, int block, const char *name, int rows,
                            int columns, enum model_init init, double deviation);

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

    add_block_param(model, block, "ln_1.weight", width, 0, MODEL_INIT_ONE, 0);
    add_block_param(model, block, "ln_1.bias", width, 0, MODEL_INIT_ZERO, 0);
    add_block_param(model, block, "attn.c_attn.weight", width, 3 * width, MODEL_INIT_NORMAL,
                    c->deviation);
    add_block_param(model, block, "attn.c_attn.bias", 3 * width, 0, MODEL_INIT_ZERO, 0);
    add_block_param(model, block, "attn.c_proj.weight", width, width, MODEL_INIT_NORMAL, small);
    add_block_param(model, block, "attn.c_proj.bias", width, 0, MODEL_INIT_ZERO, 0);
    add_block_param(model, block, "ln_2.weight", width, 0, MODEL_INIT_ONE, 0);
    add_block_param(model, block, "ln_2.bias", width, 0, MODEL_INIT_ZERO, 0);
    add_block_param(model, block, "mlp.c_fc.weight", width, inner, MODEL_INIT_NORMAL,
                    c->deviation);
    add_block_param(model, block, "mlp.c_fc.bias", inner, 0, MODEL_INIT_ZERO, 0);
    add_block_param(model, block, "mlp.c_proj.weight", inner, width, MODEL_INIT_NORMAL, small);
    add_block_param(model, block, "mlp.c_proj.bias", width, 0, MODEL_INIT_ZERO, 0);
}

static void list_head(struct model *model)
{
    const size_t width = (size_t)model->config.width;

    model_add_param(model, "transformer.ln_f.weight", width, 0, MODEL_INIT_ONE, 0, false);
    model_add_param(model, "transformer.ln_f.bias", width, 0, MODEL_INIT_ZERO, 0, false);
}

static void add_block_param(struct model *model, int block, const char *name, int rows,
                            int columns, enum model_init init, double deviation)
{
    char whole[MODEL_NAME_MAX];

    snprintf(whole, sizeof whole, "transformer.h.%d.%s", block, name);
    model_add_param(model, whole, (size_t)rows, (size_t)columns, init, deviation, false);
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

static const struct block_places places = {
    .weights = { QKV, PROJECT, UP, DOWN },
    .biases = { QKV_BIAS, PROJECT_BIAS, UP_BIAS, DOWN_BIAS },
};

static void block(struct model *model, int layer, struct block_run *b, void *out)
{
    const struct block_parts p = block_parts(model, layer, &places);
    struct ops              *ops = model->ops;
    struct model_run        *run = model->run;
    const struct qkv         x = model_qkv(model, b->qkv);

    ops->norm(ops, &p.norm, NULL, b->normed1, b->stats1, b->in, NULL,
                   layer_param(model, layer, NORM1), layer_param(model, layer, NORM1_BIAS));
    linear_forward(model, &p.qkv, b->qkv, b->normed1, p.rows);
    ops->attention(ops, &p.heads, b->mixed, b->weights, &x);
    linear_forward(model, &p.project, run->row, b->mixed, p.rows);
    drop_rows(model, layer, DROP_MIXED, run->row, run->row);
    ops->norm(ops, &p.norm, b->sum1, b->normed2, b->stats2, b->in, run->row,
                   layer_param(model, layer, NORM2), layer_param(model, layer, NORM2_BIAS));
    linear_forward(model, &p.up, b->inner, b->normed2, p.rows);
    ops->gelu(ops, GELU_TANH, b->active, b->inner, p.inner);
    linear_forward(model, &p.down, run->row, b->active, p.rows);
    drop_rows(model, layer, DROP_DOWN, run->row, run->row);
    ops->add(ops, out, b->sum1, run->row, (size_t)p.rows * (size_t)p.width);
}

/* Does the steps of block() in reverse order. d always includes the gradient of x that bypasses
 * the sublayer. */
static void block_backward(struct model *model, int layer, struct block_run *b)
{
    const struct block_parts p = block_parts(model, layer, &places);
    struct ops              *ops = model->ops;
    struct model_run        *run = model->run;
    const struct qkv         x = model_qkv(model, b->qkv);
    const struct qkv         dx = model_qkv(model, run->dqkv);

    linear_backward(model, &p.down, run->dinner, false,
                    drop_rows(model, layer, DROP_DOWN, run->row, run->d), b->active, p.rows);
    ops->gelu_backward(ops, GELU_TANH, run->dinner, run->dinner, b->inner, p.inner);
    linear_backward(model, &p.up, run->row, false, run->dinner, b->normed2, p.rows);
    ops->norm_backward(ops, &p.norm, run->d, layer_grad(model, layer, NORM2),
                            layer_grad(model, layer, NORM2_BIAS), run->row, b->sum1,
                            layer_param(model, layer, NORM2), b->stats2, run->d);
    linear_backward(model, &p.project, run->row, false,
                    drop_rows(model, layer, DROP_MIXED, run->dqkv, run->d), b->mixed, p.rows);
    ops->attention_backward(ops, &p.heads, &dx, run->dweights, run->row, b->mixed, &x,
                            b->weights);
    linear_backward(model, &p.qkv, run->row, false, run->dqkv, b->normed1, p.rows);
    ops->norm_backward(ops, &p.norm, run->d, layer_grad(model, layer, NORM1),
                            layer_grad(model, layer, NORM1_BIAS), run->row, b->in,
                            layer_param(model, layer, NORM1), b->stats1, run->d);
}

static void head(struct model *model, int layer, struct head_run *h)
{
    const struct norm norm = model_norm(model, h->count);

    model->ops->norm(model->ops, &norm, NULL, h->normed, h->stats, h->picked, NULL,
                          layer_param(model, layer, NORM), layer_param(model, layer, NORM_BIAS));
    words_forward(model, h, NULL);
}

static void head_backward(struct model *model, int layer, struct head_run *h)
{
    const struct norm norm = model_norm(model, h->count);

    words_backward(model, h);
    model->ops->norm_backward(model->ops, &norm, h->dpicked, layer_grad(model, layer, NORM),
                                   layer_grad(model, layer, NORM_BIAS), h->dnormed, h->picked,
                                   layer_param(model, layer, NORM), h->stats, NULL);
}

const struct model_family gpt2_family = {
    .list_embeddings = list_embeddings,
    .list_block = list_block,
    .list_head = list_head,
    .embed = embed,
    .embed_backward = embed_backward,
    .block = block,
    .block_backward = block_backward,
    .head = head,
    .head_backward = head_backward,
};
