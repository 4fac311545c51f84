/* loss.cu - see ops_cuda.h; the cross entropy
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "cuda/element.h"
#include "cuda/ops_state.h"

#define THREADS 256
#define WARPS   (THREADS / WARP)

struct loss_sum {
    double value;
};

/* Returns the result over the block in every thread. */
template <float reduce(float)> static __device__ float block_reduce(float x, float empty)
{
    float    *part = shared_memory();
    const int lane = threadIdx.x % WARP;

    x = reduce(x);
    __syncthreads(); /* all threads have read the previous content */
    if (lane == 0)
        part[threadIdx.x / WARP] = x;
    __syncthreads();
    return reduce(lane < WARPS ? part[lane] : empty);
}

/* One block per row. */
template <typename T>
static __global__ void entropy_kernel(float *stats, float *losses, const T *logits,
                                      const int32_t *targets, int width)
{
    const T *x = logits + (size_t)blockIdx.x * width;
    float    max = -INFINITY, sum = 0;
    int      j;

    for (j = threadIdx.x; j < width; j += THREADS)
        max = fmaxf(max, load(&x[j]));
    max = block_reduce<warp_max>(max, -INFINITY);
    /* fmaxf ignores NaN; this sum does not. */
    for (j = threadIdx.x; j < width; j += THREADS)
        sum += expf(load(&x[j]) - max);
    sum = block_reduce<warp_sum>(sum, 0);
    if (threadIdx.x > 0)
        return;
    stats[blockIdx.x] = max + logf(sum);
    losses[blockIdx.x] = max + logf(sum) - load(&x[targets[blockIdx.x]]);
}

/* One block: each thread sums every THREADS-th row, and the first thread sums the threads. */
static __global__ void sum_kernel(struct loss_sum *out, const float *losses, size_t rows)
{
    double *part = (double *)shared_memory(), sum = 0;
    size_t  i;

    for (i = threadIdx.x; i < rows; i += THREADS)
        sum += (double)losses[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (sum = 0, i = 0; i < THREADS; i++)
        sum += part[i];
    out->value = sum;
}

template <typename T>
static double cross_entropy(struct ops *ops, void *stats, const void *logits,
                            const int32_t *targets, int rows, int width)
{
    struct ops_cuda *cuda = (struct ops_cuda *)ops;
    struct stream   *stream = &cuda->stream;
    struct loss_sum  loss = { (double)NAN };
    const int32_t   *numbers = stream_send(stream, targets, (size_t)rows);

    if (cuda->loss == NULL)
        cuda->loss = (struct loss_sum *)stream_alloc(stream, sizeof loss);
    if (!ops_room(cuda, &cuda->losses, &cuda->losses_room, (size_t)rows))
        return loss.value;
    stream_launch(stream, "cross entropy", entropy_kernel<T>, (size_t)rows, THREADS,
                  WARPS * sizeof(float), (float *)stats, cuda->losses, (const T *)logits,
                  numbers, width);
    stream_launch(stream, "cross entropy", sum_kernel, 1, THREADS, THREADS * sizeof(double),
                  cuda->loss, (const float *)cuda->losses, (size_t)rows);
    stream_read(stream, &loss, cuda->loss, sizeof loss);
    return loss.value;
}

template <typename T>
static __global__ void entropy_backward_kernel(T *logits, const float *stats,
                                               const int32_t *targets, float scale, size_t rows,
                                               int width)
{
    size_t i;

    for (i = thread_number(); i < rows * width; i += thread_count()) {
        const size_t row = i / width;
        const float  p = expf(load(&logits[i]) - stats[row]);

        store(&logits[i], (p - ((size_t)targets[row] == i % width ? 1.0f : 0.0f)) * scale);
    }
}

template <typename T>
static void cross_entropy_backward(struct ops *ops, void *logits, const void *stats,
                                   const int32_t *targets, double scale, int rows, int width)
{
    struct stream *stream = stream_of(ops);
    const int32_t *numbers = stream_send(stream, targets, (size_t)rows);

    stream_launch(stream, "cross entropy backward", entropy_backward_kernel<T>,
                  loop_blocks((size_t)rows * (size_t)width), LOOP_THREADS, 0, (T *)logits,
                  (const float *)stats, numbers, (float)scale, (size_t)rows, width);
}

template <typename T> static void fill(struct ops *ops)
{
    ops->cross_entropy = cross_entropy<T>;
    ops->cross_entropy_backward = cross_entropy_backward<T>;
}

void loss_fill(struct ops *ops)
{
    FOR_TYPE(ops->type, fill, ops);
}
