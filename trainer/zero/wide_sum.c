/* wide_sum.c - see wide_sum.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/wide_sum.h"

#include <stdint.h>
#include <string.h>

#define BLOCK 65536 /* elements that a thread adds at a time */

static void sum_block(enum dtype type, float *sum, const uint16_t *more, size_t count,
                      bool is_first);

void wide_sum(enum dtype type, float *sum, const void *more, size_t count, bool is_first)
{
    const long blocks = (long)((count + BLOCK - 1) / BLOCK);
    long       i;

#ifdef _OPENMP
#pragma omp parallel for schedule(static) if (blocks > 1)
#endif
    for (i = 0; i < blocks; i++) {
        const size_t first = (size_t)i * BLOCK, left = count - first;

        sum_block(type, sum + first, (const uint16_t *)more + first, left < BLOCK ? left : BLOCK,
                  is_first);
    }
}

/* Where the compiler and the sanitizers support it, the loop is compiled for several kinds of
 * CPU, and the program picks the right version when it starts. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONES
#endif

#define LANES 16
typedef uint16_t narrow16 __attribute__((vector_size(LANES * sizeof(uint16_t))));
typedef uint32_t bits16 __attribute__((vector_size(LANES * sizeof(uint32_t))));
typedef float    float16 __attribute__((vector_size(LANES * sizeof(float))));

CLONES static void sum_block(enum dtype type, float *sum, const uint16_t *more, size_t count,
                             bool is_first)
{
    narrow16 narrow;
    bits16   bits;
    float16  x, y;
    size_t   i = 0;

    if (is_first)
        memset(sum, 0, count * sizeof *sum);
    for (; type == DTYPE_BFLOAT16 && i + LANES <= count; i += LANES) {
        memcpy(&narrow, more + i, sizeof narrow);
        bits = __builtin_convertvector(narrow, bits16) << 16;
        memcpy(&x, &bits, sizeof x);
        memcpy(&y, sum + i, sizeof y);
        y += x;
        memcpy(sum + i, &y, sizeof y);
    }
    for (; i < count; i++)
        sum[i] += type == DTYPE_HALF ? half_to_float(more[i]) : bfloat16_to_float(more[i]);
}
