/* test_zero_cuda.c - what zero computes on a GPU beside what it computes on CPUs
 *
 * Linked with tests/cuda_on_cpu in make check, and with CUDA itself in make check-gpu.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cuda_runtime.h>

#include "cuda/zero_cuda.h"
#include "unit/trainer/model/op_subjects.h"

#define COUNT 3001

static cudaStream_t        stream;
static struct zero_device *gpu;

static int open_gpu(void **state)
{
    struct error err;

    (void)state;
    if (cudaSetDevice(0) != cudaSuccess ||
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
        fputs("CUDA has no GPU\n", stderr);
        return -1;
    }
    gpu = zero_cuda_new(stream, &err);
    if (gpu == NULL)
        fprintf(stderr, "%s\n", err.text);
    return gpu != NULL ? 0 : -1;
}

static int close_gpu(void **state)
{
    struct error err = { "" };

    (void)state;
    if (gpu == NULL)
        return -1;
    if (gpu->check(gpu, &err) < 0)
        fprintf(stderr, "%s\n", err.text);
    gpu->free(gpu);
    return cudaStreamDestroy(stream) != cudaSuccess || err.text[0] != '\0';
}

static void *on_gpu(const void *host, size_t bytes)
{
    void *memory = NULL;

    assert_int_equal(cudaMalloc(&memory, bytes), cudaSuccess);
    gpu->write(gpu, memory, host, bytes);
    return memory;
}

static void assert_same(const void *memory, const void *want, size_t bytes)
{
    unsigned char *got = malloc(bytes);

    gpu->read(gpu, got, memory, bytes);
    assert_memory_equal(got, want, bytes);
    free(got);
}

static void fill(float *values, size_t count, double scale)
{
    static uint64_t random = 11;
    size_t          i;

    for (i = 0; i < count; i++)
        values[i] = (float)(scale * subject_number(&random));
}

static void narrow_all(enum dtype type, uint16_t *to, const float *from)
{
    zero_device_cpu.narrow(&zero_device_cpu, type, to, from, COUNT);
}

static void test_arithmetic(void **state)
{
    static const enum dtype types[] = { DTYPE_HALF, DTYPE_BFLOAT16 };
    float                   values[COUNT];
    uint16_t                x[COUNT], y[COUNT];
    void                   *a, *b, *wide;
    size_t                  i;

    (void)state;
    for (i = 0; i < 2; i++) {
        fill(values, COUNT, 3);
        narrow_all(types[i], y, values);
        fill(values, COUNT, 3);
        wide = on_gpu(values, sizeof values);
        a = on_gpu(y, sizeof y);
        narrow_all(types[i], x, values);
        gpu->narrow(gpu, types[i], a, wide, COUNT);
        assert_same(a, x, sizeof x);
        b = on_gpu(y, sizeof y);
        gpu->add(gpu, types[i], a, b, COUNT);
        zero_device_cpu.add(&zero_device_cpu, types[i], x, y, COUNT);
        assert_same(a, x, sizeof x);
        gpu->copy(gpu, b, a, sizeof x);
        assert_same(b, x, sizeof x);
        gpu->zero(gpu, b, sizeof x);
        memset(x, 0, sizeof x);
        assert_same(b, x, sizeof x);
        cudaFree(a);
        cudaFree(b);
        cudaFree(wide);
    }
}

static void test_wide_sums(void **state)
{
    static const enum dtype types[] = { DTYPE_HALF, DTYPE_BFLOAT16 };
    float                   values[COUNT], sum[COUNT];
    uint16_t                x[COUNT];
    void                   *a, *b;
    size_t                  i;
    int                     round;

    (void)state;
    for (i = 0; i < 2; i++) {
        fill(sum, COUNT, 3);
        b = on_gpu(sum, sizeof sum);
        for (round = 0; round < 3; round++) {
            fill(values, COUNT, 3);
            narrow_all(types[i], x, values);
            a = on_gpu(x, sizeof x);
            gpu->add_wide(gpu, types[i], b, a, COUNT, round == 0);
            zero_device_cpu.add_wide(&zero_device_cpu, types[i], sum, x, COUNT, round == 0);
            assert_same(b, sum, sizeof sum);
            cudaFree(a);
        }
        cudaFree(b);
    }
}

static void test_measure(void **state)
{
    float  values[COUNT];
    void  *memory;
    double want;

    (void)state;
    fill(values, COUNT, 1);
    want = zero_device_cpu.squares(&zero_device_cpu, DTYPE_FLOAT, values, COUNT);
    memory = on_gpu(values, sizeof values);
    assert_true(fabs(gpu->squares(gpu, DTYPE_FLOAT, memory, COUNT) - want) < 1e-9);
    assert_int_equal(gpu->last_bad(gpu, DTYPE_FLOAT, memory, COUNT), COUNT);
    values[77] = INFINITY;
    values[2900] = NAN;
    gpu->write(gpu, memory, values, sizeof values);
    assert_false(isfinite(gpu->squares(gpu, DTYPE_FLOAT, memory, COUNT)));
    assert_int_equal(gpu->last_bad(gpu, DTYPE_FLOAT, memory, COUNT), 2900);
    cudaFree(memory);
}

/* To the last bit. */
static void test_adam(void **state)
{
    static const struct adam  adams[] = { { 1e-3, 0.9, 0.999, 1e-8, 0.01, true, true },
                                          { 1e-2, 0.8, 0.99, 1e-6, 0.1, false, false } };
    static const enum dtype   types[] = { DTYPE_FLOAT, DTYPE_HALF, DTYPE_BFLOAT16 };
    static const struct partition_range spared[] = { { 0, 113 }, { 500, 1 }, { 1001, 777 } };
    static float              param[COUNT], mean[COUNT], square[COUNT], wide[COUNT];
    static uint16_t           narrow[COUNT], copy[COUNT];
    struct adam_arrays        cpu, there;
    size_t                    i, step;

    (void)state;
    for (i = 0; i < 10; i++) { /* the last four with sums in float */
        const enum dtype type = types[i < 6 ? i % 3 : 1 + i % 2];
        const enum dtype grad = i < 6 ? type : DTYPE_FLOAT;
        const bool       is_float = type == DTYPE_FLOAT;

        fill(param, COUNT, 1);
        memset(mean, 0, sizeof mean);
        memset(square, 0, sizeof square);
        cpu = (struct adam_arrays){ .count = COUNT, .param = param, .mean = mean,
                                    .square = square,
                                    .grad = grad == DTYPE_FLOAT ? (void *)wide : narrow,
                                    .grad_type = grad, .copy = is_float ? NULL : copy,
                                    .copy_type = type, .first = 100, .spared = spared,
                                    .spared_count = 3 };
        there = cpu;
        there.param = on_gpu(param, sizeof param);
        there.mean = on_gpu(mean, sizeof mean);
        there.square = on_gpu(square, sizeof square);
        there.copy = is_float ? NULL : on_gpu(copy, sizeof copy);
        for (step = 1; step <= 3; step++) {
            fill(wide, COUNT, 8);
            if (!is_float)
                narrow_all(type, narrow, wide);
            there.grad = on_gpu(cpu.grad, COUNT * dtype_size(grad));
            adam_step(&adams[i / 3 % 2], (int64_t)step, 0.25, &cpu);
            gpu->adam(gpu, &adams[i / 3 % 2], (int64_t)step, 0.25, &there);
            assert_same(there.param, param, sizeof param);
            assert_same(there.mean, mean, sizeof mean);
            assert_same(there.square, square, sizeof square);
            if (!is_float)
                assert_same(there.copy, copy, sizeof copy);
            cudaFree((void *)there.grad);
        }
        cudaFree(there.param);
        cudaFree(there.mean);
        cudaFree(there.square);
        cudaFree(there.copy);
    }
}

/* What is stored is there for what is computed next; what was computed is what is fetched. */
static void test_ways(void **state)
{
    const size_t bytes = COUNT * sizeof(float);
    struct error err = { "" };
    float       *to = gpu->pinned(gpu, bytes, &err), *from = gpu->pinned(gpu, bytes, &err);
    float        sum[COUNT];
    void        *a, *b;
    size_t       i, round;

    (void)state;
    assert_true(to != NULL && from != NULL);
    fill(sum, COUNT, 1);
    a = on_gpu(sum, bytes);
    b = on_gpu(sum, bytes);
    for (round = 0; round < 20; round++) {
        const int lane = (int)(round % ZERO_LANES);

        fill(from, COUNT, 1);
        gpu->store(gpu, lane, b, from, bytes);
        gpu->add(gpu, DTYPE_FLOAT, a, b, COUNT);
        for (i = 0; i < COUNT; i++)
            sum[i] += from[i];
        gpu->stored(gpu, lane);
        assert_same(a, sum, bytes);
        gpu->fetch(gpu, lane, to, a, bytes);
        gpu->fetched(gpu, lane);
        assert_memory_equal(to, sum, bytes);
    }
    gpu->unpin(gpu, to);
    gpu->unpin(gpu, from);
    cudaFree(a);
    cudaFree(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_wide_sums),
        cmocka_unit_test(test_measure),
        cmocka_unit_test(test_adam),
        cmocka_unit_test(test_ways),
    };

    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
