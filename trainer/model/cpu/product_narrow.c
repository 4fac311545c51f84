/* product_narrow.c - products of 16-bit numbers in float, see product.h
 *
 * Few CPUs compute in half, and oneDNN 2.6 does so on none; only CPUs with AVX-512 compute in
 * bfloat16. This code is for testing a run before it uses GPUs, and is not fast.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "model/narrow.h"
#include "model/cpu/product.h"
#include "xalloc.h"

static size_t span_of(const struct matmul *shape, int rows, int columns, int ld,
                      const long strides[2]);
static float *widened(enum dtype type, const void *narrow, size_t count);
static void   widen_halves(float *out, const uint16_t *in, size_t count);
static void   widen_bfloat16s(float *out, const uint16_t *in, size_t count);
static void   narrow_halves(uint16_t *out, const float *in, size_t count);
static void   narrow_bfloat16s(uint16_t *out, const float *in, size_t count);

int product_run_narrow(struct products *products, enum dtype type, const struct matmul *s,
                       const void *a, const void *b, const void *bias, void *c, struct error *err)
{
    const size_t of_a = span_of(s, s->at ? s->k : s->m, s->at ? s->m : s->k, s->lda, s->sa);
    const size_t of_b = span_of(s, s->bt ? s->n : s->k, s->bt ? s->k : s->n, s->ldb, s->sb);
    const size_t of_c = span_of(s, s->m, s->n, s->ldc, s->sc);
    float       *wide_a = widened(type, a, of_a);
    float       *wide_b = widened(type, b, of_b);
    float       *wide_bias = bias != NULL ? widened(type, bias, (size_t)s->n) : NULL;
    float       *wide_c = widened(type, c, of_c); /* keeps the elements between c's rows */
    const int    rc = product_run(products, s, wide_a, wide_b, wide_bias, wide_c, err);

    if (type == DTYPE_HALF)
        narrow_halves(c, wide_c, of_c);
    else
        narrow_bfloat16s(c, wide_c, of_c);
    free(wide_a);
    free(wide_b);
    free(wide_bias);
    free(wide_c);
    return rc;
}

/* Returns the number of elements from the first to the last, over all batches. */
static size_t span_of(const struct matmul *shape, int rows, int columns, int ld,
                      const long strides[2])
{
    return (size_t)((shape->batch[0] - 1) * strides[0] + (shape->batch[1] - 1) * strides[1] +
                    (long)(rows - 1) * ld + columns);
}

static float *widened(enum dtype type, const void *narrow, size_t count)
{
    float *out = xcalloc(count, sizeof *out);

    if (type == DTYPE_HALF)
        widen_halves(out, narrow, count);
    else
        widen_bfloat16s(out, narrow, count);
    return out;
}

static void widen_halves(float *out, const uint16_t *in, size_t count)
{
    size_t i;

#pragma omp parallel for simd schedule(static)
    for (i = 0; i < count; i++)
        out[i] = wide_half(in[i]);
}

static void widen_bfloat16s(float *out, const uint16_t *in, size_t count)
{
    size_t i;

#pragma omp parallel for simd schedule(static)
    for (i = 0; i < count; i++)
        out[i] = wide_bfloat16(in[i]);
}

static void narrow_halves(uint16_t *out, const float *in, size_t count)
{
    size_t i;

#pragma omp parallel for simd schedule(static)
    for (i = 0; i < count; i++)
        out[i] = narrow_half(in[i]);
}

static void narrow_bfloat16s(uint16_t *out, const float *in, size_t count)
{
    size_t i;

#pragma omp parallel for simd schedule(static)
    for (i = 0; i < count; i++)
        out[i] = narrow_bfloat16(in[i]);
}
