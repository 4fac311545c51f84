/* ops.h - the operations that compute a model, the same on CPUs and GPUs
 *
 * Tensors are contiguous rows of elements of ops->type; a width is the number of elements in a
 * row. Operations add to the gradient d... of a weight, and do not compute it if it is NULL; they
 * overwrite all other outputs. Sums use float at least (double for DTYPE_DOUBLE), in an order that
 * does not depend on the number of threads.
 *
 * Operations run in the order of the calls, maybe later; cross_entropy waits for them. After a
 * failure, matrix products do nothing; check() returns the failure, so call it at the end of
 * each layer. Tokens, targets and indices are in the host's memory, and have been read when the
 * call returns.
 *
 *     ops_cpu_new or ops_cuda_new -> operations -> check -> ops->free
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OPS_H
#define MUSTER_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/dtype.h"
#include "err.h"
#include "model/quant.h"

/* c = a b, row-major, for every pair of batch indices. Strides are in elements. */
struct matmul {
    int m, n, k;       /* a is m x k, b is k x n */
    int at, bt;        /* true: stored as its transpose, k x m, n x k */
    int add;           /* true: c += */
    int lda, ldb, ldc; /* strides between rows, as stored */
    int batch[2];      /* 1, 1: one product */
    long sa[2], sb[2], sc[2]; /* strides between batch indices */
};

/* Random elements become 0 (see philox.h). The others are scaled up to keep the mean. */
struct dropout {
    double   rate; /* 0: none, below 1 */
    uint64_t seed;
    uint64_t sample; /* the number of the first sequence in the training */
    uint32_t site;   /* below 65536; each site drops different elements */
};

/* Heads attend on their own. Query head h uses key and value head h / (heads / kv_heads). */
struct attention {
    int  sequences, length;
    int  heads, kv_heads; /* heads: of queries, a multiple of kv_heads */
    int  head_width;
    bool causal; /* tokens do not attend to later tokens */

    /* Only if causal. A token attends to itself and to the window - 1 tokens before it; 0: to
     * all before it. But never to tokens of other documents: begins[i] is the first token of
     * token i's document, as its number in the sequence. NULL: a sequence is one document. */
    int            window;
    const int32_t *begins; /* [sequences][length], in the host's memory */

    struct dropout drop; /* of the weights */
};

/* Where a token has its queries, keys and values, each with all heads side by side. Rows are
 * the elements from one token to the next. */
struct qkv {
    void *q, *k, *v;
    int   q_row, k_row, v_row;
};

#define OPS_LANES 2

enum gelu { GELU_ERF, GELU_TANH };

/* A row has several vectors side by side, which are normed one by one, with the same weight. */
struct norm {
    int    rows, width; /* width: of a vector */
    int    each;        /* vectors in a row */
    int    x_row;       /* elements from one row of x to the next */
    int    out_row;     /* likewise of out, and of dout and dx in the backward pass */
    bool   centered;    /* LayerNorm: subtract the mean; RMSNorm does not */
    double epsilon;
};

/* Rotary embeddings: each head's elements i and i + head_width / 2 are a point in the plane,
 * which turns by an angle that depends on i and on the token's position in its sequence. */
struct rotary {
    int  rows, length; /* token i has position i % length */
    int  heads, head_width;
    int  row;  /* elements from one token to the next */
    bool back; /* turn the other way: the backward pass */
};

struct ops {
    const char *name; /* "cpu, avx512" */
    enum dtype  type;
    size_t      stat_size; /* bytes of one stats number, which forward keeps for backward */

    /* Memory for the operations, aligned for all of them; NULL after a failure. release accepts
     * NULL. */
    void *(*alloc)(struct ops *ops, size_t bytes);
    void (*release)(struct ops *ops, void *memory);
    void (*zero)(struct ops *ops, void *memory, size_t bytes);
    /* Copy from and to the host's memory; finished on return. */
    void (*read)(struct ops *ops, void *host, const void *memory, size_t bytes);
    void (*write)(struct ops *ops, void *memory, const void *host, size_t bytes);

    /* Memory of the host for park and bring; NULL after a failure. */
    void *(*host_alloc)(struct ops *ops, size_t bytes);
    void (*host_release)(struct ops *ops, void *memory);
    /* Copy to that memory and back, after all earlier operations. Later ones run beside the copy
     * until settle(): those after it see its data, and may overwrite what it has read. A lane,
     * below OPS_LANES, has one copy at a time. */
    void (*park)(struct ops *ops, int lane, void *host, const void *memory, size_t bytes);
    void (*bring)(struct ops *ops, int lane, void *memory, const void *host, size_t bytes);
    void (*settle)(struct ops *ops, int lane);

    /* bias, one row of c, may be NULL. */
    void (*matmul)(struct ops *ops, const struct matmul *shape, const void *a, const void *b,
                   const void *bias, void *c);
    /* row: elements from one row of dout to the next. */
    void (*bias_backward)(struct ops *ops, void *dbias, const void *dout, int rows, int width,
                          int row);

    /* out[i] = words[tokens[i]] + positions[i % length] + type. positions and type may be
     * NULL. */
    void (*embed)(struct ops *ops, void *out, const int32_t *tokens, const void *words,
                  const void *positions, const void *type, int rows, int length, int width);
    void (*embed_backward)(struct ops *ops, void *dwords, void *dpositions, const void *dout,
                           const int32_t *tokens, int rows, int length, int width);

    /* sum = x + y, out = normed sum * weight + bias. y NULL: uses x as the sum and does not
     * write sum. With y, rows are single vectors without space between them. bias may be NULL.
     * stats: two numbers per vector. */
    void (*norm)(struct ops *ops, const struct norm *shape, void *sum, void *out, void *stats,
                 const void *x, const void *y, const void *weight, const void *bias);
    /* x: the norm's input. dx = its gradient + more, which may be NULL; dout and more may be dx
     * itself. */
    void (*norm_backward)(struct ops *ops, const struct norm *shape, void *dx, void *dweight,
                          void *dbias, const void *dout, const void *x, const void *weight,
                          const void *stats, const void *more);

    /* In place. table: [length][head_width / 2] pairs of numbers of stat_size bytes, the cosine
     * and the sine, both times the model's factor. */
    void (*rotate)(struct ops *ops, const struct rotary *shape, void *x, const void *table);

    void (*add)(struct ops *ops, void *out, const void *a, const void *b, size_t count);
    void (*scale)(struct ops *ops, void *x, double factor, size_t count); /* in place */
    void (*gelu)(struct ops *ops, enum gelu kind, void *out, const void *x, size_t count);
    void (*gelu_backward)(struct ops *ops, enum gelu kind, void *dx, const void *dout,
                          const void *x, size_t count);

    /* A row of x has a gate and a value side by side, each of width elements:
     * out = gate / (1 + e^-gate) * value. */
    void (*swiglu)(struct ops *ops, void *out, const void *x, int rows, int width);
    void (*swiglu_backward)(struct ops *ops, void *dx, const void *dout, const void *x, int rows,
                            int width);

    /* Decodes count elements of whole blocks (quant.h). packed is at a multiple of 4. */
    void (*dequantize)(struct ops *ops, enum quant kind, void *out, const void *packed,
                       size_t count);

    /* each: elements per sequence. out may be x. It is its own backward pass. */
    void (*dropout)(struct ops *ops, const struct dropout *drop, void *out, const void *x,
                    int sequences, size_t each);

    /* Rows of out have the heads' outputs side by side. kept: attention_bytes() bytes, whose
     * number grows with the length and not with its square, that forward keeps for backward. In
     * backward, scratch is memory of the same size, and out is forward's output. */
    size_t (*attention_bytes)(struct ops *ops, const struct attention *shape);
    void (*attention)(struct ops *ops, const struct attention *shape, void *out, void *kept,
                      const struct qkv *x);
    void (*attention_backward)(struct ops *ops, const struct attention *shape,
                               const struct qkv *dx, void *scratch, const void *dout,
                               const void *out, const struct qkv *x, const void *kept);

    /* Returns the sum of the rows' losses. stats: one number per row. Targets must be below
     * width. */
    double (*cross_entropy)(struct ops *ops, void *stats, const void *logits,
                            const int32_t *targets, int rows, int width);
    /* Replaces logits by their gradient times scale. */
    void (*cross_entropy_backward)(struct ops *ops, void *logits, const void *stats,
                                   const int32_t *targets, double scale, int rows, int width);

    /* gather: out[i] = x[index[i]]; scatter: out[index[i]] = x[i]. */
    void (*gather)(struct ops *ops, void *out, const void *x, const int32_t *index, int rows,
                   int width);
    void (*scatter)(struct ops *ops, void *out, const void *x, const int32_t *index, int rows,
                    int width);

    /* Returns -1 with the first failure known so far. Does not wait. */
    int (*check)(struct ops *ops, struct error *err);
    void (*free)(struct ops *ops);
};

/* Returns operations that run on all OpenMP threads. DTYPE_FLOAT and DTYPE_BFLOAT16 use oneDNN
 * for matrix products. DTYPE_HALF is slow on CPUs, and so is DTYPE_DOUBLE, the reference for
 * the other types. NULL with err. */
struct ops *ops_cpu_new(enum dtype type, struct error *err);

#endif
