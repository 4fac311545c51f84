/* adam.c - how near a step of Adam comes to the speed of this machine's memory
 *
 *     bench/adam [MILLIONS [ROUNDS]]        50 million parameters, 20 rounds
 *
 * Beside it in the same rounds: triad (a = b + s * c, with and without streaming
 * stores; the faster one counts), the same step as three passes one after the other
 * (unscale, step, round to 16 bits), and torch's AdamW where PYTHON (python3) has
 * torch. The best round counts, since other work on the machine only ever adds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "clock.h"
#include "xalloc.h"
#include "zero/adam.h"

struct bench {
    size_t    count;
    float    *param, *mean, *square, *grad;
    uint16_t *grad16, *copy;
};

struct way {
    const char *name;
    double      bytes; /* moved for each element */
    void      (*run)(struct bench *bench);
    bool        is_triad;
    double      best_s[2]; /* one thread, all threads */
};

static void   bench_open(struct bench *bench, size_t count);
static void   run_all(struct bench *bench, int rounds);
static void   print_all(const struct bench *bench);
static void   run_torch(size_t count, int rounds);
static void   triad(struct bench *bench);
static void   triad_streaming(struct bench *bench);
static void   step_float(struct bench *bench);
static void   step_bfloat16(struct bench *bench);
static void   step_half(struct bench *bench);
static void   three_passes(struct bench *bench);
static void   step(struct bench *bench, double factor, const void *grad, enum dtype grad_type,
                   void *copy, enum dtype copy_type);

static struct way ways[] = {
    { "triad", 12, triad, true, { 0 } },
    { "triad, streaming stores", 12, triad_streaming, true, { 0 } },
    { "Adam, float gradients, no copy", 28, step_float, false, { 0 } },
    { "Adam, bfloat16 gradients and copy", 28, step_bfloat16, false, { 0 } },
    { "Adam, half gradients and copy", 28, step_half, false, { 0 } },
    { "unscale, Adam, copy: three passes", 28 + 8 + 6, three_passes, false, { 0 } },
};
#define WAYS (sizeof ways / sizeof ways[0])

int main(int argc, char **argv)
{
    size_t       millions = argc > 1 ? strtoul(argv[1], NULL, 10) : 50;
    int          rounds = argc > 2 ? atoi(argv[2]) : 20;
    struct bench bench;

    if (millions < 1 || millions > 10000 || rounds < 1) {
        fputs("usage: adam [MILLIONS [ROUNDS]]\n", stderr);
        return 2;
    }
    bench_open(&bench, millions * 1000000);
    run_all(&bench, rounds);
    print_all(&bench);
    run_torch(bench.count, rounds);
    return 0;
}

/* The threads that use a page are the first to touch it. */
static void bench_open(struct bench *bench, size_t count)
{
    size_t i;

    bench->count = count;
    bench->param = xreallocarray(NULL, count, sizeof(float));
    bench->mean = xreallocarray(NULL, count, sizeof(float));
    bench->square = xreallocarray(NULL, count, sizeof(float));
    bench->grad = xreallocarray(NULL, count, sizeof(float));
    bench->grad16 = xreallocarray(NULL, count, sizeof(uint16_t));
    bench->copy = xreallocarray(NULL, count, sizeof(uint16_t));
#pragma omp parallel for schedule(static)
    for (i = 0; i < count; i++) {
        bench->param[i] = 0.02f;
        bench->mean[i] = bench->grad[i] = 1e-3f;
        bench->square[i] = 1e-6f;
        bench->grad16[i] = float_to_bfloat16(1e-3f);
        bench->copy[i] = 0;
    }
}

static void run_all(struct bench *bench, int rounds)
{
    const int all = omp_get_max_threads();
    int64_t   start;
    double    seconds;
    int       round, many;
    size_t    i;

    for (round = 0; round < rounds; round++) {
        for (many = 0; many < 2; many++) {
            omp_set_num_threads(many ? all : 1);
            for (i = 0; i < WAYS; i++) {
                start = clock_now_ns();
                ways[i].run(bench);
                seconds = (double)(clock_now_ns() - start) / NS_PER_S;
                if (round == 0 || seconds < ways[i].best_s[many])
                    ways[i].best_s[many] = seconds;
            }
        }
    }
    omp_set_num_threads(all);
}

static double speed(const struct bench *bench, const struct way *way, int many)
{
    return (double)bench->count * way->bytes / way->best_s[many] * 1e-9;
}

static void print_all(const struct bench *bench)
{
    double triad_best[2] = { 0, 0 };
    size_t i;
    int    many;

    for (many = 0; many < 2; many++)
        for (i = 0; i < WAYS; i++)
            if (ways[i].is_triad && speed(bench, &ways[i], many) > triad_best[many])
                triad_best[many] = speed(bench, &ways[i], many);
    printf("%zu million parameters, kernel %s\n", bench->count / 1000000, adam_kernel_name());
    printf("%-36s  one thread             %d threads\n", "", omp_get_max_threads());
    printf("%-36s  %7s %6s %6s  %7s %6s %6s\n", "", "seconds", "GB/s", "/triad", "seconds",
           "GB/s", "/triad");
    for (i = 0; i < WAYS; i++) {
        printf("%-36s", ways[i].name);
        for (many = 0; many < 2; many++)
            printf("  %7.4f %6.1f %6.2f", ways[i].best_s[many], speed(bench, &ways[i], many),
                   speed(bench, &ways[i], many) / triad_best[many]);
        putchar('\n');
    }
    fflush(stdout);
}

/* Fused and foreach where this torch has them; the best is printed. */
static void run_torch(size_t count, int rounds)
{
    static const char program[] =
        "import sys, time\n"
        "try:\n"
        "    import torch\n"
        "except ImportError:\n"
        "    print('torch is not there'); sys.exit()\n"
        "count, rounds, threads = map(int, sys.argv[1:])\n"
        "for label, kind in (('fused', {'fused': True}), ('foreach', {'foreach': True}),\n"
        "                    ('plain', {'foreach': False})):\n"
        "    best = {}\n"
        "    try:\n"
        "        p = torch.full((count,), 0.02, requires_grad=True)\n"
        "        p.grad = torch.full((count,), 1e-3)\n"
        "        adam = torch.optim.AdamW([p], lr=1e-6, weight_decay=0.01, **kind)\n"
        "        for n in sorted({1, threads}):\n"
        "            torch.set_num_threads(n)\n"
        "            for i in range(rounds):\n"
        "                start = time.perf_counter(); adam.step()\n"
        "                best[n] = min(best.get(n, 1e9), time.perf_counter() - start)\n"
        "        print('torch %s AdamW, %s:' % (torch.__version__, label),\n"
        "              ', '.join('%.4f s on %d' % (best[n], n) for n in best))\n"
        "    except (RuntimeError, TypeError) as why:\n"
        "        print('torch %s has no %s AdamW for CPUs' % (torch.__version__, label))\n";
    const char *python = getenv("PYTHON");
    char       *command;

    command = xasprintf("%s -c \"%s\" %zu %d %d", python != NULL ? python : "python3", program,
                        count, rounds, omp_get_max_threads());
    if (system(command) != 0)
        puts("torch was not measured");
    free(command);
}

static void triad(struct bench *bench)
{
    float *restrict a = bench->param;
    const float *restrict b = bench->mean, *restrict c = bench->square;
    size_t i;

#pragma omp parallel for schedule(static)
    for (i = 0; i < bench->count; i++)
        a[i] = b[i] + 3.0f * c[i];
}

static void triad_streaming(struct bench *bench)
{
#ifdef __x86_64__
    size_t i;

#pragma omp parallel for schedule(static)
    for (i = 0; i < bench->count / 4 * 4; i += 4)
        _mm_stream_ps(bench->param + i,
                      _mm_add_ps(_mm_load_ps(bench->mean + i),
                                 _mm_mul_ps(_mm_set1_ps(3), _mm_load_ps(bench->square + i))));
#else
    triad(bench);
#endif
}

static void step_float(struct bench *bench)
{
    step(bench, 0.5, bench->grad, DTYPE_FLOAT, NULL, DTYPE_FLOAT);
}

static void step_bfloat16(struct bench *bench)
{
    step(bench, 0.5, bench->grad16, DTYPE_BFLOAT16, bench->copy, DTYPE_BFLOAT16);
}

static void step_half(struct bench *bench)
{
    step(bench, 0.5, bench->grad16, DTYPE_HALF, bench->copy, DTYPE_HALF);
}

/* float_to_bfloat16() without its care for NaN, so that a call is no excuse for it. */
static void three_passes(struct bench *bench)
{
    uint32_t bits;
    size_t   i;

#pragma omp parallel for schedule(static)
    for (i = 0; i < bench->count; i++)
        bench->grad[i] *= 0.9999f;
    step(bench, 1, bench->grad, DTYPE_FLOAT, NULL, DTYPE_FLOAT);
#pragma omp parallel for schedule(static) private(bits)
    for (i = 0; i < bench->count; i++) {
        memcpy(&bits, bench->param + i, sizeof bits);
        bench->copy[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
}

static void step(struct bench *bench, double factor, const void *grad, enum dtype grad_type,
                 void *copy, enum dtype copy_type)
{
    const struct adam adam = { .lr = 1e-6, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8,
                               .weight_decay = 0.01, .decoupled = true,
                               .bias_correction = true };
    const struct adam_arrays arrays = {
        .count = bench->count, .param = bench->param, .mean = bench->mean,
        .square = bench->square, .grad = grad, .grad_type = grad_type, .copy = copy,
        .copy_type = copy_type,
    };

    adam_step(&adam, 1000, factor, &arrays);
}
