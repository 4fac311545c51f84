/* adam.c - see adam.h; the numbers of a step, its threads and the choice of kernel
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/adam.h"

#include <math.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "zero/adam_kernel.h"

#define SHARE_MIN   16384 /* elements; with fewer, a thread costs more than it gains */
#define SHARE_ALIGN 64    /* elements; so no two threads write to the same cache line */

static bool always(void);
#ifdef __x86_64__
static bool has_avx2(void);
static bool has_avx512(void);
#endif

/* Best first. */
static const struct {
    const char  *name;
    bool       (*is_usable)(void);
    adam_kernel *run;
} kernels[] = {
#ifdef __x86_64__
    { "avx512", has_avx512, adam_avx512 },
    { "avx2", has_avx2, adam_avx2 },
#endif
#ifdef __aarch64__
    { "neon", always, adam_neon },
#endif
    { "scalar", always, adam_scalar },
};
#define KERNELS (sizeof kernels / sizeof kernels[0])

static size_t chosen = KERNELS; /* KERNELS: not yet chosen */

static size_t              best_kernel(void);
static int                 threads_for(size_t count);
static struct adam_arrays  share_of(const struct adam_arrays *all, int thread, int threads);
static void                run_share(adam_kernel *run, const struct adam_numbers *numbers,
                                     const struct adam_arrays *share);
static void                run_parts(adam_kernel *run, const struct adam_numbers *numbers,
                                     const struct adam_arrays *share);

void adam_step(const struct adam *adam, int64_t step, double factor,
               const struct adam_arrays *arrays)
{
    const struct adam_numbers numbers = adam_numbers(adam, step, factor);
    adam_kernel              *run = kernels[best_kernel()].run;
    int                       threads = threads_for(arrays->count), i;

#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static)
#endif
    for (i = 0; i < threads; i++) {
        struct adam_arrays share = share_of(arrays, i, threads);

        run_share(run, &numbers, &share);
    }
}

struct adam_numbers adam_numbers(const struct adam *adam, int64_t step, double factor)
{
    double c1 = 1, c2 = 1;

    if (adam->bias_correction) {
        c1 -= pow(adam->beta1, (double)step);
        c2 -= pow(adam->beta2, (double)step);
    }
    return (struct adam_numbers){
        .factor = (float)factor,
        .decay_in_grad = adam->decoupled ? 0 : (float)adam->weight_decay,
        .take1 = (float)(1 - adam->beta1),
        .take2 = (float)(1 - adam->beta2),
        .rate = (float)(adam->lr / c1),
        .root_factor = (float)(1 / sqrt(c2)),
        .eps = (float)adam->eps,
        .decay_of_param = adam->decoupled ? (float)(adam->lr * adam->weight_decay) : 0,
    };
}

struct adam_numbers adam_without_decay(const struct adam_numbers *numbers)
{
    struct adam_numbers without = *numbers;

    without.decay_in_grad = without.decay_of_param = 0;
    return without;
}

static int threads_for(size_t count)
{
#ifdef _OPENMP
    size_t most = (size_t)omp_get_max_threads();

    if (count / SHARE_MIN < most)
        most = count / SHARE_MIN;
    return most > 0 ? (int)most : 1;
#else
    (void)count;
    return 1;
#endif
}

/* Returns a thread's share. It is one contiguous piece, which CPUs prefetch best. */
static struct adam_arrays share_of(const struct adam_arrays *all, int thread, int threads)
{
    size_t piece = all->count / (size_t)threads + 1, from;

    piece = (piece + SHARE_ALIGN - 1) / SHARE_ALIGN * SHARE_ALIGN;
    from = piece * (size_t)thread;
    if (from > all->count)
        from = all->count;
    return adam_part(all, from, all->count - from < piece ? all->count - from : piece);
}

struct adam_arrays adam_part(const struct adam_arrays *all, size_t from, size_t count)
{
    struct adam_arrays part = *all;

    part.count = count;
    part.first += from;
    part.param += from;
    part.mean += from;
    part.square += from;
    part.grad = (const char *)all->grad + from * dtype_size(all->grad_type);
    if (all->copy != NULL)
        part.copy = (char *)all->copy + from * dtype_size(all->copy_type);
    return part;
}

/* The averages of parameters without gradients decay until they are denormal, and stay
 * denormal. Operations on denormal numbers take many times as long, so flush them to zero. */
static void run_share(adam_kernel *run, const struct adam_numbers *numbers,
                      const struct adam_arrays *share)
{
#if defined(__x86_64__)
    const unsigned flush = 0x8040; /* results (FTZ) and operands (DAZ) */
    unsigned       before = _mm_getcsr();

    _mm_setcsr(before | flush);
    run_parts(run, numbers, share);
    _mm_setcsr(before);
#elif defined(__aarch64__)
    const uint64_t flush = UINT64_C(1) << 24; /* FZ */
    uint64_t       before;

    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | flush) : "memory");
    run_parts(run, numbers, share);
    __asm__ volatile("msr fpcr, %0" : : "r"(before) : "memory");
#else
    run_parts(run, numbers, share);
#endif
}

/* The parts are few and long: some per layer. */
static void run_parts(adam_kernel *run, const struct adam_numbers *numbers,
                      const struct adam_arrays *share)
{
    const struct adam_numbers without = adam_without_decay(numbers);
    struct adam_arrays        part;
    size_t                    at;
    bool                      is_spared;

    for (at = 0; at < share->count; at += part.count) {
        part = adam_alike(share, at, &is_spared);
        run(is_spared ? &without : numbers, &part);
    }
}

struct adam_arrays adam_alike(const struct adam_arrays *all, size_t from, bool *is_spared)
{
    const struct partition_range *range = all->spared;
    const size_t                  number = all->first + from;
    int                           low = 0, high = all->spared_count, middle;
    size_t                        count = all->count - from, same;

    while (low < high) { /* the first range that ends behind it */
        middle = (low + high) / 2;
        if (range[middle].start + range[middle].count > number)
            high = middle;
        else
            low = middle + 1;
    }
    *is_spared = low < all->spared_count && range[low].start <= number;
    same = *is_spared                ? range[low].start + range[low].count - number
           : low < all->spared_count ? range[low].start - number
                                     : count;
    return adam_part(all, from, same < count ? same : count);
}

/* ---- kernels ---- */

const char *adam_kernel_name(void)
{
    return kernels[best_kernel()].name;
}

int adam_kernel_choose(const char *name)
{
    size_t i;

    for (i = 0; i < KERNELS; i++) {
        if (strcmp(kernels[i].name, name) != 0 || !kernels[i].is_usable())
            continue;
        chosen = i;
        return 0;
    }
    return -1;
}

static size_t best_kernel(void)
{
    if (chosen == KERNELS)
        for (chosen = 0; !kernels[chosen].is_usable(); chosen++)
            ;
    return chosen;
}

static bool always(void)
{
    return true;
}

#ifdef __x86_64__
/* Does not check for F16C: every CPU with AVX2 has it, and clang 14 cannot test for it. */
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f");
}
#endif
