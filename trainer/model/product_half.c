/* product_half.c - products of halves, see product.h
 *
 * Few CPUs compute in half, and oneDNN 2.6 does so on none: it is done in float. This is for
 * trying out what a run on GPUs will do, not for speed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "model/half.h"
#include "model/product.h"
#include "xalloc.h"

static size_t span_of(const struct matmul *shape, int rows, int columns, int ld,
                      const long strides[2]);
static float *widened(const void *halves, size_t count);

int product_run_half(struct products *products, const struct matmul *s, const void *a,
                     const void *b, const void *bias, void *c, struct error *err)
{
    const size_t of_c = span_of(s, s->m, s->n, s->ldc, s->sc);
    float *wide_a = widened(a, span_of(s, s->at ? s->k : s->m, s->at ? s->m : s->k, s->lda, s->sa));
    float *wide_b = widened(b, span_of(s, s->bt ? s->n : s->k, s->bt ? s->k : s->n, s->ldb, s->sb));
    float *wide_bias = bias != NULL ? widened(bias, (size_t)s->n) : NULL;
    float *wide_c = widened(c, of_c); /* also for what lies between its rows */
    const int rc = product_run(products, s, wide_a, wide_b, wide_bias, wide_c, err);
    uint16_t *out = c;
    size_t    i;

#pragma omp parallel for simd schedule(static)
    for (i = 0; i < of_c; i++)
        out[i] = narrow_half(wide_c[i]);
    free(wide_a);
    free(wide_b);
    free(wide_bias);
    free(wide_c);
    return rc;
}

/* Elements from the first to the last, of all batches. */
static size_t span_of(const struct matmul *shape, int rows, int columns, int ld,
                      const long strides[2])
{
    return (size_t)((shape->batch[0] - 1) * strides[0] + (shape->batch[1] - 1) * strides[1] +
                    (long)(rows - 1) * ld + columns);
}

static float *widened(const void *halves, size_t count)
{
    const uint16_t *in = halves;
    float          *out = xcalloc(count, sizeof *out);
    size_t          i;

#pragma omp parallel for simd schedule(static)
    for (i = 0; i < count; i++)
        out[i] = wide_half(in[i]);
    return out;
}
