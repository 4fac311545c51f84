/* ops_cpu.c - the operations on this machine's CPUs, see ops.h
 *
 * Matrix products come from product.h, loops from kernels.h. Attention uses both: two products
 * and a softmax for all heads.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/kernels.h"
#include "model/ops.h"
#include "model/product.h"
#include "xalloc.h"

#define ALIGNMENT 64 /* a cache line, and the widest vector */

struct ops_cpu {
    struct ops            ops; /* the public part */
    const struct kernels *kernels;
    struct products      *products;
    bool                  failed;
    struct error          why; /* the first failure */
};

static const struct kernels *choose(enum dtype type, const char **name);
static void                 *ops_alloc(struct ops *ops, size_t bytes);
static void                  ops_release(struct ops *ops, void *memory);
static void                  ops_read(struct ops *ops, void *host, const void *memory,
                                      size_t bytes);
static void                  ops_write(struct ops *ops, void *memory, const void *host,
                                       size_t bytes);
static void                  matmul(struct ops *ops, const struct matmul *shape, const void *a,
                                    const void *b, const void *bias, void *c);
static size_t attention_bytes(struct ops *ops, const struct attention *shape);
static void   attention(struct ops *ops, const struct attention *shape, void *out, void *weights,
                        const struct qkv *x);
static void   attention_backward(struct ops *ops, const struct attention *shape,
                                 const struct qkv *dx, void *dweights, const void *dout,
                                 const void *out, const struct qkv *x, const void *weights);
static struct matmul heads_to_weights(const struct attention *s, int row_of_a);
static struct matmul weights_to_heads(const struct attention *s, bool turned, int row_of_b,
                                      int row_of_c);
static const void   *part(struct ops *ops, const void *qkv, const struct attention *s, int which);
static int           ops_check(struct ops *ops, struct error *err);
static void          ops_free(struct ops *ops);

struct ops *ops_cpu_new(enum dtype type, struct error *err)
{
    const char     *name;
    struct ops_cpu *cpu;

    if (type != DTYPE_FLOAT && type != DTYPE_BFLOAT16 && type != DTYPE_HALF &&
        type != DTYPE_DOUBLE) {
        err_set(err, "models cannot compute in %s on CPUs", dtype_name(type));
        return NULL;
    }
    cpu = xcalloc(1, sizeof *cpu);
    cpu->kernels = choose(type, &name);
    if (type != DTYPE_DOUBLE && (cpu->products = products_new(type, err)) == NULL) {
        free(cpu);
        return NULL;
    }
    cpu->ops = cpu->kernels->ops;
    cpu->ops.name = name;
    cpu->ops.alloc = ops_alloc;
    cpu->ops.release = ops_release;
    cpu->ops.read = ops_read;
    cpu->ops.write = ops_write;
    cpu->ops.matmul = matmul;
    cpu->ops.attention_bytes = attention_bytes;
    cpu->ops.attention = attention;
    cpu->ops.attention_backward = attention_backward;
    cpu->ops.check = ops_check;
    cpu->ops.free = ops_free;
    return &cpu->ops;
}

static void ops_free(struct ops *ops)
{
    struct ops_cpu *cpu = (struct ops_cpu *)ops;

    products_free(cpu->products);
    free(cpu);
}

/* Chooses the best kernels that this CPU can run. */
static const struct kernels *choose(enum dtype type, const char **name)
{
    static const struct kernels *const any[DTYPE_COUNT] = {
        [DTYPE_FLOAT] = &kernels_float,
        [DTYPE_BFLOAT16] = &kernels_bfloat16,
        [DTYPE_HALF] = &kernels_half,
        [DTYPE_DOUBLE] = &kernels_double,
    };
#ifdef KERNELS_X86
    static const struct kernels *const avx2[DTYPE_COUNT] = {
        [DTYPE_FLOAT] = &kernels_float_avx2,
        [DTYPE_BFLOAT16] = &kernels_bfloat16_avx2,
        [DTYPE_HALF] = &kernels_half_avx2,
    };
    static const struct kernels *const avx512[DTYPE_COUNT] = {
        [DTYPE_FLOAT] = &kernels_float_avx512,
        [DTYPE_BFLOAT16] = &kernels_bfloat16_avx512,
        [DTYPE_HALF] = &kernels_half_avx512,
    };

    *name = "cpu, avx512";
    if (avx512[type] != NULL && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return avx512[type];
    *name = "cpu, avx2";
    if (avx2[type] != NULL && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return avx2[type];
#endif
    *name = "cpu";
    return any[type];
}

static void *ops_alloc(struct ops *ops, size_t bytes)
{
    struct ops_cpu *cpu = (struct ops_cpu *)ops;
    void           *memory = NULL;

    if (cpu->failed)
        return NULL;
    if (bytes == 0)
        bytes = 1;
    if (posix_memalign(&memory, ALIGNMENT, bytes) == 0)
        return memory;
    cpu->failed = true;
    err_set(&cpu->why, "out of memory: %zu bytes for activations", bytes);
    return NULL;
}

static void ops_release(struct ops *ops, void *memory)
{
    (void)ops;
    free(memory);
}

static void ops_read(struct ops *ops, void *host, const void *memory, size_t bytes)
{
    (void)ops;
    memcpy(host, memory, bytes);
}

static void ops_write(struct ops *ops, void *memory, const void *host, size_t bytes)
{
    (void)ops;
    memcpy(memory, host, bytes);
}

static void matmul(struct ops *ops, const struct matmul *shape, const void *a, const void *b,
                   const void *bias, void *c)
{
    struct ops_cpu *cpu = (struct ops_cpu *)ops;
    int             rc = 0;

    if (cpu->failed)
        return;
    if (ops->type == DTYPE_DOUBLE)
        product_plain(shape, a, b, bias, c);
    else if (products_type(cpu->products) == ops->type)
        rc = product_run(cpu->products, shape, a, b, bias, c, &cpu->why);
    else
        rc = product_run_narrow(cpu->products, ops->type, shape, a, b, bias, c, &cpu->why);
    cpu->failed = rc < 0;
}

/* All weights, [sequences][heads][length][length]; with dropout, also their copy after it. */
static size_t attention_bytes(struct ops *ops, const struct attention *s)
{
    const size_t rows = (size_t)s->sequences * (size_t)s->heads * (size_t)s->length;

    return rows * (size_t)s->length * dtype_size(ops->type) * (s->drop.rate > 0 ? 2 : 1);
}

/* Returns the weights after dropout: the second copy, or the first if there is no dropout. */
static const void *dropped(struct ops *ops, const struct attention *s, const void *weights)
{
    return (const char *)weights + (s->drop.rate > 0 ? attention_bytes(ops, s) / 2 : 0);
}

static void drop_weights(struct ops *ops, const struct attention *s, void *out, const void *x)
{
    if (s->drop.rate > 0)
        ops->dropout(ops, &s->drop, out, x, s->sequences,
                     (size_t)s->heads * (size_t)s->length * (size_t)s->length);
}

/* weights = softmax(Q K^T / sqrt(head width)), out = weights V. */
static void attention(struct ops *ops, const struct attention *s, void *out, void *weights,
                      const struct qkv *x)
{
    const void         *qkv = x->q;
    const int           width = s->heads * s->head_width;
    const int           rows = s->sequences * s->heads * s->length;
    const struct matmul scores = heads_to_weights(s, 3 * width);
    const struct matmul mix = weights_to_heads(s, false, 3 * width, width);

    ops->matmul(ops, &scores, part(ops, qkv, s, 0), part(ops, qkv, s, 1), NULL, weights);
    ((struct ops_cpu *)ops)->kernels->softmax(weights, rows, s->length,
                                              1 / sqrt(s->head_width), s->causal);
    drop_weights(ops, s, (void *)dropped(ops, s, weights), weights);
    ops->matmul(ops, &mix, dropped(ops, s, weights), part(ops, qkv, s, 2), NULL, out);
}

static void attention_backward(struct ops *ops, const struct attention *s,
                               const struct qkv *dx, void *dweights, const void *dout,
                               const void *out, const struct qkv *x, const void *weights)
{
    const void         *qkv = x->q;
    void               *dqkv = dx->q;
    const int           width = s->heads * s->head_width;
    const int           rows = s->sequences * s->heads * s->length;
    const struct matmul to_weights = heads_to_weights(s, width);
    const struct matmul to_v = weights_to_heads(s, true, width, 3 * width);
    const struct matmul to_q = weights_to_heads(s, false, 3 * width, 3 * width);
    const struct matmul to_k = weights_to_heads(s, true, 3 * width, 3 * width);

    (void)out;
    ops->matmul(ops, &to_weights, dout, part(ops, qkv, s, 2), NULL, dweights);
    ops->matmul(ops, &to_v, dropped(ops, s, weights), dout, NULL, (void *)part(ops, dqkv, s, 2));
    drop_weights(ops, s, dweights, dweights);
    ((struct ops_cpu *)ops)->kernels->softmax_backward(dweights, weights, rows, s->length,
                                                       1 / sqrt(s->head_width), s->causal);
    ops->matmul(ops, &to_q, dweights, part(ops, qkv, s, 1), NULL, (void *)part(ops, dqkv, s, 0));
    ops->matmul(ops, &to_k, dweights, part(ops, qkv, s, 0), NULL, (void *)part(ops, dqkv, s, 1));
}

/* For each head, multiplies its part of a's rows by the transpose of its part of K or V. */
static struct matmul heads_to_weights(const struct attention *s, int row_of_a)
{
    const int  row = 3 * s->heads * s->head_width;
    const long length = s->length, square = length * length;

    return (struct matmul){
        .m = s->length, .n = s->length, .k = s->head_width, .bt = true,
        .lda = row_of_a, .ldb = row, .ldc = s->length,
        .batch = { s->sequences, s->heads },
        .sa = { length * row_of_a, s->head_width },
        .sb = { length * row, s->head_width },
        .sc = { s->heads * square, square },
    };
}

/* For each head, multiplies the weights, or their transpose, by its part of b's rows. */
static struct matmul weights_to_heads(const struct attention *s, bool turned, int row_of_b,
                                      int row_of_c)
{
    const long length = s->length, square = length * length;

    return (struct matmul){
        .m = s->length, .n = s->head_width, .k = s->length, .at = turned,
        .lda = s->length, .ldb = row_of_b, .ldc = row_of_c,
        .batch = { s->sequences, s->heads },
        .sa = { s->heads * square, square },
        .sb = { length * row_of_b, s->head_width },
        .sc = { length * row_of_c, s->head_width },
    };
}

/* Returns where Q, K or V starts in the first row. */
static const void *part(struct ops *ops, const void *qkv, const struct attention *s, int which)
{
    return (const char *)qkv +
           (size_t)(which * s->heads * s->head_width) * dtype_size(ops->type);
}

static int ops_check(struct ops *ops, struct error *err)
{
    struct ops_cpu *cpu = (struct ops_cpu *)ops;

    return cpu->failed ? err_set(err, "%s", cpu->why.text) : 0;
}
