/* loss.cu - see ops_cuda.h; the cross entropy
 *
 * A block has a row, whose width is often odd: it reads packs between the first and the last
 * address at which one can be, and single elements beside them.
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

/* Calls f.use<N>(address, column) for all packs and elements of the row that this thread has. */
template <typename T, typename F> static __device__ inline void each_part(T *x, int width, F &f)
{
    const int size = PACK(T), thread = (int)threadIdx.x;
    const int before = (size - (int)((uintptr_t)x % 16 / sizeof(T))) % size;
    const int first = before < width ? before : width, end = first + (width - first) / size * size;
    int       j;

    for (j = first + thread * size; j < end; j += THREADS * size)
        f.template use<PACK(T)>(x + j, j);
    if (thread < first)
        f.template use<1>(x + thread, thread);
    if (thread < width - end)
        f.template use<1>(x + end + thread, end + thread);
}

/* ---- the loss ---- */

/* The sum of e^(x - max), where max grows as elements come. fmaxf ignores NaN; the sum does not. */
struct exp_sum {
    float max, sum;

    __device__ void raise(float most)
    {
        if (most > max) {
            sum *= expf(max - most);
            max = most;
        }
    }

    __device__ void add(const struct exp_sum &other)
    {
        raise(other.max);
        sum += other.max == max ? other.sum : other.sum * expf(other.max - max);
    }

    template <int N, typename T> __device__ void use(const T *x, int)
    {
        float v[N], most;
        int   k;

        load_pack<N>(v, x);
        for (most = v[0], k = 1; k < N; k++)
            most = fmaxf(most, v[k]);
        raise(most);
        for (k = 0; k < N; k++)
            sum += v[k] == -INFINITY ? 0 : expf(v[k] - max);
    }
};

/* Adds those of all threads, in the first one. */
static __device__ void add_up(struct exp_sum &own)
{
    float *part = shared_memory(), *sums = part + WARPS;
    int    lane;

    for (lane = WARP / 2; lane > 0; lane /= 2) {
        struct exp_sum other;

        other.max = __shfl_xor_sync(ALL_WARP, own.max, lane);
        other.sum = __shfl_xor_sync(ALL_WARP, own.sum, lane);
        own.add(other);
    }
    if (threadIdx.x % WARP == 0) {
        part[threadIdx.x / WARP] = own.max;
        sums[threadIdx.x / WARP] = own.sum;
    }
    __syncthreads();
    for (lane = 1; threadIdx.x == 0 && lane < WARPS; lane++) {
        const struct exp_sum other = { part[lane], sums[lane] };

        own.add(other);
    }
}

template <typename T>
static __global__ void entropy_kernel(float *stats, float *losses, const T *logits,
                                      const int32_t *targets, int width)
{
    const T       *x = logits + (size_t)blockIdx.x * width;
    struct exp_sum own = { -INFINITY, 0 };

    each_part(x, width, own);
    add_up(own);
    if (threadIdx.x > 0)
        return;
    stats[blockIdx.x] = own.max + logf(own.sum);
    losses[blockIdx.x] = own.max + logf(own.sum) - load(&x[targets[blockIdx.x]]);
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
                  2 * WARPS * sizeof(float), (float *)stats, cuda->losses, (const T *)logits,
                  numbers, width);
    stream_launch(stream, "cross entropy", sum_kernel, 1, THREADS, THREADS * sizeof(double),
                  cuda->loss, (const float *)cuda->losses, (size_t)rows);
    stream_read(stream, &loss, cuda->loss, sizeof loss);
    return loss.value;
}

/* ---- the gradient ---- */

struct slope {
    float stat, scale;
    int   target;

    template <int N, typename T> __device__ void use(T *x, int column)
    {
        float v[N];
        int   k;

        load_pack<N>(v, x);
        for (k = 0; k < N; k++)
            v[k] = (expf(v[k] - stat) - (column + k == target ? 1.0f : 0.0f)) * scale;
        store_pack<N>(x, v);
    }
};

template <typename T>
static __global__ void entropy_backward_kernel(T *logits, const float *stats,
                                               const int32_t *targets, float scale, int width)
{
    struct slope slope = { stats[blockIdx.x], scale, targets[blockIdx.x] };

    each_part(logits + (size_t)blockIdx.x * width, width, slope);
}

template <typename T>
static void cross_entropy_backward(struct ops *ops, void *logits, const void *stats,
                                   const int32_t *targets, double scale, int rows, int width)
{
    struct stream *stream = stream_of(ops);
    const int32_t *numbers = stream_send(stream, targets, (size_t)rows);

    stream_launch(stream, "cross entropy backward", entropy_backward_kernel<T>, (size_t)rows,
                  THREADS, 0, (T *)logits, (const float *)stats, numbers, (float)scale, width);
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
