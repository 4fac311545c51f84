/* norm.cu - see ops_cuda.h; layernorm, and sums over rows
 *
 * A warp has a row. Sums over rows have two steps: each block sums some rows of some columns,
 * then another kernel sums the results of the blocks.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cuda/element.h"
#include "cuda/ops_state.h"

#define ROWS        4  /* per block: one row per warp */
#define GROUPS      8  /* of rows, one per warp, in a block that sums 32 columns */
#define CHUNKS_MAX  64 /* of rows, one per block */
#define CHUNK_LEAST 32

template <typename T>
static __global__ void layernorm_kernel(struct norm s, T *sum, T *out, float *stats, const T *x,
                                        const T *y, const T *weight, const T *bias)
{
    const int    row = (int)(blockIdx.x * ROWS + threadIdx.x / WARP), lane = threadIdx.x % WARP;
    const size_t at = (size_t)row * s.width;
    float        mean = 0, squares = 0, scale;
    int          j;

    if (row >= s.rows)
        return;
    if (y != NULL)
        for (j = lane; j < s.width; j += WARP)
            store(&sum[at + j], load(&x[at + j]) + load(&y[at + j]));
    x = y != NULL ? sum : x; /* each lane reads what it has written */
    for (j = lane; j < s.width; j += WARP)
        mean += load(&x[at + j]);
    mean = warp_sum(mean) / s.width;
    for (j = lane; j < s.width; j += WARP)
        squares += (load(&x[at + j]) - mean) * (load(&x[at + j]) - mean);
    scale = 1 / sqrtf(warp_sum(squares) / s.width + (float)s.epsilon);
    for (j = lane; j < s.width; j += WARP)
        store(&out[at + j], (load(&x[at + j]) - mean) * scale * load(&weight[j]) +
                                load(&bias[j]));
    if (lane == 0) {
        stats[2 * row] = mean;
        stats[2 * row + 1] = scale;
    }
}

template <typename T>
static void run_norm(struct ops *ops, const struct norm *shape, void *sum, void *out,
                      void *stats, const void *x, const void *y, const void *weight,
                      const void *bias)
{
    stream_launch(stream_of(ops), "layernorm", layernorm_kernel<T>,
                  ((size_t)shape->rows + ROWS - 1) / ROWS, ROWS * WARP, 0, *shape, (T *)sum,
                  (T *)out, (float *)stats, (const T *)x, (const T *)y, (const T *)weight,
                  (const T *)bias);
}

template <typename T>
static __global__ void norm_dx_kernel(struct norm s, T *dx, const T *dout, const T *x,
                                      const T *weight, const float *stats, const T *more)
{
    const int    row = (int)(blockIdx.x * ROWS + threadIdx.x / WARP), lane = threadIdx.x % WARP;
    const size_t at = (size_t)row * s.width;
    float        mean, scale, sum = 0, dot = 0;
    int          j;

    if (row >= s.rows)
        return;
    mean = stats[2 * row];
    scale = stats[2 * row + 1];
    for (j = lane; j < s.width; j += WARP) {
        const float d = load(&dout[at + j]) * load(&weight[j]);

        sum += d;
        dot += d * (load(&x[at + j]) - mean) * scale;
    }
    sum = warp_sum(sum) / s.width;
    dot = warp_sum(dot) / s.width;
    for (j = lane; j < s.width; j += WARP)
        store(&dx[at + j], (load(&dout[at + j]) * load(&weight[j]) - sum -
                            (load(&x[at + j]) - mean) * scale * dot) * scale +
                               (more != NULL ? load(&more[at + j]) : 0));
}

/* partial: [chunks][2][width], the sums of dout times the normed x, and of dout. x NULL: only
 * the sums of dout. */
template <typename T>
static __global__ void columns_kernel(struct norm s, float *partial, const T *dout, const T *x,
                                      const float *stats, int columns_blocks, int chunk)
{
    const int lane = threadIdx.x % WARP, group = threadIdx.x / WARP;
    const int column = (int)(blockIdx.x % columns_blocks) * WARP + lane;
    const int from = (int)(blockIdx.x / columns_blocks) * chunk;
    const int end = from + chunk < s.rows ? from + chunk : s.rows;
    float    *sums = shared_memory(), dw = 0, db = 0;
    int       i;

    for (i = from + group; i < end && column < s.width; i += GROUPS) {
        const float d = load(&dout[(size_t)i * s.width + column]);

        db += d;
        if (x != NULL)
            dw += d * (load(&x[(size_t)i * s.width + column]) - stats[2 * i]) * stats[2 * i + 1];
    }
    sums[threadIdx.x] = dw;
    sums[GROUPS * WARP + threadIdx.x] = db;
    __syncthreads();
    if (group >= 2 || column >= s.width)
        return;
    for (dw = 0, i = 0; i < GROUPS; i++)
        dw += sums[(group * GROUPS + i) * WARP + lane];
    partial[((size_t)(blockIdx.x / columns_blocks) * 2 + group) * s.width + column] = dw;
}

/* dweight NULL: only dbias. */
template <typename T>
static __global__ void finish_kernel(T *dweight, T *dbias, const float *partial, int chunks,
                                     int width)
{
    size_t i;
    int    chunk;

    for (i = thread_number(); i < (size_t)2 * width; i += thread_count()) {
        T    *to = i < (size_t)width ? dweight : dbias;
        float sum = 0;

        for (chunk = 0; chunk < chunks; chunk++)
            sum += partial[(size_t)chunk * 2 * width + i];
        if (to != NULL)
            store(&to[i % width], load(&to[i % width]) + sum);
    }
}

template <typename T>
static void sum_rows(struct ops *ops, const struct norm *shape, void *dweight, void *dbias,
                     const void *dout, const void *x, const void *stats)
{
    struct ops_cuda *cuda = (struct ops_cuda *)ops;
    const int        columns = (shape->width + WARP - 1) / WARP;
    int              chunk = (shape->rows + CHUNKS_MAX - 1) / CHUNKS_MAX, chunks;

    chunk = chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk;
    chunks = (shape->rows + chunk - 1) / chunk;
    if (!ops_room(cuda, &cuda->columns, &cuda->columns_room,
                  (size_t)CHUNKS_MAX * 2 * (size_t)shape->width))
        return;
    stream_launch(&cuda->stream, "sums over rows", columns_kernel<T>,
                  (size_t)columns * (size_t)chunks, GROUPS * WARP,
                  2 * GROUPS * WARP * sizeof(float), *shape, cuda->columns, (const T *)dout,
                  (const T *)x, (const float *)stats, columns, chunk);
    stream_launch(&cuda->stream, "sums over rows", finish_kernel<T>,
                  loop_blocks(2 * (size_t)shape->width), LOOP_THREADS, 0, (T *)dweight,
                  (T *)dbias, (const float *)cuda->columns, chunks, shape->width);
}

template <typename T>
static void bias_backward(struct ops *ops, void *dbias, const void *dout, int rows, int width)
{
    const struct norm shape = { rows, width, 1, width, width, true, 0 };

    sum_rows<T>(ops, &shape, NULL, dbias, dout, NULL, NULL);
}

/* Writes dx last, because dx may be dout. */
template <typename T>
static void run_norm_backward(struct ops *ops, const struct norm *shape, void *dx,
                               void *dweight, void *dbias, const void *dout, const void *x,
                               const void *weight, const void *stats, const void *more)
{
    sum_rows<T>(ops, shape, dweight, dbias, dout, x, stats);
    stream_launch(stream_of(ops), "layernorm backward", norm_dx_kernel<T>,
                  ((size_t)shape->rows + ROWS - 1) / ROWS, ROWS * WARP, 0, *shape, (T *)dx,
                  (const T *)dout, (const T *)x, (const T *)weight, (const float *)stats,
                  (const T *)more);
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
