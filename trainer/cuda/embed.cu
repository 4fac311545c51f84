/* embed.cu - see ops_cuda.h; embeddings
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "cuda/element.h"
#include "cuda/ops_state.h"

extern "C" {
#include "model/token_order.h"
}

template <typename T>
static __global__ void embed_kernel(T *out, const int32_t *tokens, const T *words,
                                    const T *positions, const T *type, size_t rows, int length,
                                    int width)
{
    size_t i;

    for (i = thread_number(); i < rows * width; i += thread_count()) {
        const size_t row = i / width, column = i % width;

        store(&out[i], load(&words[(size_t)tokens[row] * width + column]) +
                           load(&positions[row % length * width + column]) +
                           (type != NULL ? load(&type[column]) : 0));
    }
}

template <typename T>
static void embed(struct ops *ops, void *out, const int32_t *tokens, const void *words,
                  const void *positions, const void *type, int rows, int length, int width)
{
    struct stream *stream = stream_of(ops);
    const size_t   count = (size_t)rows * (size_t)width;
    const int32_t *numbers = stream_send(stream, tokens, (size_t)rows);

    stream_launch(stream, "embed", embed_kernel<T>, loop_blocks(count), LOOP_THREADS, 0,
                  (T *)out, numbers, (const T *)words, (const T *)positions, (const T *)type,
                  (size_t)rows, length, width);
}

/* One block per token that occurs; sums the token's rows in order. */
template <typename T>
static __global__ void words_kernel(T *dwords, const T *dout, const int32_t *tokens,
                                    const int32_t *order, const int32_t *first, int width)
{
    const int begin = first[blockIdx.x], end = first[blockIdx.x + 1];
    T        *to = dwords + (size_t)tokens[order[begin]] * width;
    int       i, j;

    for (j = threadIdx.x; j < width; j += blockDim.x) {
        float sum = load(&to[j]);

        for (i = begin; i < end; i++)
            sum += load(&dout[(size_t)order[i] * width + j]);
        store(&to[j], sum);
    }
}

template <typename T>
static __global__ void positions_kernel(T *dpositions, const T *dout, size_t rows, int length,
                                        int width)
{
    const size_t count = (size_t)length * width;
    size_t       i, at;

    for (i = thread_number(); i < count; i += thread_count()) {
        float sum = load(&dpositions[i]);

        for (at = i; at < rows * width; at += count)
            sum += load(&dout[at]);
        store(&dpositions[i], sum);
    }
}

template <typename T>
static void embed_backward(struct ops *ops, void *dwords, void *dpositions, const void *dout,
                           const int32_t *tokens, int rows, int length, int width)
{
    struct stream     *stream = stream_of(ops);
    struct token_order order = token_order_make(tokens, rows);
    const int32_t     *where = stream_send(stream, tokens, (size_t)rows);
    const int32_t     *sorted = stream_send(stream, order.row, (size_t)rows);
    const int32_t     *first = stream_send(stream, order.first, (size_t)order.count + 1);

    stream_launch(stream, "embed backward", words_kernel<T>, (size_t)order.count, LOOP_THREADS, 0,
                  (T *)dwords, (const T *)dout, where, sorted, first, width);
    stream_launch(stream, "embed backward", positions_kernel<T>,
                  loop_blocks((size_t)length * (size_t)width), LOOP_THREADS, 0, (T *)dpositions,
                  (const T *)dout, (size_t)rows, length, width);
    token_order_clear(&order);
}

template <typename T> static void fill(struct ops *ops)
{
    ops->embed = embed<T>;
    ops->embed_backward = embed_backward<T>;
}

void embed_fill(struct ops *ops)
{
    FOR_TYPE(ops->type, fill, ops);
}
