/* product_plain.c - matrix products by their definition, see product.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/cpu/product.h"

static double dot(const struct matmul *s, const double *a, const double *b, int i, int j);

void product_plain(const struct matmul *s, const double *a, const double *b,
                   const double *bias, double *c)
{
    const int  count = s->batch[0] * s->batch[1];
    const bool worth_threads = (double)count * s->m * s->n * s->k > 1e6;
    int        batch;

#pragma omp parallel for schedule(static) if (worth_threads)
    for (batch = 0; batch < count; batch++) {
        const long    one = batch / s->batch[1], two = batch % s->batch[1];
        const double *x = a + one * s->sa[0] + two * s->sa[1];
        const double *y = b + one * s->sb[0] + two * s->sb[1];
        double       *z = c + one * s->sc[0] + two * s->sc[1], sum;
        int           i, j;

        for (i = 0; i < s->m; i++) {
            for (j = 0; j < s->n; j++) {
                sum = dot(s, x, y, i, j) + (bias != NULL ? bias[j] : 0);
                z[(long)i * s->ldc + j] = sum + (s->add ? z[(long)i * s->ldc + j] : 0);
            }
        }
    }
}

/* Returns the product of row i of a and column j of b. */
static double dot(const struct matmul *s, const double *a, const double *b, int i, int j)
{
    double sum = 0;
    int    l;

    for (l = 0; l < s->k; l++)
        sum += a[s->at ? (long)l * s->lda + i : (long)i * s->lda + l] *
               b[s->bt ? (long)j * s->ldb + l : (long)l * s->ldb + j];
    return sum;
}
