/* linear.c - the parameters of a layer, and products with them, see model_run.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/model_run.h"

static struct linear words_of(const struct model *model, int layer);
static size_t place(const struct model *model, int layer, int number);

struct block_parts block_parts(const struct model *model, int layer)
{
    const struct model_places *places = model->places;
    const int                  width = model->config.width, inner = model->config.inner;
    const int                  q = model_q_row(model), k = model_k_row(model);
    const int                  in[] = { width, q, width, inner };
    const int                  out[] = { q + 2 * k, width, model_inner_row(model), width };
    struct block_parts         parts = { .rows = model->run->rows, .width = width,
                                         .inner_width = inner };
    struct linear             *all[] = { &parts.qkv, &parts.project, &parts.up, &parts.down };
    int                        i;

    for (i = 0; i < PLACE_LINEARS; i++)
        *all[i] = (struct linear){ .layer = layer, .weight = places->weight[i],
                                   .bias = places->bias[i], .in = in[i], .out = out[i],
                                   .turned = places->turned };
    parts.norm = model_norm(model, parts.rows);
    parts.heads = model_attention(model, layer);
    return parts;
}

void linear_forward(struct model *model, const struct linear *l, void *out, const void *x,
                    int rows)
{
    const struct matmul product = { .m = rows, .n = l->out, .k = l->in, .bt = l->turned,
                                    .lda = l->in, .ldb = l->turned ? l->in : l->out,
                                    .ldc = l->out, .batch = { 1, 1 } };

    model->ops->matmul(model->ops, &product, x, layer_param(model, l->layer, l->weight),
                       layer_param(model, l->layer, l->bias), out);
}

void linear_backward(struct model *model, const struct linear *l, void *dx, bool add,
                     const void *dout, const void *x, int rows)
{
    const int           ld = l->turned ? l->in : l->out;
    const struct matmul to_x = { .m = rows, .n = l->in, .k = l->out, .bt = !l->turned, .add = add,
                                 .lda = l->out, .ldb = ld, .ldc = l->in, .batch = { 1, 1 } };
    const struct matmul to_weight = { .m = l->in, .n = l->out, .k = rows, .at = true, .add = true,
                                      .lda = l->in, .ldb = l->out, .ldc = l->out,
                                      .batch = { 1, 1 } };
    const struct matmul to_turned = { .m = l->out, .n = l->in, .k = rows, .at = true, .add = true,
                                      .lda = l->out, .ldb = l->in, .ldc = l->in,
                                      .batch = { 1, 1 } };
    struct ops         *ops = model->ops;
    void               *dweight = layer_grad(model, l->layer, l->weight);

    if (l->bias >= 0)
        ops->bias_backward(ops, layer_grad(model, l->layer, l->bias), dout, rows, l->out);
    if (l->turned)
        ops->matmul(ops, &to_turned, dout, x, NULL, dweight);
    else
        ops->matmul(ops, &to_weight, x, dout, NULL, dweight);
    ops->matmul(ops, &to_x, dout, layer_param(model, l->layer, l->weight), NULL, dx);
}

void words_forward(struct model *model, int layer, struct head_run *head, const void *bias)
{
    const int           width = model->config.width, words = model->config.vocabulary;
    const struct matmul product = { .m = head->count, .n = words, .k = width, .bt = true,
                                    .lda = width, .ldb = width, .ldc = words,
                                    .batch = { 1, 1 } };
    const struct linear vectors = words_of(model, layer);

    model->ops->matmul(model->ops, &product, head->normed,
                       layer_param(model, vectors.layer, vectors.weight), bias, head->logits);
}

void words_backward(struct model *model, int layer, struct head_run *head)
{
    const int           width = model->config.width, words = model->config.vocabulary;
    const struct matmul to_words = { .m = words, .n = width, .k = head->count, .at = true,
                                     .add = true, .lda = words, .ldb = width, .ldc = width,
                                     .batch = { 1, 1 } };
    const struct matmul to_normed = { .m = head->count, .n = width, .k = words, .lda = words,
                                      .ldb = width, .ldc = width, .batch = { 1, 1 } };
    const struct linear vectors = words_of(model, layer);
    struct ops         *ops = model->ops;

    ops->matmul(ops, &to_words, head->logits, head->normed, NULL,
                layer_grad(model, vectors.layer, vectors.weight));
    ops->matmul(ops, &to_normed, head->logits,
                layer_param(model, vectors.layer, vectors.weight), NULL, head->dnormed);
}

/* Returns which parameter has the tokens' vectors. */
static struct linear words_of(const struct model *model, int layer)
{
    return model->places->words < 0
               ? (struct linear){ .layer = 0, .weight = 0 }
               : (struct linear){ .layer = layer, .weight = model->places->words };
}

const void *layer_param(const struct model *model, int layer, int number)
{
    return number < 0 ? NULL : (const char *)model->params[layer] + place(model, layer, number);
}

void *layer_grad(const struct model *model, int layer, int number)
{
    return number < 0 ? NULL : (char *)model->grads[layer] + place(model, layer, number);
}

/* Returns a parameter's offset in bytes from the start of the layer. */
static size_t place(const struct model *model, int layer, int number)
{
    const struct model_layer *l = &model->layer[layer];

    return (model->param[l->first_param + number].offset - l->offset) * dtype_size(model->type);
}
