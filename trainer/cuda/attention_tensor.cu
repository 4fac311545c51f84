/* attention_tensor.cu - see attention_tensor.h
 *
 * A block has a tile of rows (queries; for the gradients of K and V, keys) of one head of one
 * sequence, and iterates over those tiles of the other rows that it sees. A warp has 16 of the
 * block's rows. All its products are sums of 16 x 8 elements in registers, of which a lane has
 * two columns of two rows: see tensor.h. Heads are padded to W columns.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cuda/attention_tensor.h"

#include <math.h>

#include "cuda/attention_place.h"
#include "cuda/tensor.h"

#define WARPS   4
#define THREADS (WARPS * WARP)
#define OWN     16 /* rows per warp */
#define TILE    (WARPS * OWN)
#define OTHER   32          /* rows of the other tile */
#define PARTS   (OTHER / 8) /* of the products with them */

/* Elements between two rows of a tile, so that the lanes use different banks. */
#define PITCH(W) ((W) + 8)

/* ---- tiles ---- */

/* All threads load count rows from first on. What is beyond the rows and columns is 0. */
template <int W, typename T>
static __device__ void fetch(const struct place &p, T *tile, const struct rows<T> &rows, int first,
                             int count)
{
    const int  size = PACK(T), packs = W / PACK(T), width = p.s.head_width;
    const bool packed =
        ((uintptr_t)rows.first | rows.row * sizeof(T) | width * sizeof(T)) % 16 == 0;
    int        i, k;

    for (i = threadIdx.x; i < count * packs; i += THREADS) {
        const int         row = i / packs, column = i % packs * size;
        const T          *from = rows.first + (size_t)(first + row) * rows.row + column;
        pack<T, PACK(T)> p16;

        for (k = 0; k < size; k++)
            store(&p16.x[k], 0);
        if (first + row < rows.length && packed && column < width)
            p16 = *(const pack<T, PACK(T)> *)from;
        for (k = 0; first + row < rows.length && !packed && k < size; k++)
            if (column + k < width)
                p16.x[k] = from[k];
        *(pack<T, PACK(T)> *)(tile + row * PITCH(W) + column) = p16;
    }
}

/* Sets out to the warp's rows times the rows of the other tile. */
template <int W, typename T>
static __device__ inline void dots(float out[PARTS][4], const T *own, const T *other)
{
    const T *mine = own + threadIdx.x / WARP * OWN * PITCH(W);
    uint32_t a[4], b[2];
    int      d, n, i;

    for (n = 0; n < PARTS; n++)
        for (i = 0; i < 4; i++)
            out[n][i] = 0;
    for (d = 0; d < W; d += 16) {
        load_left(a, mine + d, PITCH(W));
        UNROLL
        for (n = 0; n < PARTS; n++) {
            load_turned(b, other + n * 8 * PITCH(W) + d, PITCH(W));
            multiply<T>(out[n], a, b);
        }
    }
}

/* Adds to sum the rows of the other tile, times the warp's weights. */
template <int W, typename T>
static __device__ inline void mix(float sum[W / 8][4], const float weight[PARTS][4],
                                  const T *other)
{
    uint32_t a[4], b[2];
    int      j, n;

    UNROLL
    for (j = 0; j < PARTS; j += 2) {
        a[0] = rounded_pair<T>(weight[j][0], weight[j][1]);
        a[1] = rounded_pair<T>(weight[j][2], weight[j][3]);
        a[2] = rounded_pair<T>(weight[j + 1][0], weight[j + 1][1]);
        a[3] = rounded_pair<T>(weight[j + 1][2], weight[j + 1][3]);
        UNROLL
        for (n = 0; n < W / 8; n++) {
            load_right(b, other + j * 8 * PITCH(W) + n * 8, PITCH(W));
            multiply<T>(sum[n], a, b);
        }
    }
}

template <int W> static __device__ inline void clear(float sum[W / 8][4])
{
    int n, i;

    for (n = 0; n < W / 8; n++)
        for (i = 0; i < 4; i++)
            sum[n][i] = 0;
}

/* Return the own row of element i that this lane has, and the other row of element i of part n,
 * which begins at first. */
static __device__ inline int own_row(const struct place &p, int i)
{
    return p.tile + (int)(threadIdx.x / WARP * OWN + threadIdx.x % WARP / 4) + i / 2 * 8;
}

static __device__ inline int other_row(int first, int n, int i)
{
    return first + n * 8 + (int)(threadIdx.x % 4) * 2 + i % 2;
}

/* Stores the warp's rows, times factor: of the first row and of the second. */
template <int W, typename T>
static __device__ inline void put(const struct place &p, const struct rows<T> &rows,
                                  const float sum[W / 8][4], float first, float second)
{
    int n, i;

    UNROLL
    for (n = 0; n < W / 8; n++) {
        for (i = 0; i < 4; i++) {
            const int row = own_row(p, i), column = other_row(0, n, i);

            if (row < rows.length && column < p.s.head_width)
                store(&rows.first[(size_t)row * rows.row + column],
                      sum[n][i] * (i < 2 ? first : second));
        }
    }
}

/* Return the sum and the maximum over the four lanes that have parts of the same rows. */
static __device__ inline float row_sum(float x)
{
    x += __shfl_xor_sync(ALL_WARP, x, 1);
    return x + __shfl_xor_sync(ALL_WARP, x, 2);
}

static __device__ inline float row_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(ALL_WARP, x, 1));
    return fmaxf(x, __shfl_xor_sync(ALL_WARP, x, 2));
}

/* ---- the forward pass ---- */

/* What is known of the softmax of one of a lane's two rows. */
struct row_state {
    float max, total;
    int   query, from; /* from: the first key that it sees */
};

/* Replaces the products of the row, which is the lane's r-th, by weights, and corrects sum. */
template <int W>
static __device__ inline void weigh(const struct place &p, struct row_state &row, int r,
                                    float w[PARTS][4], float sum[W / 8][4], int first)
{
    float most = -INFINITY, total = 0, less;
    int   n, i;

    for (n = 0; n < PARTS; n++)
        for (i = 2 * r; i < 2 * r + 2; i++)
            if (sees(p, row.query, other_row(first, n, i), row.from))
                most = fmaxf(most, w[n][i] * p.scale);
    most = fmaxf(row.max, row_max(most));
    less = row.max == -INFINITY ? 0 : expf(row.max - most);
    UNROLL
    for (n = 0; n < PARTS; n++) {
        for (i = 2 * r; i < 2 * r + 2; i++) {
            const int  key = other_row(first, n, i);
            const bool seen = sees(p, row.query, key, row.from);

            w[n][i] = seen ? expf(w[n][i] * p.scale - most) : 0;
            total += w[n][i];
            w[n][i] *= seen ? factor_of(p, row.query, key) : 0;
        }
    }
    row.total = row.total * less + row_sum(total);
    row.max = most;
    for (n = 0; n < W / 8; n++)
        for (i = 2 * r; i < 2 * r + 2; i++)
            sum[n][i] *= less;
}

static __device__ inline struct row_state row_of(const struct place &p, int r)
{
    const int query = own_row(p, 2 * r);

    return { -INFINITY, 0, query, first_key(p, query) };
}

template <int W, typename T>
static __global__ void __launch_bounds__(THREADS)
    tensor_kernel(struct attention s, T *out, float *kept, struct qkv x)
{
    const struct place p = place_of(s, s.heads, TILE);
    const int          end = keys_end(p, TILE);
    T                 *q = (T *)shared_memory(), *k = q + TILE * PITCH(W);
    T                 *v = k + OTHER * PITCH(W);
    struct row_state   one = row_of(p, 0), two = row_of(p, 1);
    float              w[PARTS][4], sum[W / 8][4];
    int                first;

    fetch<W>(p, q, rows_of(p, (T *)x.q, x.q_row, p.head), p.tile, TILE);
    clear<W>(sum);
    for (first = keys_begin(p, OTHER); first < end; first += OTHER) {
        __syncthreads();
        fetch<W>(p, k, rows_of(p, (T *)x.k, x.k_row, p.kv_head), first, OTHER);
        fetch<W>(p, v, rows_of(p, (T *)x.v, x.v_row, p.kv_head), first, OTHER);
        __syncthreads();
        dots<W>(w, q, k);
        weigh<W>(p, one, 0, w, sum, first);
        weigh<W>(p, two, 1, w, sum, first);
        mix<W>(sum, w, v);
    }
    if (threadIdx.x % 4 == 0 && one.query < s.length)
        kept[number_of(p, one.query)] = one.max + logf(one.total);
    if (threadIdx.x % 4 == 0 && two.query < s.length)
        kept[number_of(p, two.query)] = two.max + logf(two.total);
    put<W>(p, rows_of(p, out, s.heads * s.head_width, p.head), sum, 1 / one.total,
           1 / two.total);
}

/* ---- the backward pass ---- */

/* Sets w to the weight of a query and a key, and dw to its gradient before softmax. */
static __device__ inline void weigh_back(const struct place &p, float &w, float &dw,
                                         const float *row_dots, const float *kept, int query,
                                         int key)
{
    const bool   seen = sees(p, query, key, first_key(p, query));
    const size_t number = number_of(p, query);
    const float  factor = seen ? factor_of(p, query, key) : 0;

    w = seen ? expf(w * p.scale - kept[number]) : 0;
    dw = seen ? w * (dw * factor - row_dots[number]) : 0;
    w *= factor;
}

/* Computes the gradient of Q: a block has queries, and iterates over keys. */
template <int W, typename T>
static __global__ void __launch_bounds__(THREADS)
    tensor_to_q_kernel(struct attention s, struct qkv dx, const float *row_dots, T *dout,
                       struct qkv x, const float *kept)
{
    const struct place p = place_of(s, s.heads, TILE);
    const int          end = keys_end(p, TILE);
    T                 *q = (T *)shared_memory(), *d = q + TILE * PITCH(W);
    T                 *k = d + TILE * PITCH(W), *v = k + OTHER * PITCH(W);
    float              w[PARTS][4], dw[PARTS][4], sum[W / 8][4];
    int                first, n, i;

    fetch<W>(p, q, rows_of(p, (T *)x.q, x.q_row, p.head), p.tile, TILE);
    fetch<W>(p, d, rows_of(p, dout, s.heads * s.head_width, p.head), p.tile, TILE);
    clear<W>(sum);
    for (first = keys_begin(p, OTHER); first < end; first += OTHER) {
        __syncthreads();
        fetch<W>(p, k, rows_of(p, (T *)x.k, x.k_row, p.kv_head), first, OTHER);
        fetch<W>(p, v, rows_of(p, (T *)x.v, x.v_row, p.kv_head), first, OTHER);
        __syncthreads();
        dots<W>(w, q, k);
        dots<W>(dw, d, v);
        UNROLL
        for (n = 0; n < PARTS; n++)
            for (i = 0; i < 4; i++)
                weigh_back(p, w[n][i], dw[n][i], row_dots, kept, own_row(p, i),
                           other_row(first, n, i));
        mix<W>(sum, dw, k);
    }
    put<W>(p, rows_of(p, (T *)dx.q, dx.q_row, p.head), sum, p.scale, p.scale);
}

/* Computes the gradients of K, of V, or of both: a block has keys, and iterates over the queries
 * of one head of the group after the other. */
template <int W, bool TO_K, bool TO_V, typename T>
static __global__ void __launch_bounds__(THREADS)
    tensor_to_kv_kernel(struct attention s, struct qkv dx, const float *row_dots, T *dout,
                        struct qkv x, const float *kept)
{
    struct place p = place_of(s, s.kv_heads, TILE);
    const int    last = p.head + s.heads / s.kv_heads;
    T           *k = (T *)shared_memory(), *v = k + TILE * PITCH(W), *q = v + TILE * PITCH(W);
    T           *d = q + OTHER * PITCH(W);
    float        w[PARTS][4], dw[PARTS][4] = {}, to_k[W / 8][4], to_v[W / 8][4];
    int          first, n, i;

    fetch<W>(p, k, rows_of(p, (T *)x.k, x.k_row, p.kv_head), p.tile, TILE);
    fetch<W>(p, v, rows_of(p, (T *)x.v, x.v_row, p.kv_head), p.tile, TILE);
    clear<W>(to_k);
    clear<W>(to_v);
    for (; p.head < last; p.head++) {
        for (first = s.causal ? p.tile : 0; first < s.length && !is_past(p, first, TILE);
             first += OTHER) {
            __syncthreads();
            fetch<W>(p, q, rows_of(p, (T *)x.q, x.q_row, p.head), first, OTHER);
            fetch<W>(p, d, rows_of(p, dout, s.heads * s.head_width, p.head), first, OTHER);
            __syncthreads();
            dots<W>(w, k, q);
            if (TO_K)
                dots<W>(dw, v, d);
            UNROLL
            for (n = 0; n < PARTS; n++)
                for (i = 0; i < 4; i++)
                    weigh_back(p, w[n][i], dw[n][i], row_dots, kept, other_row(first, n, i),
                               own_row(p, i));
            if (TO_V)
                mix<W>(to_v, w, d);
            if (TO_K)
                mix<W>(to_k, dw, q);
        }
    }
    if (TO_V)
        put<W>(p, rows_of(p, (T *)dx.v, dx.v_row, p.kv_head), to_v, 1, 1);
    if (TO_K)
        put<W>(p, rows_of(p, (T *)dx.k, dx.k_row, p.kv_head), to_k, p.scale, p.scale);
}

/* ---- host code ---- */

bool attention_tensor_works(enum dtype type)
{
    struct cudaFuncAttributes a;

    if (type == DTYPE_FLOAT)
        return false;
    if (cudaFuncGetAttributes(&a, (const void *)tensor_kernel<64, __half>) == cudaSuccess)
        return a.ptxVersion >= TENSOR_ARCH;
    (void)cudaGetLastError(); /* clear the error, or later calls return it */
    return false;
}

bool attention_tensor_fits(struct ops *ops, const struct attention *s)
{
    return ((struct ops_cuda *)ops)->has_tensor_cores && s->head_width <= HEAD_MAX;
}

static size_t blocks_of(const struct attention *s, int heads)
{
    return (size_t)s->sequences * (size_t)heads * (((size_t)s->length + TILE - 1) / TILE);
}

template <int W, typename T>
static void forward(struct ops *ops, const struct attention *s, void *out, void *kept,
                    const struct qkv *x)
{
    stream_launch(stream_of(ops), "attention", tensor_kernel<W, T>, blocks_of(s, s->heads),
                  THREADS, (TILE + 2 * OTHER) * PITCH(W) * sizeof(T), *s, (T *)out,
                  (float *)kept, *x);
}

/* Calls the function for heads padded to the next of these widths. */
#define FOR_WIDTH(T, function, ...)                                                              \
    (s->head_width <= 64    ? function<64, T>(__VA_ARGS__)                                       \
     : s->head_width <= 128 ? function<128, T>(__VA_ARGS__)                                      \
                            : function<HEAD_MAX, T>(__VA_ARGS__))

void attention_tensor(struct ops *ops, const struct attention *s, void *out, void *kept,
                      const struct qkv *x)
{
    if (ops->type == DTYPE_HALF)
        FOR_WIDTH(__half, forward, ops, s, out, kept, x);
    else
        FOR_WIDTH(__nv_bfloat16, forward, ops, s, out, kept, x);
}

template <int W, bool TO_K, bool TO_V, typename T>
static void to_kv(struct ops *ops, const struct attention *s, const struct qkv *dx,
                  const void *row_dots, const void *dout, const struct qkv *x, const void *kept)
{
    stream_launch(stream_of(ops), "attention backward", tensor_to_kv_kernel<W, TO_K, TO_V, T>,
                  blocks_of(s, s->kv_heads), THREADS, 2 * (TILE + OTHER) * PITCH(W) * sizeof(T),
                  *s, *dx, (const float *)row_dots, (T *)dout, *x, (const float *)kept);
}

/* The registers of a GPU do not hold the gradients of both K and V of the widest heads. */
template <int W, typename T>
static void backward(struct ops *ops, const struct attention *s, const struct qkv *dx,
                     const void *row_dots, const void *dout, const struct qkv *x,
                     const void *kept)
{
    stream_launch(stream_of(ops), "attention backward", tensor_to_q_kernel<W, T>,
                  blocks_of(s, s->heads), THREADS, 2 * (TILE + OTHER) * PITCH(W) * sizeof(T), *s,
                  *dx, (const float *)row_dots, (T *)dout, *x, (const float *)kept);
    if constexpr (W <= 128) {
        to_kv<W, true, true, T>(ops, s, dx, row_dots, dout, x, kept);
    } else {
        to_kv<W, true, false, T>(ops, s, dx, row_dots, dout, x, kept);
        to_kv<W, false, true, T>(ops, s, dx, row_dots, dout, x, kept);
    }
}

void attention_tensor_backward(struct ops *ops, const struct attention *s, const struct qkv *dx,
                               const void *row_dots, const void *dout, const struct qkv *x,
                               const void *kept)
{
    if (ops->type == DTYPE_HALF)
        FOR_WIDTH(__half, backward, ops, s, dx, row_dots, dout, x, kept);
    else
        FOR_WIDTH(__nv_bfloat16, backward, ops, s, dx, row_dots, dout, x, kept);
}
