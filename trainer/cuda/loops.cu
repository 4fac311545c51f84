/* loops.cu - see ops_cuda.h; operations on single elements or single rows
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

template <typename T>
static __global__ void add_kernel(T *out, const T *a, const T *b, size_t count)
{
    size_t i;

    for (i = thread_number(); i < count; i += thread_count())
        store(&out[i], load(&a[i]) + load(&b[i]));
}

template <typename T>
static void add(struct ops *ops, void *out, const void *a, const void *b, size_t count)
{
    stream_launch(stream_of(ops), "add", add_kernel<T>, loop_blocks(count), LOOP_THREADS, 0,
                  (T *)out, (const T *)a, (const T *)b, count);
}

template <typename T>
static __global__ void gelu_kernel(bool is_erf, T *out, const T *x, size_t count)
{
    size_t i;

    for (i = thread_number(); i < count; i += thread_count())
        store(&out[i], is_erf ? gelu_erf(load(&x[i])) : gelu_tanh(load(&x[i])));
}

template <typename T>
static void gelu(struct ops *ops, enum gelu kind, void *out, const void *x, size_t count)
{
    stream_launch(stream_of(ops), "gelu", gelu_kernel<T>, loop_blocks(count), LOOP_THREADS, 0,
                  kind == GELU_ERF, (T *)out, (const T *)x, count);
}

template <typename T>
static __global__ void gelu_backward_kernel(bool is_erf, T *dx, const T *dout, const T *x,
                                            size_t count)
{
    size_t i;

    for (i = thread_number(); i < count; i += thread_count()) {
        const float in = load(&x[i]);

        store(&dx[i], load(&dout[i]) * (is_erf ? gelu_erf_slope(in) : gelu_tanh_slope(in)));
    }
}

template <typename T>
static void gelu_backward(struct ops *ops, enum gelu kind, void *dx, const void *dout,
                          const void *x, size_t count)
{
    stream_launch(stream_of(ops), "gelu backward", gelu_backward_kernel<T>, loop_blocks(count),
                  LOOP_THREADS, 0, kind == GELU_ERF, (T *)dx, (const T *)dout, (const T *)x,
                  count);
}

/* A thread has four elements, whose random words come from one counter. */
template <typename T>
static __global__ void dropout_kernel(struct dropout drop, T *out, const T *x, size_t total,
                                      size_t each)
{
    const size_t   fours = (each + 3) / 4;
    const uint32_t limit = dropout_limit(&drop);
    const float    factor = 1 / (1 - (float)drop.rate);
    size_t         i, j;

    for (i = thread_number(); i < total; i += thread_count()) {
        const size_t        sequence = i / fours, first = i % fours * 4;
        const size_t        at = sequence * each + first;
        const struct philox random = dropout_words(&drop, (int)sequence, i % fours);

        for (j = 0; j < 4 && first + j < each; j++)
            store(&out[at + j], random.word[j] < limit ? 0 : load(&x[at + j]) * factor);
    }
}

template <typename T>
static void dropout(struct ops *ops, const struct dropout *drop, void *out, const void *x,
                    int sequences, size_t each)
{
    const size_t total = (size_t)sequences * ((each + 3) / 4);

    stream_launch(stream_of(ops), "dropout", dropout_kernel<T>, loop_blocks(total), LOOP_THREADS,
                  0, *drop, (T *)out, (const T *)x, total, each);
}

/* out[i] = x[index[i]] for gather, out[index[i]] = x[i] for scatter. */
template <typename T>
static __global__ void rows_kernel(bool is_gather, T *out, const T *x, const int32_t *index,
                                   size_t rows, int width)
{
    size_t i;

    for (i = thread_number(); i < rows * width; i += thread_count()) {
        const size_t there = (size_t)index[i / width] * width + i % width;

        if (is_gather)
            out[i] = x[there];
        else
            out[there] = x[i];
    }
}

template <typename T>
static void move_rows(struct ops *ops, bool is_gather, void *out, const void *x,
                      const int32_t *index, int rows, int width)
{
    struct stream *stream = stream_of(ops);
    const size_t   count = (size_t)rows * (size_t)width;
    const int32_t *numbers = stream_send(stream, index, (size_t)rows);

    stream_launch(stream, "rows", rows_kernel<T>, loop_blocks(count), LOOP_THREADS, 0, is_gather,
                  (T *)out, (const T *)x, numbers, (size_t)rows, width);
}

template <typename T>
static void gather(struct ops *ops, void *out, const void *x, const int32_t *index, int rows,
                   int width)
{
    move_rows<T>(ops, true, out, x, index, rows, width);
}

template <typename T>
static void scatter(struct ops *ops, void *out, const void *x, const int32_t *index, int rows,
                    int width)
{
    move_rows<T>(ops, false, out, x, index, rows, width);
}

template <typename T> static void fill(struct ops *ops)
{
    ops->add = add<T>;
    ops->gelu = gelu<T>;
    ops->gelu_backward = gelu_backward<T>;
    ops->dropout = dropout<T>;
    ops->gather = gather<T>;
    ops->scatter = scatter<T>;
}

void loops_fill(struct ops *ops)
{
    FOR_TYPE(ops->type, fill, ops);
}
