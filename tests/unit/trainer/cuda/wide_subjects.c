/* wide_subjects.c - see wide_subjects.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "unit/trainer/cuda/wide_subjects.h"
#include "unit/trainer/model/op_subjects.h"

/* What forward leaves for backward. */
static void **const scratch = subject_scratch;

static void *at(struct ops *ops, void *array, size_t element)
{
    return (char *)array + element * dtype_size(ops->type);
}

/* ---- norms ---- */

/* A vector that some warps keep, one of which they read a part again, and one without packs. */
static const struct norm kept = { .rows = 5, .width = 896, .each = 1, .x_row = 896,
                                  .out_row = 896, .centered = true, .epsilon = 1e-5 };
static const struct norm wide = { .rows = 3, .width = 8192, .each = 1, .x_row = 8192,
                                  .out_row = 8192, .epsilon = 1e-6 };
static const struct norm odd = { .rows = 2, .width = 5001, .each = 1, .x_row = 5001,
                                 .out_row = 5001, .centered = true, .epsilon = 1e-5 };

#define NORM(NAME)                                                                               \
    static void NAME##_forward(struct ops *ops, void **in, void *out)                            \
    {                                                                                            \
        ops->norm(ops, &NAME, scratch[1], out, scratch[0], in[0], in[2], in[1], in[3]);          \
        ops->add(ops, out, out, scratch[1], (size_t)NAME.rows * (size_t)NAME.width);             \
    }                                                                                            \
                                                                                                 \
    static void NAME##_backward(struct ops *ops, void **in, const void *dout, void **din)        \
    {                                                                                            \
        ops->norm_backward(ops, &NAME, din[0], din[1], din[3], dout, scratch[1], in[1],          \
                           scratch[0], dout);                                                    \
        ops->add(ops, din[2], din[2], din[0], (size_t)NAME.rows * (size_t)NAME.width);           \
    }

NORM(kept)
NORM(wide)
NORM(odd)

/* Five heads beside other elements; dx is dout. */
#define HEADS_ROW 704
#define HEADS_OUT 648

static const struct norm heads = { .rows = 60, .width = 128, .each = 5, .x_row = HEADS_ROW,
                                   .out_row = HEADS_OUT, .epsilon = 1e-6 };

static void heads_forward(struct ops *ops, void **in, void *out)
{
    ops->zero(ops, out, 60 * HEADS_OUT * dtype_size(ops->type));
    ops->norm(ops, &heads, NULL, out, scratch[0], at(ops, in[0], 64), NULL, in[1], NULL);
}

static void heads_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    int i;

    ops->zero(ops, scratch[1], 60 * HEADS_OUT * dtype_size(ops->type));
    ops->add(ops, scratch[1], scratch[1], dout, 60 * HEADS_OUT);
    ops->norm_backward(ops, &heads, scratch[1], din[1], NULL, scratch[1], at(ops, in[0], 64),
                       in[1], scratch[0], NULL);
    for (i = 0; i < 60; i++)
        ops->gather(ops, at(ops, din[0], (size_t)i * HEADS_ROW + 64),
                    at(ops, scratch[1], (size_t)i * HEADS_OUT), (int32_t[]){ 0 }, 1, 640);
}

/* ---- rows ---- */

#define ROWS  6
#define WIDTH 2560 /* more packs than a block has threads */

static const int32_t tokens[ROWS] = { 4, 0, 4, 2, 4, 1 };

static void swiglu_forward(struct ops *ops, void **in, void *out)
{
    ops->swiglu(ops, out, in[0], ROWS, WIDTH);
}

static void swiglu_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->swiglu_backward(ops, din[0], dout, in[0], ROWS, WIDTH);
}

static void embed_forward(struct ops *ops, void **in, void *out)
{
    ops->embed(ops, out, tokens, in[0], in[1], in[2], ROWS, 3, WIDTH);
}

static void embed_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    (void)in;
    ops->embed_backward(ops, din[0], din[1], dout, tokens, ROWS, 3, WIDTH);
    ops->bias_backward(ops, din[2], dout, ROWS, WIDTH, WIDTH);
}

static const int32_t picked[2] = { 5, 2 };

static void gather_forward(struct ops *ops, void **in, void *out)
{
    ops->gather(ops, out, in[0], picked, 2, WIDTH);
}

static void gather_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    (void)in;
    ops->zero(ops, din[0], ROWS * WIDTH * dtype_size(ops->type));
    ops->scatter(ops, din[0], dout, picked, 2, WIDTH);
}

static const struct dropout drop = { .rate = 0.3, .seed = 77, .sample = 4, .site = 3 };

static void dropout_forward(struct ops *ops, void **in, void *out)
{
    ops->dropout(ops, &drop, out, in[0], 3, 2 * WIDTH);
}

static void dropout_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    (void)in;
    ops->dropout(ops, &drop, din[0], dout, 3, 2 * WIDTH);
}

/* Queries of 128 columns at three positions, in rows with other elements behind them. */
#define TURNED (3 * 128 + 32)

static void turn(struct ops *ops, bool back, void *out, const void *x)
{
    const struct rotary shape = { .rows = ROWS, .length = 3, .heads = 3, .head_width = 128,
                                  .row = TURNED, .back = back };
    static double       exact[3][64][2];
    static float        table[3][64][2];
    int                 i, j, k;

    for (i = 0; i < 3; i++) {
        for (j = 0; j < 64; j++) {
            exact[i][j][0] = cos(i * (j + 0.5));
            exact[i][j][1] = sin(i * (j + 0.5));
            for (k = 0; k < 2; k++)
                table[i][j][k] = (float)exact[i][j][k];
        }
    }
    if (ops->stat_size == sizeof(double))
        ops->write(ops, scratch[3], exact, sizeof exact);
    else
        ops->write(ops, scratch[3], table, sizeof table);
    ops->zero(ops, out, ROWS * TURNED * dtype_size(ops->type));
    ops->add(ops, out, out, x, ROWS * TURNED);
    ops->rotate(ops, &shape, out, scratch[3]);
}

static void turn_forward(struct ops *ops, void **in, void *out)
{
    turn(ops, false, out, in[0]);
}

static void turn_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    (void)in;
    turn(ops, true, din[0], dout);
}

/* ---- attention ---- */

/* Documents that begin at the last key of a tile. */
static const int32_t begins[70] = { [20 ... 30] = 20, [31 ... 62] = 31, [63 ... 69] = 63 };

ATTENTION(heads_128, .sequences = 1, .length = 70, .heads = 4, .kv_heads = 2, .head_width = 128,
          .causal = true, .begins = begins)
ATTENTION(heads_256, .sequences = 2, .length = 36, .heads = 2, .kv_heads = 1, .head_width = 256,
          .causal = true, .window = 9)
ATTENTION(heads_200, .sequences = 1, .length = 33, .heads = 2, .kv_heads = 2, .head_width = 200)
ATTENTION(heads_7, .sequences = 1, .length = 34, .heads = 3, .kv_heads = 1, .head_width = 7)

#define ROWS_OF(LENGTH, HEADS, WIDTH) { (size_t)(LENGTH) * (HEADS) * (WIDTH) }
#define NORMS(ROWS_, WIDTH_)                                                                     \
    { (ROWS_) * (WIDTH_), WIDTH_, (ROWS_) * (WIDTH_), WIDTH_ }, (ROWS_) * (WIDTH_)

static const struct subject wide_subjects[] = {
    { "layernorm in registers", NORMS(5, 896), kept_forward, kept_backward },
    { "rmsnorm of 8192", NORMS(3, 8192), wide_forward, wide_backward },
    { "layernorm of 5001", NORMS(2, 5001), odd_forward, odd_backward },
    { "rmsnorm of heads", { 60 * HEADS_ROW, 128 }, 60 * HEADS_OUT, heads_forward,
      heads_backward },
    { "swiglu", { 2 * ROWS * WIDTH }, ROWS * WIDTH, swiglu_forward, swiglu_backward },
    { "embedding", { 5 * WIDTH, 3 * WIDTH, WIDTH }, ROWS * WIDTH, embed_forward, embed_backward },
    { "gather", { ROWS * WIDTH }, 2 * WIDTH, gather_forward, gather_backward },
    { "dropout", { ROWS * WIDTH }, ROWS * WIDTH, dropout_forward, dropout_backward },
    { "rotary embeddings", { ROWS * TURNED }, ROWS * TURNED, turn_forward, turn_backward },
    { "attention, heads of 128", ROWS_OF(70, 8, 128), 70 * 4 * 128, heads_128_forward,
      heads_128_backward },
    { "attention, heads of 256", ROWS_OF(72, 4, 256), 72 * 2 * 256, heads_256_forward,
      heads_256_backward },
    { "attention, heads of 200", ROWS_OF(33, 6, 200), 33 * 2 * 200, heads_200_forward,
      heads_200_backward },
    { "attention, heads of 7", ROWS_OF(34, 5, 7), 34 * 3 * 7, heads_7_forward, heads_7_backward },
};

void wide_subjects_compare(struct ops *ops, double tolerance)
{
    subjects_compare_these(wide_subjects, sizeof wide_subjects / sizeof wide_subjects[0], ops,
                           tolerance);
}
