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

/* What forward leaves for backward. */
static void **const scratch = subject_scratch;

/* ---- subjects ---- */

#define ROWS  6
#define WIDTH 10

static const struct norm norm = { .rows = ROWS, .width = WIDTH, .each = 1, .x_row = WIDTH,
                                .out_row = WIDTH, .centered = true, .epsilon = 1e-5 };

static void norm_forward(struct ops *ops, void **in, void *out)
{
    ops->norm(ops, &norm, NULL, out, scratch[0], in[0], NULL, in[1], in[2]);
}

static void norm_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->norm_backward(ops, &norm, din[0], din[1], din[2], dout, in[0], in[1], scratch[0],
                       NULL);
}

/* With two terms, whose sum is used once more past the norm. */
static void add_norm_forward(struct ops *ops, void **in, void *out)
{
    ops->norm(ops, &norm, scratch[1], out, scratch[0], in[0], in[3], in[1], in[2]);
    ops->add(ops, out, out, scratch[1], ROWS * WIDTH);
}

static void add_norm_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->norm_backward(ops, &norm, din[0], din[1], din[2], dout, scratch[1], in[1], scratch[0],
                       dout);
    ops->add(ops, din[3], din[0], din[3], ROWS * WIDTH);
}

/* RMSNorm, with the sum of two terms. */
static const struct norm rms = { .rows = ROWS, .width = WIDTH, .each = 1, .x_row = WIDTH,
                                 .out_row = WIDTH, .epsilon = 1e-5 };

static void rms_forward(struct ops *ops, void **in, void *out)
{
    ops->norm(ops, &rms, scratch[1], out, scratch[0], in[0], in[2], in[1], NULL);
    ops->add(ops, out, out, scratch[1], ROWS * WIDTH);
}

static void rms_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->norm_backward(ops, &rms, din[0], din[1], NULL, dout, scratch[1], in[1], scratch[0],
                       dout);
    ops->add(ops, din[2], din[0], din[2], ROWS * WIDTH);
}

/* Three heads in the middle of rows, as Qwen3 norms its queries. */
#define HEADS_ROW 17
#define HEADS_OUT 13

static const struct norm heads_norm = { .rows = ROWS, .width = 4, .each = 3, .x_row = HEADS_ROW,
                                        .out_row = HEADS_OUT, .epsilon = 1e-5 };

static void heads_norm_forward(struct ops *ops, void **in, void *out)
{
    ops->zero(ops, out, ROWS * HEADS_OUT * dtype_size(ops->type));
    ops->norm(ops, &heads_norm, NULL, out, scratch[0],
              (char *)in[0] + 2 * dtype_size(ops->type), NULL, in[1], NULL);
}

/* In place: dx is dout. */
static void heads_norm_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    const size_t size = dtype_size(ops->type);
    int          i;

    ops->zero(ops, scratch[1], ROWS * HEADS_OUT * size);
    ops->add(ops, scratch[1], scratch[1], dout, ROWS * HEADS_OUT);
    ops->norm_backward(ops, &heads_norm, scratch[1], din[1], NULL, scratch[1],
                       (char *)in[0] + 2 * size, in[1], scratch[0], NULL);
    for (i = 0; i < ROWS; i++)
        ops->gather(ops, (char *)din[0] + ((size_t)i * HEADS_ROW + 2) * size,
                    (char *)scratch[1] + (size_t)i * HEADS_OUT * size, (int32_t[]){ 0 }, 1, 12);
}

static void swiglu_forward(struct ops *ops, void **in, void *out)
{
    ops->swiglu(ops, out, in[0], ROWS, WIDTH);
}

static void swiglu_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->swiglu_backward(ops, din[0], dout, in[0], ROWS, WIDTH);
}

/* Two heads of six in rows of 13, at three positions. */
static const struct rotary rotary = { .rows = ROWS, .length = 3, .heads = 2, .head_width = 6,
                                      .row = 13 };

static void rotate(struct ops *ops, bool back, void *out, const void *x)
{
    struct rotary shape = rotary;
    double        table[3][3][2];
    float         narrow[3][3][2];
    int           i, j;

    for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) {
            table[i][j][0] = 1.25 * cos(i * (j + 0.5));
            table[i][j][1] = 1.25 * sin(i * (j + 0.5));
            narrow[i][j][0] = (float)table[i][j][0];
            narrow[i][j][1] = (float)table[i][j][1];
        }
    }
    if (ops->stat_size == sizeof(double))
        ops->write(ops, scratch[3], table, sizeof table);
    else
        ops->write(ops, scratch[3], narrow, sizeof narrow);
    shape.back = back;
    ops->zero(ops, out, ROWS * 13 * dtype_size(ops->type));
    ops->add(ops, out, out, x, ROWS * 13);
    ops->rotate(ops, &shape, out, scratch[3]);
}

static void rotate_forward(struct ops *ops, void **in, void *out)
{
    rotate(ops, false, out, in[0]);
}

static void rotate_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    (void)in;
    rotate(ops, true, din[0], dout);
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
    ops->bias_backward(ops, din[2], dout, ROWS, OUT, OUT);
}

/* Two linear layers with the same input, whose outputs are side by side. */
#define LEFT 4

static void parts_forward(struct ops *ops, void **in, void *out)
{
    const size_t        size = dtype_size(ops->type);
    const struct matmul left = { .m = ROWS, .n = LEFT, .k = WIDTH, .lda = WIDTH, .ldb = LEFT,
                                 .ldc = OUT, .batch = { 1, 1 } };
    const struct matmul right = { .m = ROWS, .n = OUT - LEFT, .k = WIDTH, .lda = WIDTH,
                                  .ldb = OUT - LEFT, .ldc = OUT, .batch = { 1, 1 } };

    ops->matmul(ops, &left, in[0], in[1], in[3], out);
    ops->matmul(ops, &right, in[0], in[2], (char *)in[3] + LEFT * size,
                (char *)out + LEFT * size);
}

static void parts_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    const size_t size = dtype_size(ops->type);
    const char  *right = (const char *)dout + LEFT * size;
    struct matmul to_x = { .m = ROWS, .n = WIDTH, .k = LEFT, .bt = true, .lda = OUT, .ldb = LEFT,
                           .ldc = WIDTH, .batch = { 1, 1 } };
    struct matmul to_weight = { .m = WIDTH, .n = LEFT, .k = ROWS, .at = true, .add = true,
                                .lda = WIDTH, .ldb = OUT, .ldc = LEFT, .batch = { 1, 1 } };

    ops->matmul(ops, &to_x, dout, in[1], NULL, din[0]);
    ops->matmul(ops, &to_weight, in[0], dout, NULL, din[1]);
    to_x.k = to_x.ldb = to_weight.n = to_weight.ldc = OUT - LEFT;
    to_x.add = true;
    ops->matmul(ops, &to_x, right, in[2], NULL, din[0]);
    ops->matmul(ops, &to_weight, in[0], right, NULL, din[2]);
    ops->bias_backward(ops, din[3], dout, ROWS, LEFT, OUT);
    ops->bias_backward(ops, (char *)din[3] + LEFT * size, right, ROWS, OUT - LEFT, OUT);
}

static void scale_forward(struct ops *ops, void **in, void *out)
{
    ops->add(ops, out, in[0], in[0], ROWS * WIDTH - 1);
    ops->scale(ops, out, -0.75, ROWS * WIDTH - 1);
}

static void scale_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    (void)in;
    ops->add(ops, din[0], dout, dout, ROWS * WIDTH - 1);
    ops->scale(ops, din[0], -0.75, ROWS * WIDTH - 1);
}

/* ---- attention ---- */

/* In a row, first the queries, then the keys, then the values. */
static struct qkv qkv_of(struct ops *ops, const struct attention *s, void *rows)
{
    const int    q = s->heads * s->head_width, k = s->kv_heads * s->head_width;
    const size_t size = dtype_size(ops->type);

    return (struct qkv){ .q = rows, .k = (char *)rows + (size_t)q * size,
                         .v = (char *)rows + (size_t)(q + k) * size,
                         .q_row = q + 2 * k, .k_row = q + 2 * k, .v_row = q + 2 * k };
}

void subject_attend(struct ops *ops, const struct attention *s, void *rows, void *out)
{
    const struct qkv x = qkv_of(ops, s, rows);

    ops->attention(ops, s, out, scratch[0], &x);
}

void subject_attend_backward(struct ops *ops, const struct attention *s, void *rows,
                             const void *dout, void *drows)
{
    const struct qkv x = qkv_of(ops, s, rows), dx = qkv_of(ops, s, drows);

    ops->attention(ops, s, scratch[2], scratch[0], &x);
    ops->attention_backward(ops, s, &dx, scratch[1], dout, scratch[2], &x, scratch[0]);
}

/* OF(QKV, SHAPE) and OF(MIXED, SHAPE) are the elements of its rows and of its output. */
#define OF(FUNCTION, ...) FUNCTION(__VA_ARGS__)
#define QKV(SEQUENCES, LENGTH, HEADS, KV_HEADS, WIDTH)                                           \
    ((SEQUENCES) * (LENGTH) * ((HEADS) + 2 * (KV_HEADS)) * (WIDTH))
#define MIXED(SEQUENCES, LENGTH, HEADS, KV_HEADS, WIDTH)                                         \
    ((SEQUENCES) * (LENGTH) * (HEADS) * (WIDTH))
#define SHAPE(SEQUENCES, LENGTH, HEADS, KV_HEADS, WIDTH)                                         \
    .sequences = (SEQUENCES), .length = (LENGTH), .heads = (HEADS), .kv_heads = (KV_HEADS),      \
    .head_width = (WIDTH)
#define SMALL    2, 5, 3, 3, 4
#define GROUPED  2, 6, 4, 2, 4
#define PACKED   1, 9, 2, 1, 4
#define LONGER   2, 37, 2, 2, 40
#define WIDER    1, 70, 1, 1, 72
#define GROUPS   1, 150, 6, 2, 32
#define WINDOW   2, 140, 2, 1, 64
#define DOCUMENT 1, 200, 4, 2, 80

static const int32_t small_begins[9] = { 0, 0, 2, 2, 2, 2, 6, 7, 7 };
static const int32_t large_begins[200] = {
    [5] = 5,   [6] = 5,   [7] = 5,   [8] = 5,   [9] = 5,   [10] = 10, [11] = 11,
    [12 ... 99] = 12, [100 ... 127] = 100, [128 ... 198] = 128, [199] = 199,
};

/* Of elements, and of attention's weights. */
static const struct dropout drop = { .rate = 0.3, .seed = 0x123456789abc, .sample = 41,
                                     .site = 9 };
#define DROP .drop = { .rate = 0.3, .seed = 0x123456789abc, .sample = 41, .site = 9 }

ATTENTION(causal, OF(SHAPE, SMALL), .causal = true)
ATTENTION(both_ways, OF(SHAPE, SMALL))
ATTENTION(grouped, OF(SHAPE, GROUPED), .causal = true)
ATTENTION(grouped_both_ways, OF(SHAPE, GROUPED))
ATTENTION(windowed, OF(SHAPE, GROUPED), .causal = true, .window = 3)
ATTENTION(packed, OF(SHAPE, PACKED), .causal = true, .begins = small_begins)
ATTENTION(packed_window, OF(SHAPE, PACKED), .causal = true, .begins = small_begins,
          .window = 2)
ATTENTION(dropped, OF(SHAPE, SMALL), .causal = true, DROP)
ATTENTION(dropped_grouped, OF(SHAPE, GROUPED), .causal = true, .window = 4, DROP)

/* More than one tile, with heads wider than a warp of a GPU. */
ATTENTION(longer, OF(SHAPE, LONGER), .causal = true)
ATTENTION(dropped_longer, OF(SHAPE, LONGER), .causal = true, DROP)
ATTENTION(wider, OF(SHAPE, WIDER))
ATTENTION(groups, OF(SHAPE, GROUPS), .causal = true)
ATTENTION(groups_both_ways, OF(SHAPE, GROUPS))
ATTENTION(window, OF(SHAPE, WINDOW), .causal = true, .window = 50)
ATTENTION(document, OF(SHAPE, DOCUMENT), .causal = true, .begins = large_begins)
ATTENTION(document_window, OF(SHAPE, DOCUMENT), .causal = true, .begins = large_begins,
          .window = 33, DROP)

/* Queries and keys in one array, and values in the rows of another. */
#define APART_ROW (4 * (4 + 2 + 2) + 3)

static struct qkv apart(struct ops *ops, void *turned, void *rows)
{
    const size_t size = dtype_size(ops->type);

    return (struct qkv){ .q = turned, .k = (char *)turned + 16 * size, .q_row = 24, .k_row = 24,
                         .v = (char *)rows + 24 * size, .v_row = APART_ROW };
}

static void apart_forward(struct ops *ops, void **in, void *out)
{
    const struct qkv x = apart(ops, in[0], in[1]);

    ops->attention(ops, &grouped, out, scratch[0], &x);
}

static void apart_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    const struct qkv x = apart(ops, in[0], in[1]), dx = apart(ops, din[0], scratch[3]);

    /* The gradient of values is added, as the tests' inputs other than the first ask. */
    ops->zero(ops, scratch[3], 12 * APART_ROW * dtype_size(ops->type));
    ops->attention(ops, &grouped, scratch[2], scratch[0], &x);
    ops->attention_backward(ops, &grouped, &dx, scratch[1], dout, scratch[2], &x, scratch[0]);
    ops->add(ops, din[1], din[1], scratch[3], 12 * APART_ROW);
}

static void dropout_forward(struct ops *ops, void **in, void *out)
{
    ops->dropout(ops, &drop, out, in[0], 2, ROWS * WIDTH / 2 - 1);
}

static void dropout_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    (void)in;
    ops->dropout(ops, &drop, din[0], dout, 2, ROWS * WIDTH / 2 - 1);
}

/* More rows and columns than a block of a GPU has. */
static const struct norm large_norm = { .rows = 77, .width = 70, .each = 1, .x_row = 70,
                                        .out_row = 70, .centered = true, .epsilon = 1e-5 };
static const struct norm large_rms = { .rows = 77, .width = 35, .each = 2, .x_row = 70,
                                       .out_row = 70, .epsilon = 1e-6 };
#define LARGE (77 * 70)

static void large_norm_forward(struct ops *ops, void **in, void *out)
{
    ops->norm(ops, &large_norm, NULL, out, scratch[0], in[0], NULL, in[1], in[2]);
}

static void large_norm_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->norm_backward(ops, &large_norm, din[0], din[1], din[2], dout, in[0], in[1], scratch[0],
                       NULL);
}

static void large_rms_forward(struct ops *ops, void **in, void *out)
{
    ops->norm(ops, &large_rms, NULL, out, scratch[0], in[0], NULL, in[1], NULL);
}

static void large_rms_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->norm_backward(ops, &large_rms, din[0], din[1], NULL, dout, in[0], in[1], scratch[0],
                       NULL);
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
    ops->bias_backward(ops, din[2], dout, ROWS, WIDTH, WIDTH);
}

/* Words alone. */
static void words_forward(struct ops *ops, void **in, void *out)
{
    ops->embed(ops, out, tokens, in[1], NULL, NULL, ROWS, LENGTH, WIDTH);
}

static void words_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    (void)in;
    ops->embed_backward(ops, din[1], NULL, dout, tokens, ROWS, LENGTH, WIDTH);
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

#define ATTENDS(NAME, TEXT, SHAPE)                                                               \
    { TEXT, { OF(QKV, SHAPE) }, OF(MIXED, SHAPE), NAME##_forward, NAME##_backward }

const struct subject subjects[] = {
    { "layernorm", { ROWS * WIDTH, WIDTH, WIDTH }, ROWS * WIDTH, norm_forward, norm_backward },
    { "layernorm of a sum", { ROWS * WIDTH, WIDTH, WIDTH, ROWS * WIDTH }, ROWS * WIDTH,
      add_norm_forward, add_norm_backward },
    { "rmsnorm of a sum", { ROWS * WIDTH, WIDTH, ROWS * WIDTH }, ROWS * WIDTH, rms_forward,
      rms_backward },
    { "rmsnorm of heads", { ROWS * HEADS_ROW, 4 }, ROWS * HEADS_OUT, heads_norm_forward,
      heads_norm_backward },
    { "gelu by tanh", { ROWS * WIDTH }, ROWS * WIDTH, gelu_tanh_forward, gelu_tanh_backward },
    { "gelu by erf", { ROWS * WIDTH }, ROWS * WIDTH, gelu_erf_forward, gelu_erf_backward },
    { "swiglu", { 2 * ROWS * WIDTH }, ROWS * WIDTH, swiglu_forward, swiglu_backward },
    { "rotary embeddings", { ROWS * 13 }, ROWS * 13, rotate_forward, rotate_backward },
    { "linear", { ROWS * WIDTH, WIDTH * OUT, OUT }, ROWS * OUT, linear_forward, linear_backward },
    { "linear in parts", { ROWS * WIDTH, WIDTH * LEFT, WIDTH * (OUT - LEFT), OUT }, ROWS * OUT,
      parts_forward, parts_backward },
    { "scale", { ROWS * WIDTH - 1 }, ROWS * WIDTH - 1, scale_forward, scale_backward },
    { "embedding", { WORDS * WIDTH, LENGTH * WIDTH, WIDTH }, ROWS * WIDTH, embed_forward,
      embed_backward },
    { "embedding of words", { 0, WORDS * WIDTH }, ROWS * WIDTH, words_forward, words_backward },
    { "gather", { ROWS * WIDTH }, 3 * WIDTH, gather_forward, gather_backward },
    { "dropout", { ROWS * WIDTH - 2 }, ROWS * WIDTH - 2, dropout_forward, dropout_backward },
    ATTENDS(causal, "causal attention", SMALL),
    ATTENDS(both_ways, "attention", SMALL),
    ATTENDS(grouped, "attention of groups", GROUPED),
    ATTENDS(grouped_both_ways, "attention of groups, both ways", GROUPED),
    { "attention, values apart", { 12 * 24, 12 * APART_ROW }, 12 * 16, apart_forward,
      apart_backward },
    ATTENDS(windowed, "attention in a window", GROUPED),
    ATTENDS(packed, "attention in documents", PACKED),
    ATTENDS(packed_window, "attention in documents and a window", PACKED),
    ATTENDS(dropped, "attention with dropout", SMALL),
    ATTENDS(dropped_grouped, "attention of groups with dropout", GROUPED),
    ATTENDS(longer, "longer attention", LONGER),
    ATTENDS(dropped_longer, "longer attention with dropout", LONGER),
    ATTENDS(wider, "wider attention", WIDER),
    ATTENDS(groups, "longer attention of groups", GROUPS),
    ATTENDS(groups_both_ways, "longer attention of groups, both ways", GROUPS),
    ATTENDS(window, "longer attention in a window", WINDOW),
    ATTENDS(document, "longer attention in documents", DOCUMENT),
    ATTENDS(document_window, "longer attention in documents and a window", DOCUMENT),
    { "large layernorm", { LARGE, 70, 70 }, LARGE, large_norm_forward, large_norm_backward },
    { "large rmsnorm", { LARGE, 35 }, LARGE, large_rms_forward, large_rms_backward },
};
const size_t small_subjects = 25, all_subjects = sizeof subjects / sizeof subjects[0];
