/* test_cuda_on_cpu.cc - what the stand-in for CUDA is there for: it finds mistakes
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include <cmocka.h>
}

#include <cuda_runtime.h>

#define COUNT 64 /* a whole page's alignment: nothing is behind it */

static cudaStream_t stream, other;

static int open_streams(void **state)
{
    (void)state;
    return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess ||
           cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) != cudaSuccess;
}

static float *new_floats()
{
    void *memory;

    assert_int_equal(cudaMalloc(&memory, COUNT * sizeof(float)), cudaSuccess);
    return (float *)memory;
}

template <typename... P, typename... A>
static cudaError_t launch(unsigned threads, size_t shared, void (*kernel)(P...), A... args)
{
    cudaLaunchConfig_t config = {};

    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, args...);
}

/* ---- mistakes ---- */

static void host_writes()
{
    new_floats()[0] = 1;
}

static void write_kernel(float *x, size_t i)
{
    if (threadIdx.x == 0)
        x[i] = 1;
}

static void kernel_writes_beyond()
{
    launch(32, 0, write_kernel, new_floats(), (size_t)COUNT);
    cudaStreamSynchronize(stream);
}

static void shared_kernel()
{
    extern float shared_floats[];

    shared_floats[threadIdx.x] = 0;
}

static void kernel_writes_beyond_shared()
{
    launch(64, 63 * sizeof(float), shared_kernel);
    cudaStreamSynchronize(stream);
}

static void leaving_kernel()
{
    if (threadIdx.x > 0)
        __syncthreads();
}

static void thread_leaves_before_a_barrier()
{
    launch(32, 0, leaving_kernel);
    cudaStreamSynchronize(stream);
}

static void copies_too_much()
{
    float host[COUNT + 1] = {};

    cudaMemcpyAsync(new_floats(), host, sizeof host, cudaMemcpyHostToDevice, stream);
}

static void frees_twice()
{
    float *x = new_floats();

    cudaFree(x);
    cudaFree(x);
}

static void uses_no_stream()
{
    cudaMemsetAsync(new_floats(), 0, 4, NULL);
}

static void test_mistakes(void **state)
{
    static void (*const mistakes[])() = {
        host_writes, kernel_writes_beyond, kernel_writes_beyond_shared,
        thread_leaves_before_a_barrier, copies_too_much, frees_twice, uses_no_stream,
    };
    size_t i;
    pid_t  child;
    int    status;

    (void)state;
    for (i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        child = fork();
        if (child == 0) {
            signal(SIGSEGV, SIG_DFL); /* cmocka's, and ASan's, would tell at length */
            signal(SIGABRT, SIG_DFL);
            if (freopen("/dev/null", "w", stderr) != NULL)
                mistakes[i]();
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status))
            fail_msg("mistake %zu is not found", i);
    }
}

/* ---- what is no mistake, but depends on the order ---- */

/* Each thread takes its neighbour's number, without a barrier and with one. */
static void shift_kernel(bool is_sound, float *x)
{
    extern float shared_floats[];

    shared_floats[threadIdx.x] = (float)threadIdx.x;
    if (is_sound)
        __syncthreads();
    x[threadIdx.x] = shared_floats[(threadIdx.x + 1) % COUNT];
}

static bool is_shifted(bool is_sound)
{
    float *x = new_floats(), host[COUNT];
    bool   ok = true;
    int    i;

    assert_int_equal(launch(COUNT, COUNT * sizeof(float), shift_kernel, is_sound, x),
                     cudaSuccess);
    cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, stream);
    for (i = 0; i < COUNT; i++)
        ok = ok && host[i] == (float)((i + 1) % COUNT);
    cudaFree(x);
    return ok;
}

static void test_threads(void **state)
{
    (void)state;
    assert_true(is_shifted(true));
    assert_false(is_shifted(false));
}

/* A stream writes what another one reads, with an event between them or without. */
static int ordered(bool has_event, int times)
{
    float      *x = new_floats(), *pinned;
    cudaEvent_t event;
    int         count = 0, i;

    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaMallocHost((void **)&pinned, sizeof *pinned);
    for (i = 0; i < times; i++) {
        cudaMemsetAsync(x, 0, sizeof *x, stream);
        cudaStreamSynchronize(stream);
        launch(32, 0, write_kernel, x, (size_t)0);
        cudaEventRecord(event, stream);
        if (has_event)
            cudaStreamWaitEvent(other, event, 0);
        cudaMemcpyAsync(pinned, x, sizeof *pinned, cudaMemcpyDeviceToHost, other);
        cudaStreamSynchronize(other);
        count += *pinned == 1;
        cudaStreamSynchronize(stream);
    }
    cudaEventDestroy(event);
    cudaFreeHost(pinned);
    cudaFree(x);
    return count;
}

static void test_streams(void **state)
{
    (void)state;
    assert_int_equal(ordered(true, 50), 50);
    assert_in_range(ordered(false, 50), 1, 49);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_streams),
    };

    return cmocka_run_group_tests(tests, open_streams, NULL);
}
