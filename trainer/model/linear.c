/* linear.c - the parameters of a layer, and products with them, see model_run.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/model_fill.h"
#include "model/model_run.h"

/* Parts of a linear layer that are adjacent in memory, so that one product computes them. */
struct span {
    int weight, bias; /* numbers of the first ones */
    int parts;
    int first, out; /* outputs */
};

static struct span  span_at(const struct model *model, const struct linear *linear, int part);
static bool         are_adjacent(const struct model *model, int layer, int number);
static struct linear words_of(const struct model *model, int layer);
static const struct model_param *param_at(const struct model *model, int layer, int number);

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
                                   .bias = places->bias[i], .parts = places->parts[i],
                                   .in = in[i], .out = out[i], .turned = places->turned,
                                   .place = i };
    parts.norm = model_norm(model, parts.rows);
    parts.heads = model_attention(model, layer);
    return parts;
}

void linear_forward(struct model *model, const struct linear *l, void *out, const void *x,
                    int rows)
{
    struct matmul product = { .m = rows, .k = l->in, .bt = l->turned, .lda = l->in,
                              .ldb = l->turned ? l->in : l->out, .ldc = l->out,
                              .batch = { 1, 1 } };
    struct span   s;
    int           part;

    for (part = 0; part < l->parts; part += s.parts) {
        s = span_at(model, l, part);
        product.n = s.out;
        model->ops->matmul(model->ops, &product, x, layer_param(model, l->layer, s.weight),
                           layer_param(model, l->layer, s.bias),
                           (char *)out + (size_t)s.first * dtype_size(model->type));
    }
    adapters_forward(model, l, out, x, rows);
}

void linear_backward(struct model *model, const struct linear *l, void *dx, bool add,
                     const void *dout, const void *x, int rows)
{
    struct matmul to_x = { .m = rows, .n = l->in, .bt = !l->turned, .add = add, .lda = l->out,
                           .ldb = l->turned ? l->in : l->out, .ldc = l->in, .batch = { 1, 1 } };
    struct matmul to_weight = { .m = l->in, .n = l->out, .k = rows, .at = true, .add = true,
                                .lda = l->in, .ldb = l->out, .ldc = l->out, .batch = { 1, 1 } };
    struct matmul to_turned = { .n = l->in, .k = rows, .at = true, .add = true, .lda = l->out,
                                .ldb = l->in, .ldc = l->in, .batch = { 1, 1 } };
    struct ops   *ops = model->ops;
    struct span   s;
    const char   *d;
    void         *dweight;
    int           part;

    for (part = 0; part < l->parts; part += s.parts) {
        s = span_at(model, l, part);
        d = (const char *)dout + (size_t)s.first * dtype_size(model->type);
        dweight = layer_grad(model, l->layer, s.weight);
        ops->bias_backward(ops, layer_grad(model, l->layer, s.bias), d, rows, s.out, l->out);
        to_x.k = to_turned.m = s.out;
        if (dweight != NULL && l->turned)
            ops->matmul(ops, &to_turned, d, x, NULL, dweight);
        else if (dweight != NULL)
            ops->matmul(ops, &to_weight, x, d, NULL, dweight);
        ops->matmul(ops, &to_x, d, layer_param(model, l->layer, s.weight), NULL, dx);
        to_x.add = true;
    }
    adapters_backward(model, l, dx, dout, x, rows);
}

/* Returns the longest span that begins with this part. */
static struct span span_at(const struct model *model, const struct linear *l, int part)
{
    struct span s = { .weight = l->weight + part, .bias = l->bias < 0 ? -1 : l->bias + part };
    int         width, at = 0, i;

    if (l->parts == 1)
        return (struct span){ .weight = l->weight, .bias = l->bias, .parts = 1, .out = l->out };
    for (i = 0; i < l->parts; i++) {
        width = (int)param_at(model, l->layer, l->weight + i)->shape[0];
        if (i > part && (!are_adjacent(model, l->layer, l->weight + i) ||
                         (l->bias >= 0 && !are_adjacent(model, l->layer, l->bias + i))))
            break;
        s.parts += i >= part;
        s.first = i <= part ? at : s.first;
        at += width;
    }
    s.out = at - s.first;
    return s;
}

/* Is this parameter next to the one before it? */
static bool are_adjacent(const struct model *model, int layer, int number)
{
    const struct model_param *b = param_at(model, layer, number), *a = b - 1;

    if (b->is_quantized)
        return a->is_quantized && b->wide_offset == a->wide_offset + a->count;
    return a->is_frozen == b->is_frozen &&
           b->offset == a->offset + (a->is_frozen ? model_frozen_bytes(model, a) : a->count);
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
    void               *dwords = layer_grad(model, vectors.layer, vectors.weight);

    if (dwords != NULL)
        ops->matmul(ops, &to_words, head->logits, head->normed, NULL, dwords);
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
    const struct model_layer *l = &model->layer[layer];
    const struct model_param *param = param_at(model, layer, number);

    if (number < 0)
        return NULL;
    if (param->is_quantized)
        return (const char *)model->run->wide + param->wide_offset * dtype_size(model->type);
    if (param->is_frozen)
        return (const char *)model->frozen[layer] + (param->offset - l->frozen_offset);
    return (const char *)model->params[layer] +
           (param->offset - l->offset) * dtype_size(model->type);
}

void *layer_grad(const struct model *model, int layer, int number)
{
    const struct model_param *param = param_at(model, layer, number);

    if (number < 0 || param->is_frozen)
        return NULL;
    return (char *)model->grads[layer] +
           (param->offset - model->layer[layer].offset) * dtype_size(model->type);
}

static const struct model_param *param_at(const struct model *model, int layer, int number)
{
    return &model->param[model->layer[layer].first_param + (number < 0 ? 0 : number)];
}
