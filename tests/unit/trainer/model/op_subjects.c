/* op_subjects.c - see op_subjects.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/trainer/model/op_subjects.h"
#include "xalloc.h"

#define SUBJECT_SCRATCH 131072 /* bytes */
#define PRODUCT_MAX     8192  /* elements of a matrix */

/* What forward leaves for backward. */
static void *scratch[SUBJECT_INPUTS];

/* The same numbers in every run, from -1 to 1. */
double subject_number(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 33) / (double)(1u << 30) - 1;
}

/* ---- subjects ---- */

#define ROWS  6
#define WIDTH 10

static const struct norm norm = { .rows = ROWS, .width = WIDTH, .epsilon = 1e-5 };

static void norm_forward(struct ops *ops, void **in, void *out)
{
    ops->layernorm(ops, &norm, NULL, out, scratch[0], in[0], NULL, in[1], in[2]);
}

static void norm_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->layernorm_backward(ops, &norm, din[0], din[1], din[2], dout, in[0], in[1], scratch[0],
                            NULL);
}

/* With two terms, whose sum is used once more past the norm. */
static void add_norm_forward(struct ops *ops, void **in, void *out)
{
    ops->layernorm(ops, &norm, scratch[1], out, scratch[0], in[0], in[3], in[1], in[2]);
    ops->add(ops, out, out, scratch[1], ROWS * WIDTH);
}

static void add_norm_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->layernorm_backward(ops, &norm, din[0], din[1], din[2], dout, scratch[1], in[1],
                            scratch[0], dout);
    ops->add(ops, din[3], din[0], din[3], ROWS * WIDTH);
}

static void gelu_tanh_forward(struct ops *ops, void **in, void *out)
{
    ops->gelu(ops, GELU_TANH, out, in[0], ROWS * WIDTH);
}

static void gelu_tanh_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->gelu_backward(ops, GELU_TANH, din[0], dout, in[0], ROWS * WIDTH);
}

static void gelu_erf_forward(struct ops *ops, void **in, void *out)
{
    ops->gelu(ops, GELU_ERF, out, in[0], ROWS * WIDTH);
}

static void gelu_erf_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->gelu_backward(ops, GELU_ERF, din[0], dout, in[0], ROWS * WIDTH);
}

#define OUT 7

static void linear_forward(struct ops *ops, void **in, void *out)
{
    const struct matmul product = { .m = ROWS, .n = OUT, .k = WIDTH, .lda = WIDTH, .ldb = OUT,
                                    .ldc = OUT, .batch = { 1, 1 } };

    ops->matmul(ops, &product, in[0], in[1], in[2], out);
}

static void linear_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    const struct matmul to_x = { .m = ROWS, .n = WIDTH, .k = OUT, .bt = true, .lda = OUT,
                                 .ldb = OUT, .ldc = WIDTH, .batch = { 1, 1 } };
    const struct matmul to_weight = { .m = WIDTH, .n = OUT, .k = ROWS, .at = true, .add = true,
                                      .lda = WIDTH, .ldb = OUT, .ldc = OUT, .batch = { 1, 1 } };

    ops->matmul(ops, &to_x, dout, in[1], NULL, din[0]);
    ops->matmul(ops, &to_weight, in[0], dout, NULL, din[1]);
    ops->bias_backward(ops, din[2], dout, ROWS, OUT);
}

static const struct attention causal = { .sequences = 2, .length = 5, .heads = 3,
                                         .head_width = 4, .causal = true };
static const struct attention both_ways = { .sequences = 2, .length = 5, .heads = 3,
                                            .head_width = 4 };
#define QKV (2 * 5 * 3 * 3 * 4)

static void causal_forward(struct ops *ops, void **in, void *out)
{
    ops->attention(ops, &causal, out, scratch[0], in[0]);
}

static void causal_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->attention(ops, &causal, scratch[2], scratch[0], in[0]);
    ops->attention_backward(ops, &causal, din[0], scratch[1], dout, scratch[2], in[0],
                            scratch[0]);
}

static void both_ways_forward(struct ops *ops, void **in, void *out)
{
    ops->attention(ops, &both_ways, out, scratch[0], in[0]);
}

static void both_ways_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->attention(ops, &both_ways, scratch[2], scratch[0], in[0]);
    ops->attention_backward(ops, &both_ways, din[0], scratch[1], dout, scratch[2], in[0],
                            scratch[0]);
}

/* More than one tile of a GPU, with heads wider than a warp. */
static const struct attention longer = { .sequences = 2, .length = 37, .heads = 2,
                                         .head_width = 40, .causal = true };
static const struct attention wider = { .sequences = 1, .length = 70, .heads = 1,
                                        .head_width = 72 };
#define LONGER (2 * 37 * 3 * 2 * 40)
#define WIDER  (70 * 3 * 72)

static void longer_forward(struct ops *ops, void **in, void *out)
{
    ops->attention(ops, &longer, out, scratch[0], in[0]);
}

static void longer_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->attention(ops, &longer, scratch[2], scratch[0], in[0]);
    ops->attention_backward(ops, &longer, din[0], scratch[1], dout, scratch[2], in[0],
                            scratch[0]);
}

static void wider_forward(struct ops *ops, void **in, void *out)
{
    ops->attention(ops, &wider, out, scratch[0], in[0]);
}

static void wider_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->attention(ops, &wider, scratch[2], scratch[0], in[0]);
    ops->attention_backward(ops, &wider, din[0], scratch[1], dout, scratch[2], in[0],
                            scratch[0]);
}

/* With dropout: of each element by itself, and of attention's weights. */
static const struct dropout drop = { .rate = 0.3, .seed = 0x123456789abc, .sample = 41,
                                     .site = 9 };

static void dropout_forward(struct ops *ops, void **in, void *out)
{
    ops->dropout(ops, &drop, out, in[0], 2, ROWS * WIDTH / 2 - 1);
}

static void dropout_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    (void)in;
    ops->dropout(ops, &drop, din[0], dout, 2, ROWS * WIDTH / 2 - 1);
}

static void dropped_attention_forward(struct ops *ops, void **in, void *out)
{
    struct attention shape = causal;

    shape.drop = drop;
    ops->attention(ops, &shape, out, scratch[0], in[0]);
}

static void dropped_attention_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    struct attention shape = causal;

    shape.drop = drop;
    ops->attention(ops, &shape, scratch[2], scratch[0], in[0]);
    ops->attention_backward(ops, &shape, din[0], scratch[1], dout, scratch[2], in[0],
                            scratch[0]);
}

static void dropped_longer_forward(struct ops *ops, void **in, void *out)
{
    struct attention shape = longer;

    shape.drop = drop;
    ops->attention(ops, &shape, out, scratch[0], in[0]);
}

static void dropped_longer_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    struct attention shape = longer;

    shape.drop = drop;
    ops->attention(ops, &shape, scratch[2], scratch[0], in[0]);
    ops->attention_backward(ops, &shape, din[0], scratch[1], dout, scratch[2], in[0],
                            scratch[0]);
}

/* More rows and columns than a block of a GPU has. */
static const struct norm large_norm = { .rows = 77, .width = 70, .epsilon = 1e-5 };
#define LARGE (77 * 70)

static void large_norm_forward(struct ops *ops, void **in, void *out)
{
    ops->layernorm(ops, &large_norm, NULL, out, scratch[0], in[0], NULL, in[1], in[2]);
}

static void large_norm_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->layernorm_backward(ops, &large_norm, din[0], din[1], din[2], dout, in[0], in[1],
                            scratch[0], NULL);
}

#define WORDS  9
#define LENGTH 3

static const int32_t tokens[ROWS] = { 4, 0, 4, 8, 4, 1 };

static void embed_forward(struct ops *ops, void **in, void *out)
{
    ops->embed(ops, out, tokens, in[0], in[1], in[2], ROWS, LENGTH, WIDTH);
}

static void embed_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    (void)in;
    ops->embed_backward(ops, din[0], din[1], dout, tokens, ROWS, LENGTH, WIDTH);
    ops->bias_backward(ops, din[2], dout, ROWS, WIDTH);
}

static const int32_t picked[3] = { 5, 0, 2 };

static void gather_forward(struct ops *ops, void **in, void *out)
{
    ops->gather(ops, out, in[0], picked, 3, WIDTH);
}

static void gather_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    (void)in;
    ops->zero(ops, din[0], ROWS * WIDTH * dtype_size(ops->type));
    ops->scatter(ops, din[0], dout, picked, 3, WIDTH);
}

const struct subject subjects[] = {
    { "layernorm", { ROWS * WIDTH, WIDTH, WIDTH }, ROWS * WIDTH, norm_forward, norm_backward },
    { "layernorm of a sum", { ROWS * WIDTH, WIDTH, WIDTH, ROWS * WIDTH }, ROWS * WIDTH,
      add_norm_forward, add_norm_backward },
    { "gelu by tanh", { ROWS * WIDTH }, ROWS * WIDTH, gelu_tanh_forward, gelu_tanh_backward },
    { "gelu by erf", { ROWS * WIDTH }, ROWS * WIDTH, gelu_erf_forward, gelu_erf_backward },
    { "linear", { ROWS * WIDTH, WIDTH * OUT, OUT }, ROWS * OUT, linear_forward, linear_backward },
    { "causal attention", { QKV }, QKV / 3, causal_forward, causal_backward },
    { "attention", { QKV }, QKV / 3, both_ways_forward, both_ways_backward },
    { "embedding", { WORDS * WIDTH, LENGTH * WIDTH, WIDTH }, ROWS * WIDTH, embed_forward,
      embed_backward },
    { "gather", { ROWS * WIDTH }, 3 * WIDTH, gather_forward, gather_backward },
    { "dropout", { ROWS * WIDTH - 2 }, ROWS * WIDTH - 2, dropout_forward, dropout_backward },
    { "attention with dropout", { QKV }, QKV / 3, dropped_attention_forward,
      dropped_attention_backward },
    { "longer attention", { LONGER }, LONGER / 3, longer_forward, longer_backward },
    { "longer attention with dropout", { LONGER }, LONGER / 3, dropped_longer_forward,
      dropped_longer_backward },
    { "wider attention", { WIDER }, WIDER / 3, wider_forward, wider_backward },
    { "large layernorm", { LARGE, 70, 70 }, LARGE, large_norm_forward, large_norm_backward },
};
const size_t small_subjects = 11, all_subjects = sizeof subjects / sizeof subjects[0];

/* ---- how they are looked at ---- */

static size_t bytes_of(const struct ops *ops, size_t count)
{
    return count * dtype_size(ops->type);
}

static void put(enum dtype type, void *array, size_t i, double value)
{
    if (type == DTYPE_DOUBLE)
        ((double *)array)[i] = value;
    else if (type == DTYPE_FLOAT)
        ((float *)array)[i] = (float)value;
    else if (type == DTYPE_HALF)
        ((uint16_t *)array)[i] = float_to_half((float)value);
    else
        ((uint16_t *)array)[i] = float_to_bfloat16((float)value);
}

static double get(enum dtype type, const void *array, size_t i)
{
    if (type == DTYPE_DOUBLE)
        return ((const double *)array)[i];
    if (type == DTYPE_FLOAT)
        return (double)((const float *)array)[i];
    if (type == DTYPE_HALF)
        return (double)half_to_float(((const uint16_t *)array)[i]);
    return (double)bfloat16_to_float(((const uint16_t *)array)[i]);
}

/* Numbers at random, as bfloat16 can hold them. */
static void *numbers(struct ops *ops, size_t count, double range, uint64_t *random)
{
    void  *host = xcalloc(count + 1, sizeof(double));
    void  *memory = ops->alloc(ops, bytes_of(ops, count));
    size_t i;

    for (i = 0; i < count; i++)
        put(ops->type, host, i,
            (double)bfloat16_to_float(float_to_bfloat16((float)(range * subject_number(random)))));
    ops->write(ops, memory, host, bytes_of(ops, count));
    free(host);
    return memory;
}

void subject_make(struct arrays *arrays, const struct subject *subject, struct ops *ops)
{
    uint64_t random = 7;
    size_t   i;

    for (i = 0; i < SUBJECT_INPUTS; i++) {
        arrays->in[i] = numbers(ops, subject->size[i], 2, &random);
        arrays->din[i] = ops->alloc(ops, bytes_of(ops, subject->size[i]));
        ops->zero(ops, arrays->din[i], bytes_of(ops, subject->size[i]));
        arrays->scratch[i] = scratch[i] = ops->alloc(ops, SUBJECT_SCRATCH);
    }
    arrays->out = ops->alloc(ops, bytes_of(ops, subject->out));
    arrays->dout = numbers(ops, subject->out, 1, &random);
}

void subject_drop(struct arrays *arrays, struct ops *ops)
{
    size_t i;

    for (i = 0; i < SUBJECT_INPUTS; i++) {
        ops->release(ops, arrays->in[i]);
        ops->release(ops, arrays->din[i]);
        ops->release(ops, arrays->scratch[i]);
    }
    ops->release(ops, arrays->out);
    ops->release(ops, arrays->dout);
}

struct ops *subject_ops(enum dtype type)
{
    struct error err;
    struct ops  *ops = ops_cpu_new(type, &err);

    if (ops == NULL)
        fail_msg("%s", err.text);
    return ops;
}

void subject_fine(struct ops *ops)
{
    struct error err = { "" };

    if (ops->check(ops, &err) < 0)
        fail_msg("%s", err.text);
}

static void compare(const struct subject *subject, const char *what, struct ops *ops,
                    const void *memory, const double *want, size_t count, double tolerance)
{
    void  *host = xcalloc(count + 1, sizeof(double));
    double got;
    size_t i;

    ops->read(ops, host, memory, bytes_of(ops, count));
    for (i = 0; i < count; i++) {
        got = get(ops->type, host, i);
        if (!(fabs(got - want[i]) <= tolerance * fmax(1, fabs(want[i]))))
            fail_msg("%s, %s, %s, element %zu: %.9g is not %.9g", subject->name, ops->name, what,
                     i, got, want[i]);
    }
    free(host);
}

void subjects_compare(struct ops *ops, double tolerance)
{
    struct ops   *exact = subject_ops(DTYPE_DOUBLE);
    struct arrays got, want;
    size_t        s, i;

    for (s = 0; s < all_subjects; s++) {
        subject_make(&want, &subjects[s], exact);
        subjects[s].forward(exact, want.in, want.out);
        subjects[s].backward(exact, want.in, want.dout, want.din);
        subject_make(&got, &subjects[s], ops);
        subjects[s].forward(ops, got.in, got.out);
        subjects[s].backward(ops, got.in, got.dout, got.din);
        subject_fine(ops);
        compare(&subjects[s], "output", ops, got.out, want.out, subjects[s].out, tolerance);
        for (i = 0; i < SUBJECT_INPUTS; i++)
            compare(&subjects[s], "gradient", ops, got.din[i], want.din[i], subjects[s].size[i],
                    tolerance);
        subject_drop(&got, ops);
        subject_drop(&want, exact);
    }
    exact->free(exact);
}

/* bits: at, bt, add, whether there is a bias, whether there are two products. */
static struct matmul product_of(const int size[3], int bits)
{
    const int     m = size[0], n = size[1], k = size[2], at = bits & 1, bt = bits >> 1 & 1;
    struct matmul shape = { .m = m, .n = n, .k = k, .at = at, .bt = bt, .add = bits >> 2 & 1,
                            .lda = at ? m : k, .ldb = bt ? k : n, .ldc = n, .batch = { 1, 1 } };

    if (bits & 16) {
        shape.batch[m % 2] = 2;
        shape.sa[0] = shape.sa[1] = (long)m * k;
        shape.sb[0] = shape.sb[1] = (long)k * n;
        shape.sc[0] = shape.sc[1] = (long)m * n;
    }
    return shape;
}

static void compare_product(struct ops *ops, struct ops *exact, const struct matmul *shape,
                            bool has_bias, void *got[4], double *want[4])
{
    static float    host[PRODUCT_MAX];
    static uint64_t random = 3;
    size_t          i, j;

    for (i = 0; i < 4; i++) {
        for (j = 0; j < PRODUCT_MAX; j++)
            want[i][j] = (double)(host[j] = (float)subject_number(&random));
        ops->write(ops, got[i], host, sizeof host);
    }
    exact->matmul(exact, shape, want[0], want[1], has_bias ? want[3] : NULL, want[2]);
    ops->matmul(ops, shape, got[0], got[1], has_bias ? got[3] : NULL, got[2]);
    subject_fine(ops);
    ops->read(ops, host, got[2], sizeof host);
    for (j = 0; j < PRODUCT_MAX; j++)
        if (!(fabs((double)host[j] - want[2][j]) <= 2e-5))
            fail_msg("%s, %d x %d x %d, turned %d %d: element %zu: %g is not %g", ops->name,
                     shape->m, shape->n, shape->k, shape->at, shape->bt, j, (double)host[j],
                     want[2][j]);
}

void products_compare(struct ops *ops)
{
    static const int sizes[][3] = { { 1, 1, 1 }, { 3, 5, 7 }, { 17, 33, 8 }, { 64, 16, 40 } };
    struct ops      *exact = subject_ops(DTYPE_DOUBLE);
    double          *want[4]; /* a, b, c, bias */
    void            *got[4];
    struct matmul    shape;
    size_t           i, s;
    int              bits;

    for (i = 0; i < 4; i++) {
        want[i] = exact->alloc(exact, PRODUCT_MAX * sizeof(double));
        got[i] = ops->alloc(ops, PRODUCT_MAX * sizeof(float));
    }
    for (s = 0; s < 4; s++) {
        for (bits = 0; bits < 32; bits++) {
            shape = product_of(sizes[s], bits);
            compare_product(ops, exact, &shape, bits & 8, got, want);
        }
    }
    for (i = 0; i < 4; i++) {
        exact->release(exact, want[i]);
        ops->release(ops, got[i]);
    }
    exact->free(exact);
}
