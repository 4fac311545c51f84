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

/* A block has a row. */
template <typename T, int N>
static __global__ void embed_kernel(T *out, const int32_t *tokens, const T *words,
                                    const T *positions, const T *type, int length, int width)
{
    float x[N], term[N];
    int   j, k;

    out += (size_t)blockIdx.x * width;
    words += (size_t)tokens[blockIdx.x] * width;
    if (positions != NULL)
        positions += (size_t)(blockIdx.x % length) * width;
    for (j = (int)threadIdx.x * N; j < width; j += (int)blockDim.x * N) {
        load_pack<N>(x, words + j);
        if (positions != NULL) {
            load_pack<N>(term, positions + j);
            for (k = 0; k < N; k++)
                x[k] += term[k];
        }
        if (type != NULL) {
            load_pack<N>(term, type + j);
            for (k = 0; k < N; k++)
                x[k] += term[k];
        }
        store_pack<N>(out + j, x);
    }
}

template <typename T>
static void embed(struct ops *ops, void *out, const int32_t *tokens, const void *words,
                  const void *positions, const void *type, int rows, int length, int width)
{
    struct stream *stream = stream_of(ops);
    const int32_t *numbers = stream_send(stream, tokens, (size_t)rows);
    const bool     packed = is_packed<T>(address(out) | address(words) | address(positions) |
                                             address(type), (size_t)width);

    stream_launch(stream, "embed", packed ? embed_kernel<T, PACK(T)> : embed_kernel<T, 1>,
                  (size_t)rows, row_threads((size_t)(packed ? width / PACK(T) : width)), 0,
                  (T *)out, numbers, (const T *)words, (const T *)positions, (const T *)type,
                  length, width);
}

#define WORD_THREADS 64 /* in a block that has some columns of a token */

/* For each token that occurs, some blocks with a pack of columns per thread sum the token's rows
 * in order. */
template <typename T, int N>
static __global__ void words_kernel(T *dwords, const T *dout, const int32_t *tokens,
                                    const int32_t *order, const int32_t *first, int parts,
                                    int width)
{
    const int word = (int)(blockIdx.x / parts), begin = first[word], end = first[word + 1];
    const int j = (int)(blockIdx.x % parts * WORD_THREADS + threadIdx.x) * N;
    T        *to = dwords + (size_t)tokens[order[begin]] * width + j;
    float     sum[N], term[N];
    int       i, k;

    if (j >= width)
        return;
    load_pack<N>(sum, to);
    for (i = begin; i < end; i++) {
        load_pack<N>(term, dout + (size_t)order[i] * width + j);
        for (k = 0; k < N; k++)
            sum[k] += term[k];
    }
    store_pack<N>(to, sum);
}

/* count: elements of dpositions. */
template <typename T, int N>
static __global__ void positions_kernel(T *dpositions, const T *dout, size_t elements,
                                        size_t count)
{
    float  sum[N], term[N];
    size_t i, at;
    int    k;

    for (i = thread_number() * N; i < count; i += thread_count() * N) {
        load_pack<N>(sum, dpositions + i);
        for (at = i; at < elements; at += count) {
            load_pack<N>(term, dout + at);
            for (k = 0; k < N; k++)
                sum[k] += term[k];
        }
        store_pack<N>(dpositions + i, sum);
    }
}

template <typename T, int N>
static void embed_packs(struct ops *ops, T *dwords, T *dpositions, const T *dout,
                        const int32_t *tokens, int rows, int length, int width)
{
    struct stream     *stream = stream_of(ops);
    struct token_order order = token_order_make(tokens, rows);
    const int32_t     *where = stream_send(stream, tokens, (size_t)rows);
    const int32_t     *sorted = stream_send(stream, order.row, (size_t)rows);
    const int32_t     *first = stream_send(stream, order.first, (size_t)order.count + 1);
    const int          parts = (width + WORD_THREADS * N - 1) / (WORD_THREADS * N);
    const size_t       count = (size_t)length * (size_t)width;

    if (dwords != NULL)
        stream_launch(stream, "embed backward", words_kernel<T, N>,
                      (size_t)order.count * (size_t)parts, WORD_THREADS, 0, dwords, dout, where,
                      sorted, first, parts, width);
    if (dpositions != NULL)
        stream_launch(stream, "embed backward", positions_kernel<T, N>, loop_blocks(count / N),
                      LOOP_THREADS, 0, dpositions, dout, (size_t)rows * (size_t)width, count);
    token_order_clear(&order);
}

template <typename T>
static void embed_backward(struct ops *ops, void *dwords, void *dpositions, const void *dout,
                           const int32_t *tokens, int rows, int length, int width)
{
    if (is_packed<T>(address(dwords) | address(dpositions) | address(dout), (size_t)width))
        embed_packs<T, PACK(T)>(ops, (T *)dwords, (T *)dpositions, (const T *)dout, tokens, rows,
                                length, width);
    else
        embed_packs<T, 1>(ops, (T *)dwords, (T *)dpositions, (const T *)dout, tokens, rows,
                          length, width);
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
