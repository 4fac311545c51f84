/* attention.cu - see ops_cuda.h; attention that does not store its weights in memory
 *
 * A block has a tile of rows (queries; for the gradients of K and V, keys) of one head of one
 * sequence, and iterates over the tiles of the other rows. Both tiles are in shared memory. A
 * warp has OWN of the block's rows. For products of rows, each of its lanes takes a row of the
 * other tile; for sums of rows, each lane takes columns. Softmax is corrected from tile to
 * tile. For the backward pass, only the logarithm of its sum is kept.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "cuda/element.h"
#include "cuda/ops_state.h"

#define PHILOX_FUNCTION static __device__ inline
#include "model/philox.h"

#define TILE     WARP
#define WARPS    4
#define OWN      (TILE / WARPS)
#define THREADS  (WARPS * WARP)
#define HEAD_MAX 128 /* columns per head */

/* The rows of one head of one sequence in memory. */
template <typename T> struct rows {
    T  *first;
    int row; /* elements between two rows */
    int length;
};

/* The part of the work that a block does. */
struct place {
    struct attention s;
    int              sequence, head, tile;
    float            scale;
};

static __device__ inline struct place place_of(const struct attention &s)
{
    const int    tiles = (s.length + TILE - 1) / TILE;
    struct place p;

    p.s = s;
    p.tile = (int)(blockIdx.x % tiles) * TILE;
    p.head = (int)(blockIdx.x / tiles % s.heads);
    p.sequence = (int)(blockIdx.x / tiles / s.heads);
    p.scale = 1 / sqrtf((float)s.head_width);
    return p;
}

/* Returns Q, K or V in qkv (parts is 3), or the heads' outputs (parts is 1). */
template <typename T>
static __device__ inline struct rows<T> rows_of(const struct place &p, T *all, int parts,
                                                int part)
{
    const int      width = p.s.heads * p.s.head_width;
    struct rows<T> r;

    r.row = parts * width;
    r.length = p.s.length;
    r.first = all + (size_t)p.sequence * p.s.length * r.row + part * width +
              p.head * p.s.head_width;
    return r;
}

/* Returns the index of a row in [sequences][heads][length]. */
static __device__ inline size_t number_of(const struct place &p, int row)
{
    return ((size_t)p.sequence * p.s.heads + p.head) * p.s.length + row;
}

/* Returns the floats between two rows of a tile: odd, to avoid bank conflicts between lanes. */
static __host__ __device__ inline int pitch_of(const struct attention &s)
{
    return s.head_width | 1;
}

/* All threads load the tile of rows from first on; rows after the last are 0. */
template <typename T>
static __device__ void fetch(const struct place &p, float *tile, const struct rows<T> &rows,
                             int first)
{
    int i;

    for (i = threadIdx.x; i < TILE * p.s.head_width; i += THREADS) {
        const int row = i / p.s.head_width, column = i % p.s.head_width;

        tile[row * pitch_of(p.s) + column] =
            first + row < rows.length ? load(&rows.first[(size_t)(first + row) * rows.row + column])
                                      : 0;
    }
}

/* Sets out[i] to row i of this warp times this lane's row of the other tile. */
static __device__ inline void dots(const struct place &p, float out[OWN], const float *own,
                                   const float *other)
{
    const float *mine = own + threadIdx.x / WARP * OWN * pitch_of(p.s);
    const float *its = other + threadIdx.x % WARP * pitch_of(p.s);
    int          i, d;

    for (i = 0; i < OWN; i++)
        out[i] = 0;
    for (d = 0; d < p.s.head_width; d++) {
        const float x = its[d];

        for (i = 0; i < OWN; i++)
            out[i] += mine[i * pitch_of(p.s) + d] * x;
    }
}

/* Adds to sum[i][c] the other tile's rows, each times its lane's weight[i], in column
 * c * WARP + lane. room: this warp's scratch memory for the weights. */
template <int COLUMNS>
static __device__ inline void mix(const struct place &p, float sum[OWN][COLUMNS],
                                  const float weight[OWN], const float *other, float *room)
{
    const int lane = threadIdx.x % WARP;
    int       i, j, c;

    __syncwarp();
    for (i = 0; i < OWN; i++)
        room[i * WARP + lane] = weight[i];
    __syncwarp();
    for (c = 0; c < COLUMNS; c++) {
        const int column = c * WARP + lane;

        for (j = 0; j < TILE && column < p.s.head_width; j++) {
            const float x = other[j * pitch_of(p.s) + column];

            for (i = 0; i < OWN; i++)
                sum[i][c] += room[i * WARP + j] * x;
        }
    }
}

template <int COLUMNS> static __device__ inline void clear(float sum[OWN][COLUMNS])
{
    int i, c;

    for (i = 0; i < OWN; i++)
        for (c = 0; c < COLUMNS; c++)
            sum[i][c] = 0;
}

/* Writes each row of this warp, times its factor, to memory. */
template <typename T, int COLUMNS>
static __device__ inline void put(const struct place &p, const struct rows<T> &rows,
                                  const float sum[OWN][COLUMNS], const float factor[OWN])
{
    int i, c;

    for (i = 0; i < OWN; i++) {
        const int row = p.tile + (int)(threadIdx.x / WARP) * OWN + i;

        for (c = 0; c < COLUMNS; c++) {
            const int column = c * WARP + (int)(threadIdx.x % WARP);

            if (row < rows.length && column < p.s.head_width)
                store(&rows.first[(size_t)row * rows.row + column], sum[i][c] * factor[i]);
        }
    }
}

static __device__ inline bool sees(const struct place &p, int query, int key)
{
    return query < p.s.length && key < p.s.length && (!p.s.causal || key <= query);
}

/* Returns the factor by which dropout multiplies a weight. */
static __device__ inline float factor_of(const struct place &p, int query, int key)
{
    const uint64_t row = (uint64_t)p.head * p.s.length + query;

    return p.s.drop.rate > 0 ? dropout_factor(&p.s.drop, p.sequence, row * p.s.length + key) : 1;
}

template <typename T, int COLUMNS>
static __global__ void attention_kernel(struct attention s, T *out, float *kept, const T *qkv)
{
    const struct place p = place_of(s);
    const int          size = TILE * pitch_of(s), warp = threadIdx.x / WARP;
    const int          end = s.causal && p.tile + TILE < s.length ? p.tile + TILE : s.length;
    float             *q = shared_memory(), *other = q + size;
    float             *room = other + size + warp * OWN * WARP;
    float              max[OWN], total[OWN], w[OWN], sum[OWN][COLUMNS];
    int                first, i, c;

    fetch(p, q, rows_of(p, qkv, 3, 0), p.tile);
    clear<COLUMNS>(sum);
    for (i = 0; i < OWN; i++) {
        max[i] = -INFINITY;
        total[i] = 0;
    }
    for (first = 0; first < end; first += TILE) {
        __syncthreads();
        fetch(p, other, rows_of(p, qkv, 3, 1), first);
        __syncthreads();
        dots(p, w, q, other);
        for (i = 0; i < OWN; i++) {
            const int   query = p.tile + warp * OWN + i, key = first + (int)(threadIdx.x % WARP);
            const float x = sees(p, query, key) ? w[i] * p.scale : -INFINITY;
            const float most = fmaxf(max[i], warp_max(x));
            const float less = max[i] == -INFINITY ? 0 : expf(max[i] - most);

            w[i] = sees(p, query, key) ? expf(x - most) : 0;
            total[i] = total[i] * less + warp_sum(w[i]);
            w[i] *= factor_of(p, query, key);
            max[i] = most;
            for (c = 0; c < COLUMNS; c++)
                sum[i][c] *= less;
        }
        __syncthreads();
        fetch(p, other, rows_of(p, qkv, 3, 2), first);
        __syncthreads();
        mix<COLUMNS>(p, sum, w, other, room);
    }
    for (i = 0; i < OWN; i++) {
        const int query = p.tile + warp * OWN + i;

        if (query < s.length && threadIdx.x % WARP == 0)
            kept[number_of(p, query)] = max[i] + logf(total[i]);
        w[i] = 1 / total[i];
    }
    put<T, COLUMNS>(p, rows_of(p, out, 1, 0), sum, w);
}

/* Sets row_dots[row] to dout times out, for one head. One warp per row. */
template <typename T>
static __global__ void row_dots_kernel(struct attention s, float *row_dots, const T *dout,
                                       const T *out)
{
    const size_t rows = (size_t)s.sequences * s.heads * s.length;
    const size_t number = (size_t)blockIdx.x * WARPS + threadIdx.x / WARP;
    const size_t row = number / s.length / s.heads * s.length + number % s.length;
    const size_t at = (row * s.heads + number / s.length % s.heads) * s.head_width;
    float        sum = 0;
    int          d;

    if (number >= rows)
        return;
    for (d = threadIdx.x % WARP; d < s.head_width; d += WARP)
        sum += load(&dout[at + d]) * load(&out[at + d]);
    sum = warp_sum(sum);
    if (threadIdx.x % WARP == 0)
        row_dots[number] = sum;
}

/* Computes the gradient of Q: a block has queries, and iterates over keys. */
template <typename T, int COLUMNS>
static __global__ void to_q_kernel(struct attention s, T *dqkv, const float *row_dots,
                                   const T *dout, const T *qkv, const float *kept)
{
    const struct place p = place_of(s);
    const int          size = TILE * pitch_of(s), warp = threadIdx.x / WARP;
    const int          end = s.causal && p.tile + TILE < s.length ? p.tile + TILE : s.length;
    float             *q = shared_memory(), *d = q + size, *k = d + size, *v = k + size;
    float             *room = v + size + warp * OWN * WARP;
    float              w[OWN], dw[OWN], sum[OWN][COLUMNS];
    int                first, i;

    fetch(p, q, rows_of(p, qkv, 3, 0), p.tile);
    fetch(p, d, rows_of(p, dout, 1, 0), p.tile);
    clear<COLUMNS>(sum);
    for (first = 0; first < end; first += TILE) {
        __syncthreads();
        fetch(p, k, rows_of(p, qkv, 3, 1), first);
        fetch(p, v, rows_of(p, qkv, 3, 2), first);
        __syncthreads();
        dots(p, w, q, k);
        dots(p, dw, d, v);
        for (i = 0; i < OWN; i++) {
            const int query = p.tile + warp * OWN + i, key = first + (int)(threadIdx.x % WARP);

            w[i] = sees(p, query, key) ? expf(w[i] * p.scale - kept[number_of(p, query)]) *
                                             (dw[i] * factor_of(p, query, key) -
                                              row_dots[number_of(p, query)])
                                       : 0;
        }
        mix<COLUMNS>(p, sum, w, k, room);
    }
    for (i = 0; i < OWN; i++)
        w[i] = p.scale;
    put<T, COLUMNS>(p, rows_of(p, dqkv, 3, 0), sum, w);
}

/* Computes the gradients of K and V: a block has keys, and iterates over queries. */
template <typename T, int COLUMNS>
static __global__ void to_kv_kernel(struct attention s, T *dqkv, const float *row_dots,
                                    const T *dout, const T *qkv, const float *kept)
{
    const struct place p = place_of(s);
    const int          size = TILE * pitch_of(s), warp = threadIdx.x / WARP;
    float             *k = shared_memory(), *v = k + size, *q = v + size, *d = q + size;
    float             *room = d + size + warp * OWN * WARP;
    float              w[OWN], dw[OWN], to_k[OWN][COLUMNS], to_v[OWN][COLUMNS];
    int                first, i;

    fetch(p, k, rows_of(p, qkv, 3, 1), p.tile);
    fetch(p, v, rows_of(p, qkv, 3, 2), p.tile);
    clear<COLUMNS>(to_k);
    clear<COLUMNS>(to_v);
    for (first = s.causal ? p.tile : 0; first < s.length; first += TILE) {
        const int query = first + (int)(threadIdx.x % WARP);

        __syncthreads();
        fetch(p, q, rows_of(p, qkv, 3, 0), first);
        fetch(p, d, rows_of(p, dout, 1, 0), first);
        __syncthreads();
        dots(p, w, k, q);
        dots(p, dw, v, d);
        for (i = 0; i < OWN; i++) {
            const int   key = p.tile + warp * OWN + i;
            const bool  seen = sees(p, query, key);
            const float factor = seen ? factor_of(p, query, key) : 0;

            w[i] = seen ? expf(w[i] * p.scale - kept[number_of(p, query)]) : 0;
            dw[i] = seen ? w[i] * (dw[i] * factor - row_dots[number_of(p, query)]) : 0;
            w[i] *= factor;
        }
        mix<COLUMNS>(p, to_v, w, d, room);
        mix<COLUMNS>(p, to_k, dw, q, room);
    }
    for (i = 0; i < OWN; i++)
        w[i] = 1;
    put<T, COLUMNS>(p, rows_of(p, dqkv, 3, 2), to_v, w);
    for (i = 0; i < OWN; i++)
        w[i] = p.scale;
    put<T, COLUMNS>(p, rows_of(p, dqkv, 3, 1), to_k, w);
}

/* ---- host code ---- */

/* One number per row of each head. */
static size_t attention_bytes(struct ops *ops, const struct attention *s)
{
    (void)ops;
    return (size_t)s->sequences * (size_t)s->heads * (size_t)s->length * sizeof(float);
}

static bool is_possible(struct ops *ops, const struct attention *s)
{
    struct stream *stream = stream_of(ops);

    if (s->head_width > HEAD_MAX && !stream->failed) {
        stream->failed = true;
        err_set(&stream->why, "heads of %d columns: attention on GPUs supports at most %d",
                s->head_width, HEAD_MAX);
    }
    return !stream->failed;
}

static size_t blocks_of(const struct attention *s)
{
    return (size_t)s->sequences * (size_t)s->heads *
           (((size_t)s->length + TILE - 1) / TILE);
}

/* Returns the bytes for this number of tiles, and for the warps' scratch memory. */
static size_t shared_bytes(const struct attention *s, size_t tiles)
{
    return (tiles * TILE * (size_t)pitch_of(*s) + THREADS * OWN) * sizeof(float);
}

template <typename T, int COLUMNS>
static void forward(struct ops *ops, const struct attention *s, void *out, void *weights,
                    const void *qkv)
{
    stream_launch(stream_of(ops), "attention", attention_kernel<T, COLUMNS>, blocks_of(s), THREADS,
                  shared_bytes(s, 2), *s, (T *)out, (float *)weights, (const T *)qkv);
}

template <typename T>
static void attend(struct ops *ops, const struct attention *s, void *out, void *weights,
                   const struct qkv *x)
{
    const void *qkv = x->q;

    if (!is_possible(ops, s))
        return;
    if (s->head_width <= 2 * WARP)
        forward<T, 2>(ops, s, out, weights, qkv);
    else
        forward<T, HEAD_MAX / WARP>(ops, s, out, weights, qkv);
}

template <typename T, int COLUMNS>
static void backward(struct ops *ops, const struct attention *s, void *dqkv, void *row_dots,
                     const void *dout, const void *qkv, const void *weights)
{
    stream_launch(stream_of(ops), "attention backward", to_q_kernel<T, COLUMNS>, blocks_of(s),
                  THREADS, shared_bytes(s, 4), *s, (T *)dqkv, (const float *)row_dots,
                  (const T *)dout, (const T *)qkv, (const float *)weights);
    stream_launch(stream_of(ops), "attention backward", to_kv_kernel<T, COLUMNS>, blocks_of(s),
                  THREADS, shared_bytes(s, 4), *s, (T *)dqkv, (const float *)row_dots,
                  (const T *)dout, (const T *)qkv, (const float *)weights);
}

template <typename T>
static void attend_backward(struct ops *ops, const struct attention *s, const struct qkv *dx,
                            void *dweights, const void *dout, const void *out,
                            const struct qkv *x, const void *weights)
{
    const void  *qkv = x->q;
    void        *dqkv = dx->q;
    const size_t rows = (size_t)s->sequences * (size_t)s->heads * (size_t)s->length;

    if (!is_possible(ops, s))
        return;
    stream_launch(stream_of(ops), "attention backward", row_dots_kernel<T>,
                  (rows + WARPS - 1) / WARPS, THREADS, 0, *s, (float *)dweights, (const T *)dout,
                  (const T *)out);
    if (s->head_width <= 2 * WARP)
        backward<T, 2>(ops, s, dqkv, dweights, dout, qkv, weights);
    else
        backward<T, HEAD_MAX / WARP>(ops, s, dqkv, dweights, dout, qkv, weights);
}

template <typename T> static void fill(struct ops *ops)
{
    ops->attention_bytes = attention_bytes;
    ops->attention = attend<T>;
    ops->attention_backward = attend_backward<T>;
}

void attention_fill(struct ops *ops)
{
    FOR_TYPE(ops->type, fill, ops);
}
