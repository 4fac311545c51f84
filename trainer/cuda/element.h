/* element.h - helpers for kernels: stored elements, and sums over a warp
 *
 * The arithmetic is in float. A thread reads and writes packs, which are N elements side by
 * side: 16 bytes where all addresses and widths allow it, else one element. Kernels get all
 * their shared memory at launch, by shared_memory(). They are launched with whole warps, and none
 * of their threads returns before the last sum.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ELEMENT_H
#define MUSTER_ELEMENT_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "comm/dtype.h"

#define WARP     32
#define ALL_WARP 0xffffffffu

/* Before a loop, so that the array that it counts through can be in registers. */
#ifdef __CUDACC__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif

static __device__ inline float load(const float *x)
{
    return *x;
}

static __device__ inline float load(const __half *x)
{
    return __half2float(*x);
}

static __device__ inline float load(const __nv_bfloat16 *x)
{
    return __bfloat162float(*x);
}

static __device__ inline void store(float *x, float value)
{
    *x = value;
}

static __device__ inline void store(__half *x, float value)
{
    *x = __float2half(value);
}

static __device__ inline void store(__nv_bfloat16 *x, float value)
{
    *x = __float2bfloat16(value);
}

/* Returns what remains of the value when it is stored as T. */
template <typename T> static __device__ inline float rounded(float value)
{
    T stored;

    store(&stored, value);
    return load(&stored);
}

template <typename T, int N> struct alignas(N * sizeof(T)) pack {
    T x[N];
};

template <int N, typename T> static __device__ inline void load_pack(float to[N], const T *x)
{
    const pack<T, N> p = *(const pack<T, N> *)x;
    int              k;

    for (k = 0; k < N; k++)
        to[k] = load(&p.x[k]);
}

template <int N, typename T> static __device__ inline void store_pack(T *x, const float from[N])
{
    pack<T, N> p;
    int        k;

    for (k = 0; k < N; k++)
        store(&p.x[k], from[k]);
    *(pack<T, N> *)x = p;
}

/* The elements of a pack of 16 bytes. */
#define PACK(T) ((int)(16 / sizeof(T)))

/* Returns whether all these addresses and widths, combined by |, allow packs of 16 bytes. */
template <typename T> static inline bool is_packed(uintptr_t addresses, size_t widths)
{
    return ((addresses | widths * sizeof(T)) & 15) == 0;
}

static inline uintptr_t address(const void *x)
{
    return (uintptr_t)x;
}

static __device__ inline float *shared_memory(void)
{
    extern __shared__ __align__(16) float shared_floats[]; /* also used for doubles */

    return shared_floats;
}

/* Returns the sum over the warp in every lane. */
static __device__ inline float warp_sum(float x)
{
    int lane;

    for (lane = WARP / 2; lane > 0; lane /= 2)
        x += __shfl_xor_sync(ALL_WARP, x, lane);
    return x;
}

static __device__ inline float warp_max(float x)
{
    int lane;

    for (lane = WARP / 2; lane > 0; lane /= 2)
        x = fmaxf(x, __shfl_xor_sync(ALL_WARP, x, lane));
    return x;
}

/* Return the number of this thread in the grid, and the number of threads: for loops over
 * elements. */
static __device__ inline size_t thread_number(void)
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ inline size_t thread_count(void)
{
    return (size_t)gridDim.x * blockDim.x;
}

#define LOOP_THREADS 256

/* Returns the number of blocks for a loop over count elements: enough to fill a GPU. */
static inline size_t loop_blocks(size_t count)
{
    const size_t blocks = (count + LOOP_THREADS - 1) / LOOP_THREADS;

    return blocks < 4096 ? blocks : 4096;
}

/* Returns the number of threads for a block that has a row with this number of packs. */
static inline unsigned row_threads(size_t packs)
{
    const size_t warps = (packs + WARP - 1) / WARP;

    return (unsigned)(warps < LOOP_THREADS / WARP ? warps : LOOP_THREADS / WARP) * WARP;
}

/* Calls the template for the element type. */
#define FOR_TYPE(type, function, ...)                                                            \
    ((type) == DTYPE_FLOAT  ? function<float>(__VA_ARGS__)                                       \
     : (type) == DTYPE_HALF ? function<__half>(__VA_ARGS__)                                      \
                            : function<__nv_bfloat16>(__VA_ARGS__))

#endif
