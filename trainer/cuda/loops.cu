/* loops.cu - see ops_cuda.h; operations on single elements
 *
 * Those on rows are in rows.cu.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cuda/element.h"
#include "cuda/ops_state.h"

#define real          float
#define REAL_FUNCTION static __device__ inline
#define REAL_IS_CUDA
#include "model/real_math.h"
#define PHILOX_FUNCTION static __device__ inline
#include "model/philox.h"

/* ---- functions of one or two elements ---- */

struct sum_of {
    static __device__ float of(float a, float b)
    {
        return a + b;
    }
};

struct erf_of {
    static __device__ float of(float x, float)
    {
        return gelu_erf(x);
    }
};

struct tanh_of {
    static __device__ float of(float x, float)
    {
        return gelu_tanh(x);
    }
};

struct erf_slope_of {
    static __device__ float of(float dout, float x)
    {
        return dout * gelu_erf_slope(x);
    }
};

struct tanh_slope_of {
    static __device__ float of(float dout, float x)
    {
        return dout * gelu_tanh_slope(x);
    }
};

/* out = F::of(a, b) for all packs, and for the elements after the last pack. b may be NULL. */
template <typename F, typename T, int N>
static __global__ void each_kernel(T *out, const T *a, const T *b, size_t count)
{
    size_t i;
    float  x[N], y[N] = {};
    int    k;

    for (i = thread_number(); i < count / N; i += thread_count()) {
        load_pack<N>(x, a + i * N);
        if (b != NULL)
            load_pack<N>(y, b + i * N);
        for (k = 0; k < N; k++)
            x[k] = F::of(x[k], y[k]);
        store_pack<N>(out + i * N, x);
    }
    i = count / N * N + thread_number();
    if (i < count)
        store(&out[i], F::of(load(&a[i]), b != NULL ? load(&b[i]) : 0));
}

template <typename F, typename T>
static void each(struct ops *ops, const char *what, void *out, const void *a, const void *b,
                 size_t count)
{
    const bool packed = is_packed<T>(address(out) | address(a) | address(b), 0);

    stream_launch(stream_of(ops), what, packed ? each_kernel<F, T, PACK(T)> : each_kernel<F, T, 1>,
                  loop_blocks(packed ? (count + PACK(T) - 1) / PACK(T) : count), LOOP_THREADS, 0,
                  (T *)out, (const T *)a, (const T *)b, count);
}

template <typename T>
static void add(struct ops *ops, void *out, const void *a, const void *b, size_t count)
{
    each<sum_of, T>(ops, "add", out, a, b, count);
}

template <typename T, int N> static __global__ void scale_kernel(T *x, float factor, size_t count)
{
    float v[N];
    int   k;

    for (size_t i = thread_number() * N; i < count; i += thread_count() * N) {
        load_pack<N>(v, x + i);
        for (k = 0; k < N; k++)
            v[k] *= factor;
        store_pack<N>(x + i, v);
    }
}

template <typename T> static void scale(struct ops *ops, void *x, double factor, size_t count)
{
    const bool packed = is_packed<T>(address(x), count);

    stream_launch(stream_of(ops), "scale", packed ? scale_kernel<T, PACK(T)> : scale_kernel<T, 1>,
                  loop_blocks(packed ? count / PACK(T) : count), LOOP_THREADS, 0, (T *)x,
                  (float)factor, count);
}

template <typename T>
static void gelu(struct ops *ops, enum gelu kind, void *out, const void *x, size_t count)
{
    if (kind == GELU_ERF)
        each<erf_of, T>(ops, "gelu", out, x, NULL, count);
    else
        each<tanh_of, T>(ops, "gelu", out, x, NULL, count);
}

template <typename T>
static void gelu_backward(struct ops *ops, enum gelu kind, void *dx, const void *dout,
                          const void *x, size_t count)
{
    if (kind == GELU_ERF)
        each<erf_slope_of, T>(ops, "gelu backward", dx, dout, x, count);
    else
        each<tanh_slope_of, T>(ops, "gelu backward", dx, dout, x, count);
}

/* ---- quantized weights ---- */

#define EIGHT 8 /* elements, which a thread decodes: one or two words of codes */

static __device__ inline void eight_of_int8(float v[EIGHT], const uint32_t codes[2], float scale)
{
    int k;

    UNROLL
    for (k = 0; k < EIGHT; k++)
        v[k] = (float)(int8_t)(codes[k / 4] >> 8 * (k % 4)) * QUANT_INT8_STEP * scale;
}

/* The first of two elements is in the high bits of its byte. */
static __device__ inline void eight_of_nf4(float v[EIGHT], uint32_t codes, float scale,
                                           const float *table)
{
    int k;

    UNROLL
    for (k = 0; k < EIGHT; k++)
        v[k] = table[codes >> (8 * (k / 2) + 4 * (1 - k % 2)) & 15] * scale;
}

/* words: of a block. Its scale and codes are words, so that a warp's threads read words side by
 * side. Numbers of the table come from shared memory, where a warp can take any of them at once. */
template <typename T, int N>
static __global__ void dequantize_kernel(enum quant kind, T *out, const uint32_t *packed,
                                         int words, size_t count)
{
    static constexpr float nf4[16] = QUANT_NF4_VALUES;
    float                 *table = shared_memory();
    float                  v[EIGHT];
    size_t                 i;
    int                    k, j;

    if (threadIdx.x < 16)
        table[threadIdx.x] = nf4[threadIdx.x];
    __syncthreads();
    for (i = thread_number() * EIGHT; i < count; i += thread_count() * EIGHT) {
        const uint32_t *block = packed + i / QUANT_BLOCK * words;
        const float     scale = *(const float *)block;
        const int       eighth = (int)(i % QUANT_BLOCK) / EIGHT;

        if (kind == QUANT_INT8)
            eight_of_int8(v, block + 1 + 2 * eighth, scale);
        else
            eight_of_nf4(v, block[1 + eighth], scale, table);
        UNROLL
        for (k = 0; k < EIGHT; k += N) {
            if (i + k + N <= count) {
                store_pack<N>(out + i + k, v + k);
                continue;
            }
            UNROLL
            for (j = k; j < k + N; j++)
                if (i + j < count)
                    store(&out[i + j], v[j]);
        }
    }
}

template <typename T>
static void dequantize(struct ops *ops, enum quant kind, void *out, const void *packed,
                       size_t count)
{
    const bool is_whole = is_packed<T>(address(out), 0);

    stream_launch(stream_of(ops), "dequantize",
                  is_whole ? dequantize_kernel<T, PACK(T)> : dequantize_kernel<T, 1>,
                  loop_blocks((count + EIGHT - 1) / EIGHT), LOOP_THREADS, 16 * sizeof(float), kind,
                  (T *)out, (const uint32_t *)packed,
                  (int)(quant_block_bytes(kind) / sizeof(uint32_t)), count);
}

/* ---- dropout ---- */

#define FOUR 4 /* elements, whose random words come from one counter */

/* Some blocks, the parts, have a sequence. A thread has four elements. */
template <typename T, int N>
static __global__ void dropout_kernel(struct dropout drop, T *out, const T *x, size_t each,
                                      int parts)
{
    const int      sequence = (int)(blockIdx.x / parts);
    const uint32_t limit = dropout_limit(&drop);
    const float    factor = 1 / (1 - (float)drop.rate);
    const size_t   four = (size_t)(blockIdx.x % parts) * LOOP_THREADS + threadIdx.x;
    struct philox  random;
    float          v[N];
    int            j, k;

    if (four * FOUR >= each)
        return;
    random = dropout_words(&drop, sequence, four);
    out += sequence * each + four * FOUR;
    x += sequence * each + four * FOUR;
    for (j = 0; j < FOUR && four * FOUR + j < each; j += N) {
        load_pack<N>(v, x + j);
        for (k = 0; k < N; k++)
            v[k] = random.word[j + k] < limit ? 0 : v[k] * factor;
        store_pack<N>(out + j, v);
    }
}

template <typename T>
static void dropout(struct ops *ops, const struct dropout *drop, void *out, const void *x,
                    int sequences, size_t each)
{
    const bool   packed = is_packed<T>(address(out) | address(x), each);
    const size_t parts = (each + FOUR * LOOP_THREADS - 1) / (FOUR * LOOP_THREADS);

    stream_launch(stream_of(ops), "dropout",
                  packed ? dropout_kernel<T, FOUR> : dropout_kernel<T, 1>,
                  (size_t)sequences * parts, LOOP_THREADS, 0, *drop, (T *)out, (const T *)x, each,
                  (int)parts);
}

template <typename T> static void fill(struct ops *ops)
{
    ops->add = add<T>;
    ops->scale = scale<T>;
    ops->gelu = gelu<T>;
    ops->gelu_backward = gelu_backward<T>;
    ops->dequantize = dequantize<T>;
    ops->dropout = dropout<T>;
}

void loops_fill(struct ops *ops)
{
    FOR_TYPE(ops->type, fill, ops);
}
