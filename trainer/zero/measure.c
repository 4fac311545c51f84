/* measure.c - see measure.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

/* Each block is summed separately, and the sums are added in order, so the order of the
 * additions does not depend on the number of threads. */
#define BLOCK 65536

static double block_squares(enum dtype type, const void *grad, size_t first, size_t end);
static float  load(enum dtype type, const void *grad, size_t i);

double measure_squares(enum dtype type, const void *grad, size_t count)
{
    const long blocks = (long)((count + BLOCK - 1) / BLOCK);
    double    *sum = xcalloc((size_t)blocks + 1, sizeof *sum), total = 0;
    long       i;

#ifdef _OPENMP
#pragma omp parallel for schedule(static) if (blocks > 1)
#endif
    for (i = 0; i < blocks; i++) {
        size_t first = (size_t)i * BLOCK;

        sum[i] = block_squares(type, grad, first,
                               count - first < BLOCK ? count : first + BLOCK);
    }
    for (i = 0; i < blocks; i++)
        total += sum[i];
    free(sum);
    return total;
}

/* Computes eight sums at once, so that the loop vectorizes: the compiler must not reorder
 * additions of float. Where the compiler and the sanitizers support it, the function is
 * compiled for several kinds of CPU, and the program picks the right version when it starts. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONES
#endif

#define LANES 8
typedef uint16_t narrow8 __attribute__((vector_size(LANES * sizeof(uint16_t))));
typedef uint32_t bits8 __attribute__((vector_size(LANES * sizeof(uint32_t))));
typedef float    float8 __attribute__((vector_size(LANES * sizeof(float))));
typedef double   double8 __attribute__((vector_size(LANES * sizeof(double))));

CLONES static double block_squares(enum dtype type, const void *grad, size_t first, size_t end)
{
    double8 sum = { 0 }, wide;
    float8  x;
    bits8   bits;
    narrow8 narrow;
    float   some[LANES];
    double  total = 0;
    size_t  i = first, lane;

    for (; i + LANES <= end; i += LANES) {
        if (type == DTYPE_FLOAT) {
            memcpy(&x, (const float *)grad + i, sizeof x);
        } else if (type == DTYPE_HALF) {
            for (lane = 0; lane < LANES; lane++)
                some[lane] = half_to_float(((const uint16_t *)grad)[i + lane]);
            memcpy(&x, some, sizeof x);
        } else {
            memcpy(&narrow, (const uint16_t *)grad + i, sizeof narrow);
            bits = __builtin_convertvector(narrow, bits8) << 16;
            memcpy(&x, &bits, sizeof x);
        }
        wide = __builtin_convertvector(x, double8);
        sum += wide * wide;
    }
    for (lane = 0; i < end; i++, lane = (lane + 1) % LANES)
        sum[lane] += (double)load(type, grad, i) * (double)load(type, grad, i);
    for (lane = 0; lane < LANES; lane++)
        total += sum[lane];
    return total;
}

size_t measure_last_bad(enum dtype type, const void *grad, size_t count)
{
    size_t i;

    for (i = count; i > 0; i--)
        if (!isfinite(load(type, grad, i - 1)))
            return i - 1;
    return count;
}

static float load(enum dtype type, const void *grad, size_t i)
{
    switch (type) {
    case DTYPE_HALF:     return half_to_float(((const uint16_t *)grad)[i]);
    case DTYPE_BFLOAT16: return bfloat16_to_float(((const uint16_t *)grad)[i]);
    default:             return ((const float *)grad)[i];
    }
}
