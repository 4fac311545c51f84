/* norm.cu - see ops_cuda.h; LayerNorm and RMSNorm, and sums over rows
 *
 * A group of threads has a vector, and keeps its first packs in registers; it reads the others
 * again. Sums over rows have two steps: each block sums some rows of some columns, then another
 * kernel sums the results of the blocks.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cuda/element.h"
#include "cuda/ops_state.h"

#define HELD        2   /* packs in registers, per thread */
#define GROUP_MAX   512 /* threads of a vector */
#define BLOCK_LEAST 128 /* threads of a block: it may have several groups */

#define GROUPS      8   /* of rows, one per warp, in a block that sums columns */
#define CHUNKS_MAX  256 /* of rows, one per block */
#define CHUNK_LEAST 32
#define BLOCKS      2048 /* of columns and of rows: enough to fill a GPU */

/* ---- vectors ---- */

/* What a thread has of a vector of each array: the packs thread, thread + group and so on. */
template <typename T, int N, int ARRAYS> struct share {
    int      row, number, width; /* number: which vector of the row; width 0: none */
    int      thread, group;
    const T *x[ARRAYS];
    float    held[HELD][ARRAYS][N];
};

template <typename T, int N, int ARRAYS>
static __device__ inline share<T, N, ARRAYS> share_of(const struct norm &s, int group)
{
    const int64_t vector = (int64_t)blockIdx.x * (blockDim.x / group) + threadIdx.x / group;
    share<T, N, ARRAYS> own;

    own.row = (int)(vector / s.each);
    own.number = (int)(vector % s.each);
    own.width = own.row < s.rows ? s.width : 0;
    own.thread = (int)threadIdx.x % group;
    own.group = group;
    return own;
}

/* Returns where the vector begins in an array with this number of elements per row. */
template <typename S> static __device__ inline size_t begin_of(const S &own, int row_elements)
{
    return (size_t)own.row * row_elements + (size_t)own.number * own.width;
}

/* Calls f(values of the arrays, column of the first value) for each pack of this thread. */
template <typename T, int N, int ARRAYS, typename F>
static __device__ inline void each_pack(share<T, N, ARRAYS> &own, F f)
{
    float read[ARRAYS][N];
    int   i, j, a;

    UNROLL
    for (i = 0; i < HELD; i++) {
        j = (i * own.group + own.thread) * N;
        if (j < own.width)
            f(own.held[i], j);
    }
    for (j = (HELD * own.group + own.thread) * N; j < own.width; j += own.group * N) {
        UNROLL
        for (a = 0; a < ARRAYS; a++)
            load_pack<N>(read[a], own.x[a] + j);
        f(read, j);
    }
}

/* Loads the packs that the thread keeps. */
template <typename T, int N, int ARRAYS>
static __device__ inline void hold(share<T, N, ARRAYS> &own)
{
    int i, j, a;

    UNROLL
    for (i = 0; i < HELD; i++) {
        j = (i * own.group + own.thread) * N;
        UNROLL
        for (a = 0; a < ARRAYS; a++)
            if (j < own.width)
                load_pack<N>(own.held[i][a], own.x[a] + j);
    }
}

/* Returns the sum over the group in each of its threads. All groups of a block call it. */
static __device__ inline float group_sum(float x, int group)
{
    float    *part = shared_memory(), sum = 0;
    const int first = (int)threadIdx.x / group * (group / WARP);
    int       i;

    x = warp_sum(x);
    if (group == WARP)
        return x;
    __syncthreads(); /* all threads have read the previous content */
    if (threadIdx.x % WARP == 0)
        part[threadIdx.x / WARP] = x;
    __syncthreads();
    for (i = 0; i < group / WARP; i++)
        sum += part[first + i];
    return sum;
}

/* ---- norms ---- */

/* Replaces x by its sum with y, as it is stored. */
template <typename T, int N>
static __device__ inline void add_term(share<T, N, 1> &own, T *sum, const T *y)
{
    each_pack(own, [&](float x[][N], int j) {
        float term[N];
        int   k;

        load_pack<N>(term, y + j);
        for (k = 0; k < N; k++)
            x[0][k] = rounded<T>(x[0][k] + term[k]);
        store_pack<N>(sum + j, x[0]);
    });
    own.x[0] = sum; /* each thread reads what it has written */
}

template <typename T, int N>
static __global__ void norm_kernel(struct norm s, int group, T *sum, T *out, float *stats,
                                   const T *x, const T *y, const T *weight, const T *bias)
{
    share<T, N, 1> own = share_of<T, N, 1>(s, group);
    const size_t   at = begin_of(own, s.x_row);
    float          mean = 0, squares = 0, scale;

    own.x[0] = x + at;
    hold(own);
    if (y != NULL)
        add_term<T, N>(own, sum + at, y + at);
    if (s.centered) {
        each_pack(own, [&](float v[][N], int) {
            for (int k = 0; k < N; k++)
                mean += v[0][k];
        });
        mean = group_sum(mean, group) / s.width;
    }
    each_pack(own, [&](float v[][N], int) {
        for (int k = 0; k < N; k++)
            squares += (v[0][k] - mean) * (v[0][k] - mean);
    });
    scale = 1 / sqrtf(group_sum(squares, group) / s.width + (float)s.epsilon);
    out += begin_of(own, s.out_row);
    each_pack(own, [&](float v[][N], int j) {
        float w[N], b[N] = {}, result[N];

        load_pack<N>(w, weight + j);
        if (bias != NULL)
            load_pack<N>(b, bias + j);
        for (int k = 0; k < N; k++)
            result[k] = (v[0][k] - mean) * scale * w[k] + b[k];
        store_pack<N>(out + j, result);
    });
    if (own.thread == 0 && own.width > 0) {
        stats[2 * ((size_t)own.row * s.each + own.number)] = mean;
        stats[2 * ((size_t)own.row * s.each + own.number) + 1] = scale;
    }
}

/* dx, dout and more have the same rows, and may be the same memory: a thread writes a pack after
 * it has read it for the last time. */
template <typename T, int N>
static __global__ void __launch_bounds__(GROUP_MAX, 2)
    norm_dx_kernel(struct norm s, int group, T *dx, const T *dout, const T *x, const T *weight,
                   const float *stats, const T *more)
{
    share<T, N, 2> own = share_of<T, N, 2>(s, group);
    const size_t   at = begin_of(own, s.out_row);
    const float   *kept = stats + 2 * ((size_t)own.row * s.each + own.number);
    const float    mean = own.width > 0 ? kept[0] : 0, scale = own.width > 0 ? kept[1] : 0;
    float          sum = 0, dot = 0;

    own.x[0] = dout + at;
    own.x[1] = x + begin_of(own, s.x_row);
    hold(own);
    each_pack(own, [&](float v[][N], int j) {
        float w[N];

        load_pack<N>(w, weight + j);
        for (int k = 0; k < N; k++) {
            sum += v[0][k] * w[k];
            dot += v[0][k] * w[k] * ((v[1][k] - mean) * scale);
        }
    });
    sum = s.centered ? group_sum(sum, group) / s.width : 0;
    dot = group_sum(dot, group) / s.width;
    each_pack(own, [&](float v[][N], int j) {
        float w[N], m[N] = {};

        load_pack<N>(w, weight + j);
        if (more != NULL)
            load_pack<N>(m, more + at + j);
        for (int k = 0; k < N; k++)
            m[k] += (v[0][k] * w[k] - sum - (v[1][k] - mean) * scale * dot) * scale;
        store_pack<N>(dx + at + j, m);
    });
}

/* Launches a kernel with a group of threads for each vector. */
template <int N, typename... P, typename... A>
static void launch_groups(struct ops *ops, const char *what,
                          void (*kernel)(struct norm, int, P...), const struct norm *shape,
                          A... args)
{
    const size_t vectors = (size_t)shape->rows * (size_t)shape->each;
    const int    packs = (shape->width + N - 1) / N;
    int          group = WARP, threads;

    while (group < GROUP_MAX && group * HELD < packs)
        group *= 2;
    threads = group < BLOCK_LEAST ? BLOCK_LEAST : group;
    stream_launch(stream_of(ops), what, kernel,
                  (vectors * (size_t)group + (size_t)threads - 1) / (size_t)threads,
                  (unsigned)threads, (size_t)threads / WARP * sizeof(float), *shape, group,
                  args...);
}

/* Returns the elements of a row that must be multiples of a pack, combined by |. */
static size_t widths_of(const struct norm *shape)
{
    return (size_t)shape->width | (size_t)shape->x_row | (size_t)shape->out_row;
}

template <typename T>
static void run_norm(struct ops *ops, const struct norm *shape, void *sum, void *out, void *stats,
                     const void *x, const void *y, const void *weight, const void *bias)
{
    const uintptr_t all = address(sum) | address(out) | address(x) | address(y) |
                          address(weight) | address(bias);

    if (is_packed<T>(all, widths_of(shape)))
        launch_groups<PACK(T)>(ops, "norm", norm_kernel<T, PACK(T)>, shape, (T *)sum, (T *)out,
                               (float *)stats, (const T *)x, (const T *)y, (const T *)weight,
                               (const T *)bias);
    else
        launch_groups<1>(ops, "norm", norm_kernel<T, 1>, shape, (T *)sum, (T *)out,
                         (float *)stats, (const T *)x, (const T *)y, (const T *)weight,
                         (const T *)bias);
}

/* ---- sums over rows ---- */

/* partial: [chunks][2][width], the sums of dout times the normed x, and of dout. x NULL: only
 * the sums of dout. A lane has the columns of a pack. */
template <typename T, int N>
static __global__ void columns_kernel(struct norm s, float *partial, const T *dout, const T *x,
                                      const float *stats, int columns_blocks, int chunk)
{
    const int    lane = threadIdx.x % WARP, group = threadIdx.x / WARP;
    const int    first = (int)(blockIdx.x % columns_blocks) * WARP * N, own = first + lane * N;
    const size_t from = (size_t)(blockIdx.x / columns_blocks) * chunk;
    const size_t vectors = (size_t)s.rows * s.each;
    const size_t end = from + chunk < vectors ? from + chunk : vectors;
    float       *sums = shared_memory(), d[N], v[N], dw[N] = {}, db[N] = {}, sum;
    int          i, k;

    for (size_t n = from + group; n < end && own < s.width; n += GROUPS) {
        const unsigned row = (unsigned)n / (unsigned)s.each, at = (unsigned)n % (unsigned)s.each;

        load_pack<N>(d, dout + (size_t)row * s.out_row + (size_t)at * s.width + own);
        for (k = 0; k < N; k++)
            db[k] += d[k];
        if (x == NULL)
            continue;
        load_pack<N>(v, x + (size_t)row * s.x_row + (size_t)at * s.width + own);
        for (k = 0; k < N; k++)
            dw[k] += d[k] * ((v[k] - stats[2 * n]) * stats[2 * n + 1]);
    }
    for (k = 0; k < N; k++) {
        sums[(group * N + k) * WARP + lane] = dw[k];
        sums[((GROUPS + group) * N + k) * WARP + lane] = db[k];
    }
    __syncthreads();
    partial += (size_t)(blockIdx.x / columns_blocks) * 2 * s.width;
    for (i = threadIdx.x; i < 2 * WARP * N; i += GROUPS * WARP) {
        const int which = i / (WARP * N), column = i % (WARP * N);

        for (sum = 0, k = 0; k < GROUPS; k++)
            sum += sums[((which * GROUPS + k) * N + column % N) * WARP + column / N];
        if (first + column < s.width)
            partial[(size_t)which * s.width + first + column] = sum;
    }
}

/* A block adds 32 of the 2 * width sums. dweight or dbias NULL: only the other. */
template <typename T>
static __global__ void finish_kernel(T *dweight, T *dbias, const float *partial, int chunks,
                                     int width)
{
    const int lane = threadIdx.x % WARP, group = threadIdx.x / WARP;
    const int i = (int)blockIdx.x * WARP + lane;
    T        *to = i < width ? dweight : dbias;
    float    *sums = shared_memory(), sum = 0;
    int       k;

    for (k = group; k < chunks && i < 2 * width && to != NULL; k += GROUPS)
        sum += partial[(size_t)k * 2 * width + i];
    sums[group * WARP + lane] = sum;
    __syncthreads();
    if (group > 0 || i >= 2 * width || to == NULL)
        return;
    to += i < width ? i : i - width;
    for (sum = load(to), k = 0; k < GROUPS; k++)
        sum += sums[k * WARP + lane];
    store(to, sum);
}

template <typename T, int N>
static void sum_packs(struct ops *ops, const struct norm *shape, void *dweight, void *dbias,
                      const void *dout, const void *x, const void *stats)
{
    struct ops_cuda *cuda = (struct ops_cuda *)ops;
    const int        vectors = shape->rows * shape->each;
    const int        columns = (shape->width + WARP * N - 1) / (WARP * N);
    const int        most = BLOCKS / columns < 1            ? 1
                            : BLOCKS / columns < CHUNKS_MAX ? BLOCKS / columns
                                                            : CHUNKS_MAX;
    int              chunk = (vectors + most - 1) / most, chunks;

    chunk = chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk;
    chunks = (vectors + chunk - 1) / chunk;
    if (!ops_room(cuda, &cuda->columns, &cuda->columns_room,
                  (size_t)most * 2 * (size_t)shape->width))
        return;
    stream_launch(&cuda->stream, "sums over rows", columns_kernel<T, N>,
                  (size_t)columns * (size_t)chunks, GROUPS * WARP,
                  2 * GROUPS * WARP * N * sizeof(float), *shape, cuda->columns, (const T *)dout,
                  (const T *)x, (const float *)stats, columns, chunk);
    stream_launch(&cuda->stream, "sums over rows", finish_kernel<T>,
                  (2 * (size_t)shape->width + WARP - 1) / WARP, GROUPS * WARP,
                  GROUPS * WARP * sizeof(float), (T *)dweight, (T *)dbias,
                  (const float *)cuda->columns, chunks, shape->width);
}

template <typename T>
static void sum_rows(struct ops *ops, const struct norm *shape, void *dweight, void *dbias,
                     const void *dout, const void *x, const void *stats)
{
    if (is_packed<T>(address(dout) | address(x), widths_of(shape)))
        sum_packs<T, PACK(T)>(ops, shape, dweight, dbias, dout, x, stats);
    else
        sum_packs<T, 1>(ops, shape, dweight, dbias, dout, x, stats);
}

template <typename T>
static void bias_backward(struct ops *ops, void *dbias, const void *dout, int rows, int width,
                          int row)
{
    const struct norm shape = { rows, width, 1, row, row, true, 0 };

    if (dbias != NULL)
        sum_rows<T>(ops, &shape, NULL, dbias, dout, NULL, NULL);
}

/* ---- the backward pass ---- */

/* Writes dx last, because dx may be dout. */
template <typename T>
static void run_norm_backward(struct ops *ops, const struct norm *shape, void *dx, void *dweight,
                              void *dbias, const void *dout, const void *x, const void *weight,
                              const void *stats, const void *more)
{
    const uintptr_t all = address(dx) | address(dout) | address(x) | address(weight) |
                          address(more);

    if (dweight != NULL || dbias != NULL)
        sum_rows<T>(ops, shape, dweight, dbias, dout, x, stats);
    if (is_packed<T>(all, widths_of(shape)))
        launch_groups<PACK(T)>(ops, "norm backward", norm_dx_kernel<T, PACK(T)>, shape, (T *)dx,
                               (const T *)dout, (const T *)x, (const T *)weight,
                               (const float *)stats, (const T *)more);
    else
        launch_groups<1>(ops, "norm backward", norm_dx_kernel<T, 1>, shape, (T *)dx,
                         (const T *)dout, (const T *)x, (const T *)weight,
                         (const float *)stats, (const T *)more);
}

template <typename T> static void fill(struct ops *ops)
{
    ops->norm = run_norm<T>;
    ops->norm_backward = run_norm_backward<T>;
    ops->bias_backward = bias_backward<T>;
}

void norm_fill(struct ops *ops)
{
    FOR_TYPE(ops->type, fill, ops);
}
