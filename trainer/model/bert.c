/* bert.c - BERT and RoBERTa: norm after each sublayer, bidirectional attention, masked tokens
 *
 *     x = norm(x + project(attention(x)))
 *     x = norm(x + down(gelu(up(x))))
 *
 * Weights are stored as [out][in], as in PyTorch's Linear. Those of query, key and value are
 * adjacent, so that one product computes all three. RoBERTa has other names, and does not use
 * its first two positions.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>

#include "model/model_run.h"

enum { WORDS, POSITIONS, TYPES, NORM, NORM_BIAS };
enum { QUERY, KEY, VALUE, QUERY_BIAS, KEY_BIAS, VALUE_BIAS, PROJECT, PROJECT_BIAS, NORM1,
       NORM1_BIAS, UP, UP_BIAS, DOWN, DOWN_BIAS, NORM2, NORM2_BIAS };
enum { DENSE, DENSE_BIAS, HEAD_NORM, HEAD_NORM_BIAS, WORDS_BIAS };

static void add(struct model *model, const char *name, int rows, int columns,
                enum model_init init, bool together);
static void add_pair(struct model *model, int block, const char *name, int out, int in);
static void add_norm(struct model *model, int block, const char *name);
static const void *first_position(struct model *model, const void *positions);

static void list_embeddings(struct model *model)
{
    const struct model_config *c = &model->config;

    add(model, "embeddings.word_embeddings.weight", c->vocabulary, c->width, MODEL_INIT_NORMAL,
        false);
    add(model, "embeddings.position_embeddings.weight", c->positions, c->width,
        MODEL_INIT_NORMAL, false);
    add(model, "embeddings.token_type_embeddings.weight", c->types, c->width, MODEL_INIT_NORMAL,
        false);
    add(model, "embeddings.LayerNorm.weight", c->width, 0, MODEL_INIT_ONE, false);
    add(model, "embeddings.LayerNorm.bias", c->width, 0, MODEL_INIT_ZERO, false);
}

static void list_block(struct model *model, int block)
{
    static const char *const names[] = { "query", "key", "value" };
    const int                width = model->config.width;
    char                     name[MODEL_NAME_MAX];
    int                      i;

    for (i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "encoder.layer.%d.attention.self.%s.weight", block, names[i]);
        add(model, name, width, width, MODEL_INIT_NORMAL, i > 0);
    }
    for (i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "encoder.layer.%d.attention.self.%s.bias", block, names[i]);
        add(model, name, width, 0, MODEL_INIT_ZERO, i > 0);
    }
    add_pair(model, block, "attention.output.dense", width, width);
    add_norm(model, block, "attention.output.LayerNorm");
    add_pair(model, block, "intermediate.dense", model->config.inner, width);
    add_pair(model, block, "output.dense", width, model->config.inner);
    add_norm(model, block, "output.LayerNorm");
    *model->places = (struct model_places){
        .weight = { QUERY, PROJECT, UP, DOWN },
        .bias = { QUERY_BIAS, PROJECT_BIAS, UP_BIAS, DOWN_BIAS },
        .parts = { 3, 1, 1, 1 },
        .turned = true,
        .words = -1,
    };
}

static void add_pair(struct model *model, int block, const char *name, int out, int in)
{
    char whole[MODEL_NAME_MAX];

    snprintf(whole, sizeof whole, "encoder.layer.%d.%s.weight", block, name);
    add(model, whole, out, in, MODEL_INIT_NORMAL, false);
    snprintf(whole, sizeof whole, "encoder.layer.%d.%s.bias", block, name);
    add(model, whole, out, 0, MODEL_INIT_ZERO, false);
}

static void add_norm(struct model *model, int block, const char *name)
{
    char whole[MODEL_NAME_MAX];

    snprintf(whole, sizeof whole, "encoder.layer.%d.%s.weight", block, name);
    add(model, whole, model->config.width, 0, MODEL_INIT_ONE, false);
    snprintf(whole, sizeof whole, "encoder.layer.%d.%s.bias", block, name);
    add(model, whole, model->config.width, 0, MODEL_INIT_ZERO, false);
}

static void add(struct model *model, const char *name, int rows, int columns,
                enum model_init init, bool together)
{
    char whole[MODEL_NAME_MAX + 16];

    snprintf(whole, sizeof whole, "%s.%s",
             model->config.kind == MODEL_BERT ? "bert" : "roberta", name);
    model_add_param(model, whole, (size_t)rows, (size_t)columns, init, model->config.deviation,
                    together);
}

static void list_head(struct model *model)
{
    static const char *const names[2][5] = {
        { "cls.predictions.transform.dense.weight", "cls.predictions.transform.dense.bias",
          "cls.predictions.transform.LayerNorm.weight",
          "cls.predictions.transform.LayerNorm.bias", "cls.predictions.bias" },
        { "lm_head.dense.weight", "lm_head.dense.bias", "lm_head.layer_norm.weight",
          "lm_head.layer_norm.bias", "lm_head.bias" },
    };
    const struct model_config *c = &model->config;
    const char *const         *name = names[c->kind != MODEL_BERT];
    const size_t               width = (size_t)c->width;

    model_add_param(model, name[DENSE], width, width, MODEL_INIT_NORMAL, c->deviation, false);
    model_add_param(model, name[DENSE_BIAS], width, 0, MODEL_INIT_ZERO, 0, false);
    model_add_param(model, name[HEAD_NORM], width, 0, MODEL_INIT_ONE, 0, false);
    model_add_param(model, name[HEAD_NORM_BIAS], width, 0, MODEL_INIT_ZERO, 0, false);
    model_add_param(model, name[WORDS_BIAS], (size_t)c->vocabulary, 0, MODEL_INIT_ZERO, 0, false);
}

static void embed(struct model *model, const struct model_batch *batch)
{
    struct ops       *ops = model->ops;
    struct model_run *run = model->run;
    const struct norm norm = model_norm(model, run->rows);

    ops->embed(ops, run->embedded, batch->tokens, layer_param(model, 0, WORDS),
               first_position(model, layer_param(model, 0, POSITIONS)),
               layer_param(model, 0, TYPES), run->rows, run->length, norm.width);
    ops->norm(ops, &norm, NULL, run->block[0].in, run->stats, run->embedded, NULL,
              layer_param(model, 0, NORM), layer_param(model, 0, NORM_BIAS));
    drop_rows(model, 0, DROP_EMBEDDED, run->block[0].in, run->block[0].in);
}

/* All tokens have type 0, so the type's embedding acts as a bias. */
static void embed_backward(struct model *model, const struct model_batch *batch)
{
    struct ops       *ops = model->ops;
    struct model_run *run = model->run;
    const struct norm norm = model_norm(model, run->rows);

    drop_rows(model, 0, DROP_EMBEDDED, run->d, run->d);
    ops->norm_backward(ops, &norm, run->d, layer_grad(model, 0, NORM),
                       layer_grad(model, 0, NORM_BIAS), run->d, run->embedded,
                       layer_param(model, 0, NORM), run->stats, NULL);
    ops->embed_backward(ops, layer_grad(model, 0, WORDS),
                        (void *)first_position(model, layer_grad(model, 0, POSITIONS)), run->d,
                        batch->tokens, run->rows, run->length, norm.width);
    ops->bias_backward(ops, layer_grad(model, 0, TYPES), run->d, run->rows, norm.width,
                       norm.width);
}

/* RoBERTa's positions start after that of its padding token, 1. */
static const void *first_position(struct model *model, const void *positions)
{
    const size_t row = (size_t)model->config.width * dtype_size(model->type);

    if (positions == NULL || model->config.kind != MODEL_ROBERTA)
        return positions;
    return (const char *)positions + 2 * row;
}

static void block(struct model *model, int layer, struct block_run *b, void *out)
{
    const struct block_parts p = block_parts(model, layer);
    struct ops              *ops = model->ops;
    struct model_run        *run = model->run;
    const struct qkv         x = model_qkv(model, b->qkv);

    linear_forward(model, &p.qkv, b->qkv, b->in, p.rows);
    ops->attention(ops, &p.heads, b->mixed, b->kept, &x);
    linear_forward(model, &p.project, run->row, b->mixed, p.rows);
    drop_rows(model, layer, DROP_MIXED, run->row, run->row);
    ops->norm(ops, &p.norm, b->sum1, b->normed1, b->stats1, b->in, run->row,
              layer_param(model, layer, NORM1), layer_param(model, layer, NORM1_BIAS));
    linear_forward(model, &p.up, b->inner, b->normed1, p.rows);
    ops->gelu(ops, GELU_ERF, b->active, b->inner, (size_t)p.rows * (size_t)p.inner_width);
    linear_forward(model, &p.down, run->row, b->active, p.rows);
    drop_rows(model, layer, DROP_DOWN, run->row, run->row);
    ops->norm(ops, &p.norm, b->sum2, out, b->stats2, b->normed1, run->row,
              layer_param(model, layer, NORM2), layer_param(model, layer, NORM2_BIAS));
}

/* Does the steps of block() in reverse order. */
static void block_backward(struct model *model, int layer, struct block_run *b)
{
    const struct block_parts p = block_parts(model, layer);
    struct ops              *ops = model->ops;
    struct model_run        *run = model->run;
    const struct qkv         x = model_qkv(model, b->qkv);
    const struct qkv         dx = model_qkv(model, run->dqkv);

    ops->norm_backward(ops, &p.norm, run->d, layer_grad(model, layer, NORM2),
                       layer_grad(model, layer, NORM2_BIAS), run->d, b->sum2,
                       layer_param(model, layer, NORM2), b->stats2, NULL);
    linear_backward(model, &p.down, run->dactive, false,
                    drop_rows(model, layer, DROP_DOWN, run->row, run->d), b->active, p.rows);
    ops->gelu_backward(ops, GELU_ERF, run->dinner, run->dactive, b->inner,
                       (size_t)p.rows * (size_t)p.inner_width);
    linear_backward(model, &p.up, run->d, true, run->dinner, b->normed1, p.rows);
    ops->norm_backward(ops, &p.norm, run->d, layer_grad(model, layer, NORM1),
                       layer_grad(model, layer, NORM1_BIAS), run->d, b->sum1,
                       layer_param(model, layer, NORM1), b->stats1, NULL);
    linear_backward(model, &p.project, run->row, false,
                    drop_rows(model, layer, DROP_MIXED, run->dqkv, run->d), b->mixed, p.rows);
    ops->attention_backward(ops, &p.heads, &dx, run->scratch, run->row, b->mixed, &x,
                            b->kept);
    linear_backward(model, &p.qkv, run->d, true, run->dqkv, b->in, p.rows);
}

static struct linear dense_of(const struct model *model, int layer)
{
    return (struct linear){ .layer = layer, .weight = DENSE, .bias = DENSE_BIAS,
                            .parts = 1, .in = model->config.width,
                            .out = model->config.width, .turned = true, .place = -1 };
}

static void head(struct model *model, int layer, struct head_run *h)
{
    struct ops         *ops = model->ops;
    const struct norm   norm = model_norm(model, h->count);
    const struct linear dense = dense_of(model, layer);

    linear_forward(model, &dense, h->dense, h->picked, h->count);
    ops->gelu(ops, GELU_ERF, h->active, h->dense, (size_t)h->count * (size_t)norm.width);
    ops->norm(ops, &norm, NULL, h->normed, h->stats, h->active, NULL,
              layer_param(model, layer, HEAD_NORM),
              layer_param(model, layer, HEAD_NORM_BIAS));
    words_forward(model, layer, h, layer_param(model, layer, WORDS_BIAS));
}

static void head_backward(struct model *model, int layer, struct head_run *h)
{
    struct ops         *ops = model->ops;
    const struct norm   norm = model_norm(model, h->count);
    const struct linear dense = dense_of(model, layer);

    ops->bias_backward(ops, layer_grad(model, layer, WORDS_BIAS), h->logits, h->count,
                       model->config.vocabulary, model->config.vocabulary);
    words_backward(model, layer, h);
    ops->norm_backward(ops, &norm, h->dnormed, layer_grad(model, layer, HEAD_NORM),
                       layer_grad(model, layer, HEAD_NORM_BIAS), h->dnormed, h->active,
                       layer_param(model, layer, HEAD_NORM), h->stats, NULL);
    ops->gelu_backward(ops, GELU_ERF, h->dnormed, h->dnormed, h->dense,
                       (size_t)h->count * (size_t)norm.width);
    linear_backward(model, &dense, h->dpicked, false, h->dnormed, h->picked, h->count);
}

const struct model_family bert_family = {
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
