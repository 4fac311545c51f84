/* prenorm.c - blocks and heads with a norm before each sublayer, see model_run.h
 *
 *     x += project(attention(norm(x)))
 *     x += down(activation(up(norm(x))))
 *
 * GPT-2 has LayerNorm and GELU. Llama's family has RMSNorm, SwiGLU, whose gate and value come
 * from one product, and rotary embeddings of queries and keys.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/model_run.h"

static void        norm(struct model *model, int layer, int which, void *sum, void *out,
                        void *stats, const void *x, const void *y);
static void        norm_backward(struct model *model, int layer, int which, const void *x,
                                 const void *stats);
static void        activate(struct model *model, struct block_run *b);
static void        activate_backward(struct model *model, struct block_run *b);
static void        turn(struct model *model, int layer, struct block_run *b);
static void        turn_back(struct model *model, int layer, struct block_run *b);
static void        rotate(struct model *model, void *x, int row, bool back);
static struct qkv  heads_of(const struct model *model, const struct block_run *b);
static struct norm heads_norm(const struct model *model, int row, int x_row, int out_row);

void prenorm_block(struct model *model, int layer, struct block_run *b, void *out)
{
    const struct block_parts p = block_parts(model, layer);
    const struct qkv         x = heads_of(model, b);
    struct ops              *ops = model->ops;
    struct model_run        *run = model->run;

    norm(model, layer, 0, NULL, b->normed1, b->stats1, b->in, NULL);
    linear_forward(model, &p.qkv, b->qkv, b->normed1, p.rows);
    turn(model, layer, b);
    ops->attention(ops, &p.heads, b->mixed, b->kept, &x);
    linear_forward(model, &p.project, run->row, b->mixed, p.rows);
    drop_rows(model, layer, DROP_MIXED, run->row, run->row);
    norm(model, layer, 1, b->sum1, b->normed2, b->stats2, b->in, run->row);
    linear_forward(model, &p.up, b->inner, b->normed2, p.rows);
    activate(model, b);
    linear_forward(model, &p.down, run->row, b->active, p.rows);
    drop_rows(model, layer, DROP_DOWN, run->row, run->row);
    ops->add(ops, out, b->sum1, run->row, (size_t)p.rows * (size_t)p.width);
}

/* Does the steps of prenorm_block() in reverse order. d always includes the gradient of x that
 * bypasses the sublayer. */
void prenorm_block_backward(struct model *model, int layer, struct block_run *b)
{
    const struct block_parts p = block_parts(model, layer);
    struct ops              *ops = model->ops;
    struct model_run        *run = model->run;
    const struct qkv         x = heads_of(model, b), dx = model_qkv(model, run->dqkv);

    linear_backward(model, &p.down, run->dactive, false,
                    drop_rows(model, layer, DROP_DOWN, run->row, run->d), b->active, p.rows);
    activate_backward(model, b);
    linear_backward(model, &p.up, run->row, false, run->dinner, b->normed2, p.rows);
    norm_backward(model, layer, 1, b->sum1, b->stats2);
    linear_backward(model, &p.project, run->row, false,
                    drop_rows(model, layer, DROP_MIXED, run->dqkv, run->d), b->mixed, p.rows);
    ops->attention_backward(ops, &p.heads, &dx, run->scratch, run->row, b->mixed, &x, b->kept);
    turn_back(model, layer, b);
    linear_backward(model, &p.qkv, run->row, false, run->dqkv, b->normed1, p.rows);
    norm_backward(model, layer, 0, b->in, b->stats1);
}

static void norm(struct model *model, int layer, int which, void *sum, void *out, void *stats,
                 const void *x, const void *y)
{
    const struct norm shape = model_norm(model, model->run->rows);

    model->ops->norm(model->ops, &shape, sum, out, stats, x, y,
                     layer_param(model, layer, model->places->norm[which]),
                     layer_param(model, layer, model->places->norm_bias[which]));
}

/* Adds the gradient of x, from that of the norm's output in row, to d. */
static void norm_backward(struct model *model, int layer, int which, const void *x,
                          const void *stats)
{
    const struct norm shape = model_norm(model, model->run->rows);
    struct model_run *run = model->run;

    model->ops->norm_backward(model->ops, &shape, run->d,
                              layer_grad(model, layer, model->places->norm[which]),
                              layer_grad(model, layer, model->places->norm_bias[which]),
                              run->row, x,
                              layer_param(model, layer, model->places->norm[which]), stats,
                              run->d);
}

static void activate(struct model *model, struct block_run *b)
{
    struct ops *ops = model->ops;
    const int   rows = model->run->rows, inner = model->config.inner;

    if (model_is_llama(model))
        ops->swiglu(ops, b->active, b->inner, rows, inner);
    else
        ops->gelu(ops, GELU_TANH, b->active, b->inner, (size_t)rows * (size_t)inner);
}

static void activate_backward(struct model *model, struct block_run *b)
{
    struct ops       *ops = model->ops;
    struct model_run *run = model->run;
    const int         rows = run->rows, inner = model->config.inner;

    if (model_is_llama(model))
        ops->swiglu_backward(ops, run->dinner, run->dactive, b->inner, rows, inner);
    else
        ops->gelu_backward(ops, GELU_TANH, run->dinner, run->dactive, b->inner,
                           (size_t)rows * (size_t)inner);
}

/* ---- rotary embeddings ---- */

/* The backward pass of the norm needs its input, so that the output has memory of its own. */
static void turn(struct model *model, int layer, struct block_run *b)
{
    const struct qkv  from = model_qkv(model, b->qkv), to = heads_of(model, b);
    const int         q = model_q_row(model), k = model_k_row(model);
    const struct norm q_shape = heads_norm(model, q, from.q_row, to.q_row);
    const struct norm k_shape = heads_norm(model, k, from.k_row, to.k_row);
    struct ops       *ops = model->ops;

    if (!model_is_llama(model))
        return;
    if (b->turned != NULL) {
        ops->norm(ops, &q_shape, NULL, to.q, b->q_stats, from.q, NULL,
                  layer_param(model, layer, model->places->q_norm), NULL);
        ops->norm(ops, &k_shape, NULL, to.k, b->k_stats, from.k, NULL,
                  layer_param(model, layer, model->places->k_norm), NULL);
    }
    rotate(model, to.q, to.q_row, false);
}

/* Replaces the gradient of the turned queries and keys in dqkv by that of the product. */
static void turn_back(struct model *model, int layer, struct block_run *b)
{
    const struct qkv  x = model_qkv(model, b->qkv), d = model_qkv(model, model->run->dqkv);
    const int         q = model_q_row(model), k = model_k_row(model);
    const struct norm q_shape = heads_norm(model, q, x.q_row, d.q_row);
    const struct norm k_shape = heads_norm(model, k, x.k_row, d.k_row);
    struct ops       *ops = model->ops;

    if (!model_is_llama(model))
        return;
    rotate(model, d.q, d.q_row, true);
    if (b->turned == NULL)
        return;
    ops->norm_backward(ops, &q_shape, d.q, layer_grad(model, layer, model->places->q_norm), NULL,
                       d.q, x.q, layer_param(model, layer, model->places->q_norm), b->q_stats,
                       NULL);
    ops->norm_backward(ops, &k_shape, d.k, layer_grad(model, layer, model->places->k_norm), NULL,
                       d.k, x.k, layer_param(model, layer, model->places->k_norm), b->k_stats,
                       NULL);
}

/* Keys are next to queries, so that they turn together. */
static void rotate(struct model *model, void *x, int row, bool back)
{
    const int           width = model_head_width(&model->config);
    const struct rotary shape = { .rows = model->run->rows, .length = model->run->length,
                                  .heads = (model_q_row(model) + model_k_row(model)) / width,
                                  .head_width = width, .row = row, .back = back };

    model->ops->rotate(model->ops, &shape, x, model->run->angles);
}

/* Returns where attention finds its queries, keys and values. */
static struct qkv heads_of(const struct model *model, const struct block_run *b)
{
    struct qkv x = model_qkv(model, b->qkv);

    if (b->turned != NULL) {
        x.q_row = x.k_row = model_q_row(model) + model_k_row(model);
        x.q = b->turned;
        x.k = (char *)b->turned + (size_t)model_q_row(model) * dtype_size(model->type);
    }
    return x;
}

/* row: elements of the heads in a row. */
static struct norm heads_norm(const struct model *model, int row, int x_row, int out_row)
{
    const int width = model_head_width(&model->config);

    return (struct norm){ .rows = model->run->rows, .width = width, .each = row / width,
                          .x_row = x_row, .out_row = out_row,
                          .epsilon = model->config.norm_epsilon };
}

/* ---- head ---- */

void prenorm_head(struct model *model, int layer, struct head_run *h)
{
    const struct norm shape = model_norm(model, h->count);

    model->ops->norm(model->ops, &shape, NULL, h->normed, h->stats, h->picked, NULL,
                     layer_param(model, layer, model->places->last_norm),
                     layer_param(model, layer, model->places->last_norm_bias));
    words_forward(model, layer, h, NULL);
}

void prenorm_head_backward(struct model *model, int layer, struct head_run *h)
{
    const struct norm shape = model_norm(model, h->count);

    words_backward(model, layer, h);
    model->ops->norm_backward(model->ops, &shape, h->dpicked,
                              layer_grad(model, layer, model->places->last_norm),
                              layer_grad(model, layer, model->places->last_norm_bias),
                              h->dnormed, h->picked,
                              layer_param(model, layer, model->places->last_norm), h->stats,
                              NULL);
}
