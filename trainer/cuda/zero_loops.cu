/* zero_loops.cu - see zero_loops.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cuda/zero_loops.h"

#include <math.h>

#include "cuda/element.h"

/* The most blocks of a sum; the same on every GPU, so that sums are the same, too. */
#define PARTS 1024

void zero_loops_init(struct zero_loops *loops, struct stream *stream)
{
    loops->stream = stream;
    loops->parts = (double *)stream_alloc(stream, PARTS * sizeof *loops->parts);
}

void zero_loops_clear(struct zero_loops *loops)
{
    cudaFree(loops->parts);
}

/* ---- operations per element ---- */

template <typename T> static __global__ void add_kernel(T *sum, const T *more, size_t count)
{
    size_t i;

    for (i = thread_number(); i < count; i += thread_count())
        store(&sum[i], load(&sum[i]) + load(&more[i]));
}

template <typename T>
static void add(struct zero_loops *loops, void *sum, const void *more, size_t count)
{
    stream_launch(loops->stream, "gradients", add_kernel<T>, loop_blocks(count), LOOP_THREADS, 0,
                  (T *)sum, (const T *)more, count);
}

void zero_loops_add(struct zero_loops *loops, enum dtype type, void *sum, const void *more,
                    size_t count)
{
    FOR_TYPE(type, add, loops, sum, more, count);
}

template <typename T>
static __global__ void wide_kernel(float *sum, const T *more, size_t count, bool is_first)
{
    size_t i;

    for (i = thread_number(); i < count; i += thread_count())
        sum[i] = (is_first ? 0 : sum[i]) + load(&more[i]);
}

template <typename T>
static void add_wide(struct zero_loops *loops, float *sum, const void *more, size_t count,
                     bool is_first)
{
    stream_launch(loops->stream, "gradients", wide_kernel<T>, loop_blocks(count), LOOP_THREADS, 0,
                  sum, (const T *)more, count, is_first);
}

void zero_loops_add_wide(struct zero_loops *loops, enum dtype type, float *sum, const void *more,
                         size_t count, bool is_first)
{
    FOR_TYPE(type, add_wide, loops, sum, more, count, is_first);
}

template <typename T> static __global__ void narrow_kernel(T *to, const float *values, size_t count)
{
    size_t i;

    for (i = thread_number(); i < count; i += thread_count())
        store(&to[i], values[i]);
}

template <typename T>
static void narrow(struct zero_loops *loops, void *to, const float *values, size_t count)
{
    stream_launch(loops->stream, "parameters", narrow_kernel<T>, loop_blocks(count), LOOP_THREADS,
                  0, (T *)to, values, count);
}

void zero_loops_narrow(struct zero_loops *loops, enum dtype type, void *to, const float *values,
                       size_t count)
{
    FOR_TYPE(type, narrow, loops, to, values, count);
}

/* ---- one number from all elements ---- */

/* Sets parts[block] to the sum of squares, always in the same order, or to the last element
 * that is not finite, or -1. */
template <typename T>
static __global__ void part_kernel(bool is_sum, double *parts, const T *grad, size_t count)
{
    double *mine = (double *)shared_memory(), value = is_sum ? 0 : -1;
    size_t  i;

    for (i = thread_number(); i < count; i += thread_count()) {
        const double x = (double)load(&grad[i]);

        if (is_sum)
            value += x * x;
        else if (!isfinite(x))
            value = (double)i;
    }
    mine[threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (i = 1; i < LOOP_THREADS; i++)
        value = is_sum ? value + mine[i] : fmax(value, mine[i]);
    parts[blockIdx.x] = value;
}

template <typename T>
static double parts_of(struct zero_loops *loops, bool is_sum, const void *grad, size_t count)
{
    const size_t blocks = loop_blocks(count), parts = blocks < PARTS ? blocks : PARTS;
    double       all[PARTS], value = is_sum ? 0 : -1;
    size_t       i;

    stream_launch(loops->stream, "norm", part_kernel<T>, parts, LOOP_THREADS,
                  LOOP_THREADS * sizeof(double), is_sum, loops->parts, (const T *)grad, count);
    stream_read(loops->stream, all, loops->parts, parts * sizeof *all);
    for (i = 0; i < parts && !loops->stream->failed; i++)
        value = is_sum ? value + all[i] : fmax(value, all[i]);
    return value;
}

double zero_loops_squares(struct zero_loops *loops, enum dtype type, const void *grad,
                          size_t count)
{
    return FOR_TYPE(type, parts_of, loops, true, grad, count);
}

size_t zero_loops_last_bad(struct zero_loops *loops, enum dtype type, const void *grad,
                           size_t count)
{
    const double at = FOR_TYPE(type, parts_of, loops, false, grad, count);

    return at < 0 ? count : (size_t)at;
}

/* ---- Adam ---- */

/* The same roundings as zero/adam_body.h. */
template <typename G, typename C>
static __global__ void adam_kernel_of(struct adam_numbers n, float *param, float *mean,
                                      float *square, const G *grad, C *copy, size_t count)
{
    size_t i;

    for (i = thread_number(); i < count; i += thread_count()) {
        const float g = fmaf(n.decay_in_grad, param[i], load(&grad[i]) * n.factor);
        const float m = fmaf(n.take1, g - mean[i], mean[i]);
        const float v = fmaf(n.take2, fmaf(g, g, -square[i]), square[i]);
        const float root = fmaf(sqrtf(v), n.root_factor, n.eps);
        const float p = param[i] - fmaf(n.rate, m / root, n.decay_of_param * param[i]);

        param[i] = p;
        mean[i] = m;
        square[i] = v;
        if (copy != NULL)
            store(&copy[i], p);
    }
}

template <typename G, typename C>
static void adam_of(struct zero_loops *loops, const struct adam_numbers *numbers,
                    const struct adam_arrays *a)
{
    stream_launch(loops->stream, "Adam", adam_kernel_of<G, C>, loop_blocks(a->count),
                  LOOP_THREADS, 0, *numbers, a->param, a->mean, a->square, (const G *)a->grad,
                  (C *)a->copy, a->count);
}

template <typename C>
static void adam(struct zero_loops *loops, const struct adam_numbers *numbers,
                 const struct adam_arrays *a)
{
    if (a->grad_type == DTYPE_FLOAT)
        adam_of<float, C>(loops, numbers, a);
    else
        adam_of<C, C>(loops, numbers, a);
}

/* A gradient that is not in float has the copy's type, because zero has no others. */
void zero_loops_adam(struct zero_loops *loops, const struct adam *how, int64_t step,
                     double factor, const struct adam_arrays *arrays)
{
    const struct adam_numbers numbers = adam_numbers(how, step, factor);
    const struct adam_numbers without = adam_without_decay(&numbers);
    struct adam_arrays        part;
    bool                      is_spared;
    size_t                    at;

    for (at = 0; at < arrays->count; at += part.count) {
        part = adam_alike(arrays, at, &is_spared);
        FOR_TYPE(part.copy_type, adam, loops, is_spared ? &without : &numbers, &part);
    }
}
