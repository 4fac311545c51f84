/* measure.c - see measure.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

/* Each block is summed by itself, and the sums in order: so the number of threads does
 * not change what is added to what. */
#define BLOCK 65536

static double block_squares(enum dtype type, const void *grad, size_t first, size_t end);
static float  load(enum dtype type, const void *grad, size_t i);

double measure_squares(enum dtype type, const void *grad, size_t count)
{
    const long blocks = (long)((count + BLOCK - 1) / BLOCK);
    double    *sum = xcalloc((size_t)blocks + 1, sizeof *sum), total = 0;
    long       i;

#ifdef _OPENMP
#pragma omp parallel for schedule(static)
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

/* Eight sums at once, for vectors: the compiler may not change the order by itself. */
#define LANES 8
#define SUM_LOOP(LOAD)                                                        \
    for (; i + LANES <= end; i += LANES)                                      \
        for (lane = 0; lane < LANES; lane++) {                                \
            double x = (double)(LOAD(i + lane));                              \
            sum[lane] += x * x;                                               \
        }                                                                     \
    break
#define LOAD_FLOAT(at)    (((const float *)grad)[at])
#define LOAD_BFLOAT16(at) widen(((const uint16_t *)grad)[at])
#define LOAD_HALF(at)     half_to_float(((const uint16_t *)grad)[at])

/* bfloat16_to_float(), here, where the loop can take it in. */
static inline float widen(uint16_t bfloat16)
{
    uint32_t bits = (uint32_t)bfloat16 << 16;
    float    value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static double block_squares(enum dtype type, const void *grad, size_t first, size_t end)
{
    double sum[LANES] = { 0 }, total = 0;
    size_t i = first, lane;

    switch (type) {
    case DTYPE_HALF:     SUM_LOOP(LOAD_HALF);
    case DTYPE_BFLOAT16: SUM_LOOP(LOAD_BFLOAT16);
    default:             SUM_LOOP(LOAD_FLOAT);
    }
    for (lane = 0; i < end; i++, lane = (lane + 1) % LANES)
        sum[lane] += (double)load(type, grad, i) * (double)load(type, grad, i);
    for (lane = 0; lane < LANES; lane++)
        total += sum[lane];
    return total;
}

size_t measure_first_bad(enum dtype type, const void *grad, size_t count)
{
    size_t i;

    for (i = 0; i < count && isfinite(load(type, grad, i)); i++)
        ;
    return i;
}

static float load(enum dtype type, const void *grad, size_t i)
{
    switch (type) {
    case DTYPE_HALF:     return half_to_float(((const uint16_t *)grad)[i]);
    case DTYPE_BFLOAT16: return bfloat16_to_float(((const uint16_t *)grad)[i]);
    default:             return ((const float *)grad)[i];
    }
}
