/* ops.h - what a model is computed with: the same functions on CPUs and on GPUs
 *
 * Tensors are rows of elements of ops->type, one behind the other; a width is the number of
 * elements in a row. A gradient parameter named d... of a weight is added to; all other outputs
 * are written. Sums run in float at least (in double for DTYPE_DOUBLE), in an order that does
 * not depend on the number of threads.
 *
 * Operations are carried out in the order of the calls, maybe later; cross_entropy waits for
 * them. What fails is kept, and products after it do nothing: ask check() at the end of each
 * layer. Tokens, targets and indices are the host's, and are taken when the call returns.
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

/* c = a b, row-major, for every pair of batch indices. Strides count elements. */
struct matmul {
    int m, n, k;       /* a is m x k, b is k x n */
    int at, bt;        /* true: stored as its transpose, k x m, n x k */
    int add;           /* true: c += */
    int lda, ldb, ldc; /* from row to row, as stored */
    int batch[2];      /* 1, 1: one product */
    long sa[2], sb[2], sc[2]; /* from one batch index to the next */
};

/* Elements that become 0, at random: philox.h. The others grow by as much. */
struct dropout {
    double   rate; /* 0: none, below 1 */
    uint64_t seed;
    uint64_t sample; /* the number of the first sequence, among all of a training */
    uint32_t site;   /* below 65536: another one, other elements */
};

/* Queries, keys and values of all heads lie side by side in a row of qkv. */
struct attention {
    int  sequences, length, heads, head_width;
    bool causal; /* no token sees a later one */
    struct dropout drop; /* of the weights */
};

enum gelu { GELU_ERF, GELU_TANH };

struct norm {
    int    rows, width;
    double epsilon;
};

struct ops {
    const char *name; /* "cpu, avx512" */
    enum dtype  type;
    size_t      stat_size; /* bytes of one of the numbers that forward keeps for backward */

    /* Memory that the operations work on, aligned for any of them; NULL after a failure.
     * release takes NULL. */
    void *(*alloc)(struct ops *ops, size_t bytes);
    void (*release)(struct ops *ops, void *memory);
    void (*zero)(struct ops *ops, void *memory, size_t bytes);
    /* From and to the host's memory; done on return. */
    void (*read)(struct ops *ops, void *host, const void *memory, size_t bytes);
    void (*write)(struct ops *ops, void *memory, const void *host, size_t bytes);

    /* bias, one row of c, may be NULL. */
    void (*matmul)(struct ops *ops, const struct matmul *shape, const void *a, const void *b,
                   const void *bias, void *c);
    void (*bias_backward)(struct ops *ops, void *dbias, const void *dout, int rows, int width);

    /* out[i] = words[tokens[i]] + positions[first + i % length] + type, which may be NULL. */
    void (*embed)(struct ops *ops, void *out, const int32_t *tokens, const void *words,
                  const void *positions, const void *type, int rows, int length, int width);
    void (*embed_backward)(struct ops *ops, void *dwords, void *dpositions, const void *dout,
                           const int32_t *tokens, int rows, int length, int width);

    /* sum = x + y, out = normed sum * weight + bias. y NULL: sum is not written, x is taken.
     * stats: two numbers a row. */
    void (*layernorm)(struct ops *ops, const struct norm *shape, void *sum, void *out,
                      void *stats, const void *x, const void *y, const void *weight,
                      const void *bias);
    /* x is what was normed. dx = its gradient + more, which may be NULL or dx itself. */
    void (*layernorm_backward)(struct ops *ops, const struct norm *shape, void *dx,
                               void *dweight, void *dbias, const void *dout, const void *x,
                               const void *weight, const void *stats, const void *more);

    void (*add)(struct ops *ops, void *out, const void *a, const void *b, size_t count);
    void (*gelu)(struct ops *ops, enum gelu kind, void *out, const void *x, size_t count);
    void (*gelu_backward)(struct ops *ops, enum gelu kind, void *dx, const void *dout,
                          const void *x, size_t count);

    /* Each sequence has so many elements. out may be x. It is its own backward pass. */
    void (*dropout)(struct ops *ops, const struct dropout *drop, void *out, const void *x,
                    int sequences, size_t each);

    /* weights: what is kept for backward, of that many bytes. There dweights is room of the
     * same size, and out is what forward gave. */
    size_t (*attention_bytes)(struct ops *ops, const struct attention *shape);
    void (*attention)(struct ops *ops, const struct attention *shape, void *out, void *weights,
                      const void *qkv);
    void (*attention_backward)(struct ops *ops, const struct attention *shape, void *dqkv,
                               void *dweights, const void *dout, const void *out,
                               const void *qkv, const void *weights);

    /* The sum of the rows' losses. stats: one number a row. Targets are below width. */
    double (*cross_entropy)(struct ops *ops, void *stats, const void *logits,
                            const int32_t *targets, int rows, int width);
    /* logits become their own gradient, times scale. */
    void (*cross_entropy_backward)(struct ops *ops, void *logits, const void *stats,
                                   const int32_t *targets, double scale, int rows, int width);

    /* out[i] = x[index[i]]; out[index[i]] = x[i]. */
    void (*gather)(struct ops *ops, void *out, const void *x, const int32_t *index, int rows,
                   int width);
    void (*scatter)(struct ops *ops, void *out, const void *x, const int32_t *index, int rows,
                    int width);

    /* -1 with the first failure that is known by now; it waits for nothing. */
    int (*check)(struct ops *ops, struct error *err);
    void (*free)(struct ops *ops);
};

/* On as many threads as OpenMP gives. DTYPE_FLOAT and DTYPE_BFLOAT16 take oneDNN for their
 * products. DTYPE_HALF is slow on CPUs; so is DTYPE_DOUBLE, which the others are compared with.
 * NULL with err. */
struct ops *ops_cpu_new(enum dtype type, struct error *err);

#endif
