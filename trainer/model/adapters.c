/* adapters.c - the low-rank adapters of linear layers, see model_run.h and lora.h
 *
 *     low  = scale * dropout(x) A'       [rows][rank] for each part of the layer that has one
 *     out += low B'                      to that part of the outputs
 *
 * One product computes the low rows of all parts, because they have the same input. So they also
 * drop the same elements of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/lora.h"
#include "model/model_run.h"

static bool has_adapter(const struct model *model, const struct lora *lora, int number);
static void add_matrix(struct model *model, int number, bool is_b, bool together, int rank,
                       int *first);
static bool is_linear_weight(const struct model *model, int number);
static const void *dropped(struct model *model, const struct linear *linear, const void *x);
static struct dropout drop_of(const struct model *model, const struct linear *linear);

/* ---- parameters ---- */

void model_add_adapters(struct model *model, const struct lora *lora)
{
    struct model_places *places = model->places;
    int                  place, part, i;

    model->lora_scale = lora_scale(lora);
    model->lora_dropout = lora->dropout;
    for (place = 0; place < PLACE_LINEARS; place++) {
        struct adapters *a = &places->adapters[place];

        *a = (struct adapters){ .rank = lora->rank };
        for (part = 0; part < places->parts[place]; part++)
            if (has_adapter(model, lora, places->weight[place] + part))
                a->part[a->count++] = part;
        for (i = 0; i < a->count; i++)
            add_matrix(model, places->weight[place] + a->part[i], false, i > 0, a->rank,
                       i == 0 ? &a->a : NULL);
        for (i = 0; i < a->count; i++)
            add_matrix(model, places->weight[place] + a->part[i], true, false, a->rank,
                       i == 0 ? &a->b : NULL);
    }
}

static const struct model_param *param_of(const struct model *model, int number)
{
    return &model->param[model->layer[model->layers].first_param + number];
}

static bool has_adapter(const struct model *model, const struct lora *lora, int number)
{
    return lora->is_linear || lora_has_target(lora, param_of(model, number)->name);
}

/* A begins as Linear of PyTorch does, and B as zero, so that the adapter begins as nothing. first:
 * its number; NULL: not asked for. */
static void add_matrix(struct model *model, int number, bool is_b, bool together, int rank,
                       int *first)
{
    const struct model_param *weight = param_of(model, number);
    const bool                turned = model->places->turned;
    const size_t              out = weight->shape[turned ? 0 : 1];
    const size_t              in = weight->shape[turned ? 1 : 0];
    const char               *end = strrchr(weight->name, '.');
    char                      name[MODEL_NAME_MAX + 16];
    int                       got;

    snprintf(name, sizeof name, "%.*s%s", (int)(end - weight->name), weight->name,
             is_b ? LORA_B : LORA_A);
    if (is_b)
        got = model_add_param(model, name, out, (size_t)rank, MODEL_INIT_ZERO, 0, together);
    else
        got = model_add_param(model, name, (size_t)rank, in, MODEL_INIT_UNIFORM,
                              1 / sqrt((double)in), together);
    model->param[model->param_count - 1].is_adapter = true;
    if (first != NULL)
        *first = got;
}

int adapters_judge(const struct model *model, const struct lora *lora, struct error *err)
{
    int i, j, found;

    for (i = 0; i < lora->targets; i++) {
        const struct lora one = { .targets = 1, .target = &lora->target[i] };

        for (j = 0, found = 0; j < model->param_count; j++) {
            const struct model_param *param = &model->param[j];

            if (param->is_adapter || param->dims != 2 || !lora_has_target(&one, param->name))
                continue;
            if (!is_linear_weight(model, j))
                return err_set(err, "targets: %s is %s, which is no linear layer of a block",
                               lora->target[i], param->name);
            found++;
        }
        if (found == 0)
            return err_set(err, "targets: no linear layer of a block of this model is named %s",
                           lora->target[i]);
    }
    return 0;
}

/* number: in the model. */
static bool is_linear_weight(const struct model *model, int number)
{
    const struct model_places *places = model->places;
    const struct model_layer  *layer = &model->layer[model->param[number].layer];
    int                        place, at = number - layer->first_param;

    if (model->param[number].layer == 0 || model->param[number].layer > model->config.blocks)
        return false;
    for (place = 0; place < PLACE_LINEARS; place++)
        if (at >= places->weight[place] && at < places->weight[place] + places->parts[place])
            return true;
    return false;
}

int adapters_row(const struct model *model, int place)
{
    return model->places->adapters[place].count * model->places->adapters[place].rank;
}

/* ---- passes ---- */

/* Returns where a part's outputs begin in a row, and their number. */
static int part_of(const struct model *model, const struct linear *l, int part, int *width)
{
    const struct model_layer *layer = &model->layer[l->layer];
    int                       first = 0, i;

    for (i = 0; i <= part; i++) {
        const struct model_param *param = &model->param[layer->first_param + l->weight + i];

        *width = (int)param->shape[l->turned ? 0 : 1];
        first += *width;
    }
    return first - *width;
}

static struct block_run *block_of(const struct model *model, const struct linear *l)
{
    return &model->run->block[l->layer - 1];
}

void adapters_forward(struct model *model, const struct linear *l, void *out, const void *x,
                      int rows)
{
    const struct adapters *a = l->place < 0 ? NULL : &model->places->adapters[l->place];
    const size_t           size = dtype_size(model->type);
    struct ops            *ops = model->ops;
    struct matmul          down = { .m = rows, .k = l->in, .bt = true, .lda = l->in,
                                    .ldb = l->in, .batch = { 1, 1 } };
    struct matmul          up = { .m = rows, .bt = true, .add = true, .ldc = l->out,
                                  .batch = { 1, 1 } };
    char                  *low;
    int                    i, first;

    if (a == NULL || a->count == 0)
        return;
    low = block_of(model, l)->low[l->place];
    down.n = down.ldc = up.lda = a->count * a->rank;
    up.k = up.ldb = a->rank;
    ops->matmul(ops, &down, dropped(model, l, x), layer_param(model, l->layer, a->a), NULL, low);
    ops->scale(ops, low, model->lora_scale, (size_t)rows * (size_t)down.n);
    for (i = 0; i < a->count; i++) {
        first = part_of(model, l, a->part[i], &up.n);
        ops->matmul(ops, &up, low + (size_t)(i * a->rank) * size,
                    layer_param(model, l->layer, a->b + i), NULL,
                    (char *)out + (size_t)first * size);
    }
}

/* Drops from the input again, as the forward pass has done. */
void adapters_backward(struct model *model, const struct linear *l, void *dx, const void *dout,
                       const void *x, int rows)
{
    const struct adapters *a = l->place < 0 ? NULL : &model->places->adapters[l->place];
    const int              row = a == NULL ? 0 : a->count * a->rank;
    const size_t           size = dtype_size(model->type);
    struct matmul          to_b = { .n = a == NULL ? 0 : a->rank, .k = rows, .at = true,
                                    .add = true, .lda = l->out, .ldb = row,
                                    .ldc = a == NULL ? 0 : a->rank, .batch = { 1, 1 } };
    struct matmul          to_low = { .m = rows, .n = to_b.n, .lda = l->out, .ldb = to_b.n,
                                      .ldc = row, .batch = { 1, 1 } };
    const struct matmul    to_a = { .m = row, .n = l->in, .k = rows, .at = true, .add = true,
                                    .lda = row, .ldb = l->in, .ldc = l->in, .batch = { 1, 1 } };
    struct matmul          to_x = { .m = rows, .n = l->in, .k = row, .add = true, .lda = row,
                                    .ldb = l->in, .ldc = l->in, .batch = { 1, 1 } };
    struct ops            *ops = model->ops;
    struct dropout         drop;
    char                  *low, *dlow = model->run->dlow;
    const char            *d;
    int                    i;

    if (row == 0)
        return;
    low = block_of(model, l)->low[l->place];
    for (i = 0; i < a->count; i++) {
        d = (const char *)dout + (size_t)part_of(model, l, a->part[i], &to_b.m) * size;
        to_low.k = to_b.m;
        ops->matmul(ops, &to_b, d, low + (size_t)(i * a->rank) * size, NULL,
                    layer_grad(model, l->layer, a->b + i));
        ops->matmul(ops, &to_low, d, layer_param(model, l->layer, a->b + i), NULL,
                    dlow + (size_t)(i * a->rank) * size);
    }
    ops->scale(ops, dlow, model->lora_scale, (size_t)rows * (size_t)row);
    ops->matmul(ops, &to_a, dlow, dropped(model, l, x), NULL, layer_grad(model, l->layer, a->a));
    drop = drop_of(model, l);
    if (drop.rate == 0) {
        ops->matmul(ops, &to_x, dlow, layer_param(model, l->layer, a->a), NULL, dx);
        return;
    }
    to_x.add = false;
    ops->matmul(ops, &to_x, dlow, layer_param(model, l->layer, a->a), NULL, model->run->dropped);
    ops->dropout(ops, &drop, model->run->dropped, model->run->dropped, model->run->sequences,
                 (size_t)model->run->length * (size_t)l->in);
    ops->add(ops, dx, dx, model->run->dropped, (size_t)rows * (size_t)l->in);
}

static const void *dropped(struct model *model, const struct linear *l, const void *x)
{
    const struct dropout drop = drop_of(model, l);

    if (drop.rate == 0)
        return x;
    model->ops->dropout(model->ops, &drop, model->run->dropped, x, model->run->sequences,
                        (size_t)model->run->length * (size_t)l->in);
    return model->run->dropped;
}

static struct dropout drop_of(const struct model *model, const struct linear *l)
{
    return model_dropout(model, l->layer, (enum drop_site)(DROP_ADAPTERS + l->place));
}
