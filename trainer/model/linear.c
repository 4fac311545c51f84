/* linear.c - parameters of a layer, and products with them, see model_run.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/model_run.h"

static size_t place(const struct model *model, int layer, int number);

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

    ops->bias_backward(ops, layer_grad(model, l->layer, l->bias), dout, rows, l->out);
    if (l->turned)
        ops->matmul(ops, &to_turned, dout, x, NULL, dweight);
    else
        ops->matmul(ops, &to_weight, x, dout, NULL, dweight);
    ops->matmul(ops, &to_x, dout, layer_param(model, l->layer, l->weight), NULL, dx);
}

const void *layer_param(const struct model *model, int layer, int number)
{
    return (const char *)model->params[layer] + place(model, layer, number);
}

void *layer_grad(const struct model *model, int layer, int number)
{
    return (char *)model->grads[layer] + place(model, layer, number);
}

/* Bytes from the beginning of the layer. */
static size_t place(const struct model *model, int layer, int number)
{
    const struct model_layer *l = &model->layer[layer];

    return (model->param[l->first_param + number].offset - l->offset) * dtype_size(model->type);
}
