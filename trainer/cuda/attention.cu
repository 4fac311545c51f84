/* attention.cu - see ops_cuda.h; attention that does not store its weights in memory
 *
 * A block has a tile of rows (queries; for the gradients of K and V, keys) of one head of one
 * sequence, and iterates over those tiles of the other rows that it sees. Both tiles are in
 * shared memory. A warp has OWN of the block's rows. For products of rows, each of its lanes
 * takes a row of the other tile; for sums of rows, each lane takes columns. Softmax is corrected
 * from tile to tile. For the backward pass, only the logarithm of its sum is kept.
 *
 * This does all in float. attention_tensor.cu does most of half and bfloat16.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "cuda/attention_place.h"
#include "cuda/attention_tensor.h"
#include "cuda/element.h"
#include "cuda/ops_state.h"

#define TILE    WARP
#define WARPS   4
#define OWN     (TILE / WARPS)
#define THREADS (WARPS * WARP)
#define FOUR    4 /* floats that a lane reads at once */

/* Returns the floats of a row of a tile: the columns after the last are 0. */
static __host__ __device__ inline int width_of(const struct attention &s)
{
    return (s.head_width + FOUR - 1) / FOUR * FOUR;
}

/* Return the floats between two rows of the block's own tile, and of the other: the latter is
 * odd, so that the lanes, which have a row each, use different banks. */
static __host__ __device__ inline int own_pitch(const struct attention &s)
{
    return width_of(s);
}

static __host__ __device__ inline int other_pitch(const struct attention &s)
{
    return width_of(s) + 1;
}

/* All threads load the tile of rows from first on, a warp one row. Rows after the last are 0. */
template <typename T>
static __device__ void fetch(const struct place &p, float *tile, int pitch,
                             const struct rows<T> &rows, int first)
{
    int row, column;

    for (row = threadIdx.x / WARP; row < TILE; row += WARPS) {
        const T   *from = rows.first + (size_t)(first + row) * rows.row;
        const bool is_there = first + row < rows.length;

        for (column = threadIdx.x % WARP; column < width_of(p.s); column += WARP)
            tile[row * pitch + column] =
                is_there && column < p.s.head_width ? load(&from[column]) : 0;
    }
}

/* Sets out[i] to row i of this warp times this lane's row of the other tile. */
static __device__ inline void dots(const struct place &p, float out[OWN], const float *own,
                                   const float *other)
{
    const float *mine = own + threadIdx.x / WARP * OWN * own_pitch(p.s);
    const float *its = other + threadIdx.x % WARP * other_pitch(p.s);
    float        four[FOUR];
    int          i, d, k;

    for (i = 0; i < OWN; i++)
        out[i] = 0;
    for (d = 0; d < width_of(p.s); d += FOUR) {
        const float x[FOUR] = { its[d], its[d + 1], its[d + 2], its[d + 3] };

        UNROLL
        for (i = 0; i < OWN; i++) {
            load_pack<FOUR>(four, mine + i * own_pitch(p.s) + d);
            for (k = 0; k < FOUR; k++)
                out[i] += four[k] * x[k];
        }
    }
}

/* Adds to sum[i][c] the other tile's rows, each times its lane's weight[i], in column
 * c * WARP + lane. room: this warp's scratch memory for the weights. */
template <int COLUMNS>
static __device__ inline void mix(const struct place &p, float sum[OWN][COLUMNS],
                                  const float weight[OWN], const float *other, float *room)
{
    const int lane = threadIdx.x % WARP;
    float     w[OWN][FOUR];
    int       i, j, c, k;

    __syncwarp();
    for (i = 0; i < OWN; i++)
        room[i * WARP + lane] = weight[i];
    __syncwarp();
    for (j = 0; j < TILE; j += FOUR) {
        UNROLL
        for (i = 0; i < OWN; i++)
            load_pack<FOUR>(w[i], room + i * WARP + j);
        UNROLL
        for (c = 0; c < COLUMNS; c++) {
            const float *x = other + j * other_pitch(p.s) + c * WARP + lane;

            for (k = 0; k < FOUR && c * WARP + lane < p.s.head_width; k++)
                for (i = 0; i < OWN; i++)
                    sum[i][c] += w[i][k] * x[k * other_pitch(p.s)];
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

/* Stores this warp's rows of the block's tile, times factor. */
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

/* ---- the forward pass ---- */

/* What is known of the softmax of a warp's rows. */
struct softmax {
    float max[OWN], total[OWN];
    int   from[OWN]; /* the first key that the row sees */
};

/* Replaces the products of the tile of keys from first on by weights, and corrects the sums. */
template <int COLUMNS>
static __device__ inline void weigh(const struct place &p, struct softmax &soft, float w[OWN],
                                    float sum[OWN][COLUMNS], int first)
{
    const int key = first + (int)(threadIdx.x % WARP);
    int       i, c;

    UNROLL
    for (i = 0; i < OWN; i++) {
        const int   query = p.tile + (int)(threadIdx.x / WARP) * OWN + i;
        const bool  seen = sees(p, query, key, soft.from[i]);
        const float x = seen ? w[i] * p.scale : -INFINITY;
        const float most = fmaxf(soft.max[i], warp_max(x));
        const float less = soft.max[i] == -INFINITY ? 0 : expf(soft.max[i] - most);

        w[i] = seen ? expf(x - most) : 0;
        soft.total[i] = soft.total[i] * less + warp_sum(w[i]);
        w[i] *= seen ? factor_of(p, query, key) : 0;
        soft.max[i] = most;
        for (c = 0; c < COLUMNS; c++)
            sum[i][c] *= less;
    }
}

template <typename T, int COLUMNS>
static __global__ void __launch_bounds__(THREADS)
    attention_kernel(struct attention s, T *out, float *kept, struct qkv x)
{
    const struct place p = place_of(s, s.heads, TILE);
    const int          warp = threadIdx.x / WARP, end = keys_end(p, TILE);
    const int          pitch = other_pitch(s);
    float             *q = shared_memory(), *other = q + TILE * own_pitch(s);
    float             *room = other + TILE * pitch + warp * OWN * WARP;
    struct softmax     soft;
    float              w[OWN], sum[OWN][COLUMNS];
    int                first, i;

    fetch(p, q, own_pitch(s), rows_of(p, (const T *)x.q, x.q_row, p.head), p.tile);
    clear<COLUMNS>(sum);
    for (i = 0; i < OWN; i++) {
        soft.max[i] = -INFINITY;
        soft.total[i] = 0;
        soft.from[i] = first_key(p, p.tile + warp * OWN + i);
    }
    for (first = keys_begin(p, TILE); first < end; first += TILE) {
        __syncthreads();
        fetch(p, other, pitch, rows_of(p, (const T *)x.k, x.k_row, p.kv_head), first);
        __syncthreads();
        dots(p, w, q, other);
        weigh<COLUMNS>(p, soft, w, sum, first);
        __syncthreads();
        fetch(p, other, pitch, rows_of(p, (const T *)x.v, x.v_row, p.kv_head), first);
        __syncthreads();
        mix<COLUMNS>(p, sum, w, other, room);
    }
    for (i = 0; i < OWN; i++) {
        const int query = p.tile + warp * OWN + i;

        if (query < s.length && threadIdx.x % WARP == 0)
            kept[number_of(p, query)] = soft.max[i] + logf(soft.total[i]);
        w[i] = 1 / soft.total[i];
    }
    put<T, COLUMNS>(p, rows_of(p, out, s.heads * s.head_width, p.head), sum, w);
}

/* ---- the backward pass ---- */

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
static __global__ void __launch_bounds__(THREADS)
    to_q_kernel(struct attention s, struct qkv dx, const float *row_dots, const T *dout,
                struct qkv x, const float *kept)
{
    const struct place p = place_of(s, s.heads, TILE);
    const int          own = own_pitch(s), pitch = other_pitch(s), end = keys_end(p, TILE);
    const int          warp = threadIdx.x / WARP;
    float             *q = shared_memory(), *d = q + TILE * own, *k = d + TILE * own;
    float             *v = k + TILE * pitch, *room = v + TILE * pitch + warp * OWN * WARP;
    float              w[OWN], dw[OWN], sum[OWN][COLUMNS];
    int                first, i;

    fetch(p, q, own, rows_of(p, (const T *)x.q, x.q_row, p.head), p.tile);
    fetch(p, d, own, rows_of(p, dout, s.heads * s.head_width, p.head), p.tile);
    clear<COLUMNS>(sum);
    for (first = keys_begin(p, TILE); first < end; first += TILE) {
        __syncthreads();
        fetch(p, k, pitch, rows_of(p, (const T *)x.k, x.k_row, p.kv_head), first);
        fetch(p, v, pitch, rows_of(p, (const T *)x.v, x.v_row, p.kv_head), first);
        __syncthreads();
        dots(p, w, q, k);
        dots(p, dw, d, v);
        for (i = 0; i < OWN; i++) {
            const int query = p.tile + warp * OWN + i, key = first + (int)(threadIdx.x % WARP);

            w[i] = sees(p, query, key, first_key(p, query))
                       ? expf(w[i] * p.scale - kept[number_of(p, query)]) *
                             (dw[i] * factor_of(p, query, key) - row_dots[number_of(p, query)])
                       : 0;
        }
        mix<COLUMNS>(p, sum, w, k, room);
    }
    for (i = 0; i < OWN; i++)
        w[i] = p.scale;
    put<T, COLUMNS>(p, rows_of(p, (T *)dx.q, dx.q_row, p.head), sum, w);
}

/* Replaces the products of keys with queries by weights, and those of values with gradients by
 * the gradients of the weights before softmax. */
static __device__ inline void weigh_back(const struct place &p, float w[OWN], float dw[OWN],
                                         const float *row_dots, const float *kept, int query)
{
    const int from = first_key(p, query);
    int       i;

    for (i = 0; i < OWN; i++) {
        const int   key = p.tile + (int)(threadIdx.x / WARP) * OWN + i;
        const bool  seen = sees(p, query, key, from);
        const float factor = seen ? factor_of(p, query, key) : 0;

        w[i] = seen ? expf(w[i] * p.scale - kept[number_of(p, query)]) : 0;
        dw[i] = seen ? w[i] * (dw[i] * factor - row_dots[number_of(p, query)]) : 0;
        w[i] *= factor;
    }
}

/* Computes the gradients of K and V: a block has keys, and iterates over the queries of one
 * head of the group after the other. */
template <typename T, int COLUMNS>
static __global__ void __launch_bounds__(THREADS)
    to_kv_kernel(struct attention s, struct qkv dx, const float *row_dots, const T *dout,
                 struct qkv x, const float *kept)
{
    struct place p = place_of(s, s.kv_heads, TILE);
    const int    own = own_pitch(s), pitch = other_pitch(s), last = p.head + s.heads / s.kv_heads;
    const int    warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    float       *k = shared_memory(), *v = k + TILE * own, *q = v + TILE * own;
    float       *d = q + TILE * pitch, *room = d + TILE * pitch + warp * OWN * WARP;
    float        w[OWN], dw[OWN], to_k[OWN][COLUMNS], to_v[OWN][COLUMNS];
    int          first, i;

    fetch(p, k, own, rows_of(p, (const T *)x.k, x.k_row, p.kv_head), p.tile);
    fetch(p, v, own, rows_of(p, (const T *)x.v, x.v_row, p.kv_head), p.tile);
    clear<COLUMNS>(to_k);
    clear<COLUMNS>(to_v);
    for (; p.head < last; p.head++) {
        for (first = s.causal ? p.tile : 0; first < s.length && !is_past(p, first, TILE);
             first += TILE) {
            __syncthreads();
            fetch(p, q, pitch, rows_of(p, (const T *)x.q, x.q_row, p.head), first);
            fetch(p, d, pitch, rows_of(p, dout, s.heads * s.head_width, p.head), first);
            __syncthreads();
            dots(p, w, k, q);
            dots(p, dw, v, d);
            weigh_back(p, w, dw, row_dots, kept, first + lane);
            mix<COLUMNS>(p, to_v, w, d, room);
            mix<COLUMNS>(p, to_k, dw, q, room);
        }
    }
    for (i = 0; i < OWN; i++)
        w[i] = 1;
    put<T, COLUMNS>(p, rows_of(p, (T *)dx.v, dx.v_row, p.kv_head), to_v, w);
    for (i = 0; i < OWN; i++)
        w[i] = p.scale;
    put<T, COLUMNS>(p, rows_of(p, (T *)dx.k, dx.k_row, p.kv_head), to_k, w);
}

/* ---- host code ---- */

/* One number per row of each head. */
static size_t attention_bytes(struct ops *ops, const struct attention *s)
{
    (void)ops;
    return (size_t)s->sequences * (size_t)s->heads * (size_t)s->length * sizeof(float);
}

/* Sets to, with begins on the GPU. Returns false after a failure. */
static bool prepare(struct ops *ops, const struct attention *s, struct attention *to)
{
    struct stream *stream = stream_of(ops);

    if (s->head_width > HEAD_MAX && !stream->failed) {
        stream->failed = true;
        err_set(&stream->why, "heads of %d columns: attention on GPUs supports at most %d",
                s->head_width, HEAD_MAX);
    }
    *to = *s;
    to->begins = NULL;
    if (!s->causal)
        to->window = 0;
    else if (s->begins != NULL)
        to->begins = stream_send(stream, s->begins, (size_t)s->sequences * (size_t)s->length);
    return !stream->failed;
}

static size_t blocks_of(const struct attention *s, int heads)
{
    return (size_t)s->sequences * (size_t)heads * (((size_t)s->length + TILE - 1) / TILE);
}

/* Returns the bytes for pairs of an own tile and another, and for the warps' scratch memory. */
static size_t shared_bytes(const struct attention *s, size_t pairs)
{
    return (pairs * TILE * (size_t)(own_pitch(*s) + other_pitch(*s)) + THREADS * OWN) *
           sizeof(float);
}

template <typename T, int COLUMNS>
static void forward(struct ops *ops, const struct attention *s, void *out, void *kept,
                    const struct qkv *x)
{
    stream_launch(stream_of(ops), "attention", attention_kernel<T, COLUMNS>,
                  blocks_of(s, s->heads), THREADS, shared_bytes(s, 1), *s, (T *)out,
                  (float *)kept, *x);
}

template <typename T>
static void attend(struct ops *ops, const struct attention *shape, void *out, void *kept,
                   const struct qkv *x)
{
    struct attention s;

    if (!prepare(ops, shape, &s))
        return;
    if (attention_tensor_fits(ops, &s))
        attention_tensor(ops, &s, out, kept, x);
    else if (s.head_width <= 2 * WARP)
        forward<T, 2>(ops, &s, out, kept, x);
    else if (s.head_width <= 4 * WARP)
        forward<T, 4>(ops, &s, out, kept, x);
    else
        forward<T, HEAD_MAX / WARP>(ops, &s, out, kept, x);
}

template <typename T, int COLUMNS>
static void backward(struct ops *ops, const struct attention *s, const struct qkv *dx,
                     void *row_dots, const void *dout, const struct qkv *x, const void *kept)
{
    stream_launch(stream_of(ops), "attention backward", to_q_kernel<T, COLUMNS>,
                  blocks_of(s, s->heads), THREADS, shared_bytes(s, 2), *s, *dx,
                  (const float *)row_dots, (const T *)dout, *x, (const float *)kept);
    stream_launch(stream_of(ops), "attention backward", to_kv_kernel<T, COLUMNS>,
                  blocks_of(s, s->kv_heads), THREADS, shared_bytes(s, 2), *s, *dx,
                  (const float *)row_dots, (const T *)dout, *x, (const float *)kept);
}

template <typename T>
static void attend_backward(struct ops *ops, const struct attention *shape, const struct qkv *dx,
                            void *scratch, const void *dout, const void *out,
                            const struct qkv *x, const void *kept)
{
    const size_t rows = (size_t)shape->sequences * (size_t)shape->heads * (size_t)shape->length;
    struct attention s;

    if (!prepare(ops, shape, &s))
        return;
    stream_launch(stream_of(ops), "attention backward", row_dots_kernel<T>,
                  (rows + WARPS - 1) / WARPS, THREADS, 0, s, (float *)scratch, (const T *)dout,
                  (const T *)out);
    if (attention_tensor_fits(ops, &s))
        attention_tensor_backward(ops, &s, dx, scratch, dout, x, kept);
    else if (s.head_width <= 2 * WARP)
        backward<T, 2>(ops, &s, dx, scratch, dout, x, kept);
    else if (s.head_width <= 4 * WARP)
        backward<T, 4>(ops, &s, dx, scratch, dout, x, kept);
    else
        backward<T, HEAD_MAX / WARP>(ops, &s, dx, scratch, dout, x, kept);
}

template <typename T> static void fill(struct ops *ops)
{
    ops->attention_bytes = attention_bytes;
    ops->attention = attend<T>;
    ops->attention_backward = attend_backward<T>;
}

void attention_fill(struct ops *ops)
{
    ((struct ops_cuda *)ops)->has_tensor_cores = attention_tensor_works(ops->type);
    FOR_TYPE(ops->type, fill, ops);
}
