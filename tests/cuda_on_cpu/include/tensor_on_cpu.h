/* tensor_on_cpu.h - stands in for the PTX instruction mma.m16n8k16: see ../README
 *
 * Each lane gives its registers to all, and computes its four elements of c from them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CUDA_ON_CPU_TENSOR_H
#define CUDA_ON_CPU_TENSOR_H

#include <stdint.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

static inline float tensor_on_cpu_wide(__half x)
{
    return __half2float(x);
}

static inline float tensor_on_cpu_wide(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

/* An element of a pair. */
template <typename T> static inline float tensor_on_cpu_element(unsigned pair, int which)
{
    return tensor_on_cpu_wide(T{ (uint16_t)(pair >> 16 * which) });
}

/* a: 16 x 16, row by row: its registers go first through the rows' halves, then the columns'.
 * b: 16 x 8, column by column. */
template <typename T>
static inline void tensor_on_cpu(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    const unsigned mine[6] = { a[0], a[1], a[2], a[3], b[0], b[1] };
    const unsigned(*all)[6] = cuda_on_cpu_exchange(mine);
    const int      lane = (int)(threadIdx.x % 32);
    float          left[2][16], right[2][16]; /* two rows of a, two columns of b */
    int            i, k;

    for (i = 0; i < 2; i++) {
        for (k = 0; k < 16; k++) {
            const int of = k % 8 / 2, half = k / 8;
            const int row = lane / 4, column = lane % 4 * 2 + i;

            left[i][k] = tensor_on_cpu_element<T>(all[row * 4 + of][half * 2 + i], k % 2);
            right[i][k] = tensor_on_cpu_element<T>(all[column * 4 + of][4 + half], k % 2);
        }
    }
    for (i = 0; i < 4; i++)
        for (k = 0; k < 16; k++)
            c[i] += left[i / 2][k] * right[i % 2][k];
}

#endif
