/* rows.cu - see ops_cuda.h; operations on rows: a block has a row
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cuda/element.h"
#include "cuda/ops_state.h"

/* ---- copies ---- */

/* out[i] = x[index[i]] for gather, out[index[i]] = x[i] for scatter. */
template <typename T, int N>
static __global__ void rows_kernel(bool is_gather, T *out, const T *x, const int32_t *index,
                                   int width)
{
    const size_t here = (size_t)blockIdx.x * width, there = (size_t)index[blockIdx.x] * width;
    int          j;

    out += is_gather ? here : there;
    x += is_gather ? there : here;
    for (j = (int)threadIdx.x * N; j < width; j += (int)blockDim.x * N)
        *(pack<T, N> *)(out + j) = *(const pack<T, N> *)(x + j);
}

template <typename T>
static void move_rows(struct ops *ops, bool is_gather, void *out, const void *x,
                      const int32_t *index, int rows, int width)
{
    struct stream *stream = stream_of(ops);
    const int32_t *numbers = stream_send(stream, index, (size_t)rows);
    const bool     packed = is_packed<T>(address(out) | address(x), (size_t)width);

    stream_launch(stream, "rows", packed ? rows_kernel<T, PACK(T)> : rows_kernel<T, 1>,
                  (size_t)rows, row_threads((size_t)(packed ? width / PACK(T) : width)), 0,
                  is_gather, (T *)out, (const T *)x, numbers, width);
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

/* ---- SwiGLU ---- */

/* x: [rows][2][width], gates and values. */
template <typename T, int N>
static __global__ void swiglu_kernel(T *out, const T *x, int width)
{
    float gate[N], value[N];
    int   j, k;

    out += (size_t)blockIdx.x * width;
    x += (size_t)blockIdx.x * width * 2;
    for (j = (int)threadIdx.x * N; j < width; j += (int)blockDim.x * N) {
        load_pack<N>(gate, x + j);
        load_pack<N>(value, x + width + j);
        for (k = 0; k < N; k++)
            value[k] *= gate[k] / (1 + expf(-gate[k]));
        store_pack<N>(out + j, value);
    }
}

template <typename T>
static void swiglu(struct ops *ops, void *out, const void *x, int rows, int width)
{
    const bool packed = is_packed<T>(address(out) | address(x), (size_t)width);

    stream_launch(stream_of(ops), "swiglu",
                  packed ? swiglu_kernel<T, PACK(T)> : swiglu_kernel<T, 1>, (size_t)rows,
                  row_threads((size_t)(packed ? width / PACK(T) : width)), 0, (T *)out,
                  (const T *)x, width);
}

template <typename T, int N>
static __global__ void swiglu_backward_kernel(T *dx, const T *dout, const T *x, int width)
{
    float gate[N], value[N], d[N];
    int   j, k;

    dx += (size_t)blockIdx.x * width * 2;
    x += (size_t)blockIdx.x * width * 2;
    dout += (size_t)blockIdx.x * width;
    for (j = (int)threadIdx.x * N; j < width; j += (int)blockDim.x * N) {
        load_pack<N>(gate, x + j);
        load_pack<N>(value, x + width + j);
        load_pack<N>(d, dout + j);
        for (k = 0; k < N; k++) {
            const float part = 1 / (1 + expf(-gate[k])), to_gate = d[k] * value[k];

            value[k] = d[k] * gate[k] * part;
            gate[k] = to_gate * part * (1 + gate[k] * (1 - part));
        }
        store_pack<N>(dx + j, gate);
        store_pack<N>(dx + width + j, value);
    }
}

template <typename T>
static void swiglu_backward(struct ops *ops, void *dx, const void *dout, const void *x, int rows,
                            int width)
{
    const bool packed = is_packed<T>(address(dx) | address(dout) | address(x), (size_t)width);

    stream_launch(stream_of(ops), "swiglu backward",
                  packed ? swiglu_backward_kernel<T, PACK(T)> : swiglu_backward_kernel<T, 1>,
                  (size_t)rows, row_threads((size_t)(packed ? width / PACK(T) : width)), 0,
                  (T *)dx, (const T *)dout, (const T *)x, width);
}

/* ---- rotary embeddings ---- */

/* A thread turns a pack of points of a head. */
template <typename T, int N>
static __global__ void rotate_kernel(struct rotary s, T *x, const float *table)
{
    const int half = s.head_width / 2, packs = half / N;
    float     left[N], right[N], turn[2];
    int       i, k;

    x += (size_t)blockIdx.x * s.row;
    table += (size_t)(blockIdx.x % s.length) * half * 2;
    for (i = threadIdx.x; i < s.heads * packs; i += blockDim.x) {
        const int at = i % packs * N;
        T        *point = x + i / packs * s.head_width + at;

        load_pack<N>(left, point);
        load_pack<N>(right, point + half);
        for (k = 0; k < N; k++) {
            const float a = left[k], b = right[k];

            load_pack<2>(turn, table + 2 * (at + k));
            turn[1] = s.back ? -turn[1] : turn[1];
            left[k] = a * turn[0] - b * turn[1];
            right[k] = b * turn[0] + a * turn[1];
        }
        store_pack<N>(point, left);
        store_pack<N>(point + half, right);
    }
}

template <typename T>
static void rotate(struct ops *ops, const struct rotary *shape, void *x, const void *table)
{
    const size_t half = (size_t)shape->head_width / 2;
    const bool   packed = is_packed<T>(address(x), (size_t)shape->row | half);

    stream_launch(stream_of(ops), "rotate",
                  packed ? rotate_kernel<T, PACK(T)> : rotate_kernel<T, 1>, (size_t)shape->rows,
                  row_threads((size_t)shape->heads * half / (packed ? (size_t)PACK(T) : 1)), 0,
                  *shape, (T *)x, (const float *)table);
}

template <typename T> static void fill(struct ops *ops)
{
    ops->gather = gather<T>;
    ops->scatter = scatter<T>;
    ops->swiglu = swiglu<T>;
    ops->swiglu_backward = swiglu_backward<T>;
    ops->rotate = rotate<T>;
}

void rows_fill(struct ops *ops)
{
    FOR_TYPE(ops->type, fill, ops);
}
