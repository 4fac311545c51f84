/* step.c - how long a training step of a model takes, and how long its matrix products alone
 *
 *     OMP_NUM_THREADS=2 tests/bench/step [float|bfloat16 [SEQUENCES [LENGTH [MODEL [LORA]]]]]
 *
 * The floor is what the step's own products take when they are carried out again, one behind
 * the other, in the same memory: what is above it is ours. All are the best of some.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "comm/dtype.h"
#include "model/lora.h"
#include "model/model.h"
#include "model/model_fill.h"
#include "model/ops.h"
#include "xalloc.h"

#define REPEATS 4

/* The products of one step, in their order. */
struct call {
    struct matmul shape;
    const void   *a, *b, *bias;
    void         *c;
};
static struct call *calls;
static size_t       count, room;
static void (*product)(struct ops *ops, const struct matmul *shape, const void *a,
                       const void *b, const void *bias, void *c);

static void   fill(struct model *model, void *params, void *frozen);
static int    read_value(void *arg, const struct model_param *param, size_t first, size_t n,
                         float *values, struct error *err);
static void   make_batch(const struct model *model, struct model_batch *batch);
static double time_step(struct model *model, const struct model_batch *batch);
static double time_products(struct ops *ops);
static void   note(struct ops *ops, const struct matmul *shape, const void *a, const void *b,
                   const void *bias, void *c);
static void   die(const struct error *err) __attribute__((noreturn));

int main(int argc, char **argv)
{
    const int           type = argc > 1 ? dtype_find(argv[1]) : DTYPE_FLOAT;
    struct model_batch  batch = { .sequences = argc > 2 ? atoi(argv[2]) : 4,
                                  .length = argc > 3 ? atoi(argv[3]) : 64 };
    struct model_config config;
    struct lora         lora;
    struct model_tuning tuning = { .lora = &lora };
    struct error        err;
    struct ops         *ops;
    struct model       *model;
    void               *params, *grads, *frozen;
    double              step_s, floor_s;

    if (model_config_named(&config, argc > 4 ? argv[4] : "gpt2", &err) < 0 ||
        (ops = ops_cpu_new((enum dtype)type, &err)) == NULL ||
        (argc > 5 && lora_parse(&lora, argv[5], &err) < 0) ||
        (model = model_new_tuned(&config, argc > 5 ? &tuning : NULL, ops, &err)) == NULL)
        die(&err);
    params = xcalloc(model->count, dtype_size(ops->type));
    grads = xcalloc(model->count, dtype_size(ops->type));
    frozen = xmalloc(model->frozen_bytes + 1);
    model_use_arrays(model, params, grads);
    model_use_frozen(model, frozen);
    fill(model, params, frozen);
    make_batch(model, &batch);

    step_s = time_step(model, &batch);
    product = ops->matmul;
    ops->matmul = note;
    time_step(model, &batch);
    ops->matmul = product;
    count /= REPEATS;
    floor_s = time_products(ops);
    printf("%s, %s, %d x %d: step %.3f s, its products %.3f s, ratio %.2f\n", ops->name,
           dtype_name(ops->type), batch.sequences, batch.length, step_s, floor_s,
           step_s / floor_s);
    return 0;
}

static void fill(struct model *model, void *params, void *frozen)
{
    const struct value_source source = { .read = read_value };
    struct error              err;
    float *values = xcalloc(model->count, sizeof *values);
    size_t i;

    model_initial_values(model, 1, 0, model->count, values);
    for (i = 0; i < model->count; i++) {
        if (model->type == DTYPE_FLOAT)
            ((float *)params)[i] = values[i];
        else
            ((uint16_t *)params)[i] = float_to_bfloat16(values[i]);
    }
    free(values);
    if (model_fill_frozen(model, &source, 0, model->frozen_bytes, frozen, &err) < 0)
        die(&err);
}

static int read_value(void *arg, const struct model_param *param, size_t first, size_t n,
                      float *values, struct error *err)
{
    (void)arg;
    (void)err;
    model_initial_param(param, 1, first, n, values);
    return 0;
}

static void make_batch(const struct model *model, struct model_batch *batch)
{
    const int words = model->config.vocabulary, rows = batch->sequences * batch->length;
    int32_t  *tokens = xcalloc((size_t)rows, sizeof *tokens);
    int32_t  *targets = xcalloc((size_t)rows, sizeof *targets);
    int       i;

    for (i = 0; i < rows; i++) {
        tokens[i] = i * 7919 % words;
        targets[i] = (i + 1) * 7919 % words;
    }
    batch->tokens = tokens;
    batch->targets = targets;
}

static double time_step(struct model *model, const struct model_batch *batch)
{
    struct error err;
    double       best_s = 1e9, loss, s;
    int64_t      start_ns;
    int          i;

    for (i = 0; i < REPEATS; i++) {
        start_ns = clock_now_ns();
        if (model_forward(model, batch, &err) < 0 ||
            model_backward(model, 1.0 / (batch->sequences * batch->length), &loss, &err) < 0)
            die(&err);
        s = (double)(clock_now_ns() - start_ns) / NS_PER_S;
        best_s = s < best_s ? s : best_s;
    }
    return best_s;
}

static void note(struct ops *ops, const struct matmul *shape, const void *a, const void *b,
                 const void *bias, void *c)
{
    if (count == room)
        calls = xreallocarray(calls, room = room * 2 + 64, sizeof *calls);
    calls[count++] = (struct call){ *shape, a, b, bias, c };
    product(ops, shape, a, b, bias, c);
}

static double time_products(struct ops *ops)
{
    double  best_s = 1e9, s;
    int64_t start_ns;
    size_t  j;
    int     i;

    for (i = 0; i < REPEATS; i++) {
        start_ns = clock_now_ns();
        for (j = 0; j < count; j++)
            ops->matmul(ops, &calls[j].shape, calls[j].a, calls[j].b, calls[j].bias, calls[j].c);
        s = (double)(clock_now_ns() - start_ns) / NS_PER_S;
        best_s = s < best_s ? s : best_s;
    }
    return best_s;
}

static void die(const struct error *err)
{
    fprintf(stderr, "step: %s\n", err->text);
    exit(1);
}
