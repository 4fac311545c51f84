/* tensor.h - products of small matrices by the tensor cores, for half and bfloat16
 *
 * A warp multiplies a (16 x 16) by b (16 x 8), and adds the result to c (16 x 8) in float. What
 * each lane has of them is documented for PTX's mma.m16n8k16; g is lane / 4, t is lane % 4:
 *
 *     a[0], a[1]: in rows g, g + 8 the columns 2t, 2t + 1; a[2], a[3]: likewise 2t + 8, 2t + 9
 *     b[0]: in column g the rows 2t, 2t + 1; b[1]: likewise 2t + 8, 2t + 9
 *     c[0], c[1]: in row g the columns 2t, 2t + 1; c[2], c[3]: likewise in row g + 8
 *
 * So c, rounded, is half of an a. GPUs before sm_80 cannot run this.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TENSOR_H
#define MUSTER_TENSOR_H

#include <string.h>
#include <type_traits>

#include "cuda/element.h"

#ifndef __CUDACC__
#include <tensor_on_cpu.h>
#endif

#define TENSOR_ARCH 80 /* the first with all of this */

/* Returns the bits of two elements, with the first one in the lower half. */
template <typename T> static __device__ inline uint32_t pair_of(T first, T second)
{
    uint16_t low, high;

    memcpy(&low, &first, sizeof low);
    memcpy(&high, &second, sizeof high);
    return low | (uint32_t)high << 16;
}

template <typename T> static __device__ inline uint32_t rounded_pair(float first, float second)
{
    T low, high;

    store(&low, first);
    store(&high, second);
    return pair_of(low, high);
}

/* Loads a from rows that begin at x. pitch: elements from row to row, even. */
template <typename T>
static __device__ inline void load_left(uint32_t a[4], const T *x, int pitch)
{
    const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
    int       i;

    for (i = 0; i < 4; i++) {
        const pack<T, 2> p = *(const pack<T, 2> *)(x + (g + i % 2 * 8) * pitch + 2 * t + i / 2 * 8);

        a[i] = pair_of(p.x[0], p.x[1]);
    }
}

/* Loads b, whose columns are rows at x. */
template <typename T>
static __device__ inline void load_turned(uint32_t b[2], const T *x, int pitch)
{
    const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
    int       i;

    for (i = 0; i < 2; i++) {
        const pack<T, 2> p = *(const pack<T, 2> *)(x + g * pitch + 2 * t + i * 8);

        b[i] = pair_of(p.x[0], p.x[1]);
    }
}

/* Loads b, whose rows are rows at x. */
template <typename T>
static __device__ inline void load_right(uint32_t b[2], const T *x, int pitch)
{
    const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
    int       i;

    for (i = 0; i < 2; i++)
        b[i] = pair_of(x[(2 * t + i * 8) * pitch + g], x[(2 * t + i * 8 + 1) * pitch + g]);
}

#ifdef __CUDACC__

#define MULTIPLY(TYPE)                                                                           \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE ".f32 "                  \
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"               \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

template <typename T>
static __device__ inline void multiply(float c[4], const uint32_t a[4], const uint32_t b[2])
{
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 10 * TENSOR_ARCH
    if (std::is_same<T, __half>::value)
        MULTIPLY("f16");
    else
        MULTIPLY("bf16");
#endif
}

#else

template <typename T>
static inline void multiply(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    tensor_on_cpu<T>(c, a, b);
}

#endif

#endif
