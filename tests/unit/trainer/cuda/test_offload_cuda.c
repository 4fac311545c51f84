/* test_offload_cuda.c - parameters and states elsewhere train to the bits of the CPU, in less
 * memory of the GPU
 *
 * Linked with tests/cuda_on_cpu in make check, and with CUDA itself in make check-gpu.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <cuda_runtime.h>

#include "comm/alone.h"
#include "cuda/zero_cuda.h"
#include "unit/trainer/zero/frozen_passes.h"
#include "xalloc.h"
#include "zero/zero.h"

#define LAYERS 9
#define COUNT  3072 /* elements of each; the last one is the first's, too */
#define STEPS  3

/* What cudaMalloc makes of one byte. */
#ifdef CUDA_ON_CPU_RUNTIME_H
#define GRAIN 256
#else
#define GRAIN (2 << 20)
#endif

static char                dir[] = "/tmp/test_offload_cuda.XXXXXX";
static struct comm        *gpu_comm;
static struct zero_device *gpu;
static size_t              counts[LAYERS];

static const struct adam adam = { 1e-2, 0.9, 0.999, 1e-8, 0.01, true, true };

static int open_gpu(void **state)
{
    static const char *const labels[] = { "rank 0" };
    static struct pmi        pmi;
    struct comm_device       found;
    struct comm_world        world = { .pmi = &pmi, .size = 1, .label = labels, .timeout_s = 60 };
    struct error             err = { "" };
    bool                     timed_out;
    void                    *stream;
    int                      i;

    (void)state;
    for (i = 0; i < LAYERS; i++)
        counts[i] = COUNT;
    comm_nccl_backend.probe(0, &found);
    if (pmi_init(&pmi, 60, &err) == 0)
        gpu_comm = comm_nccl_backend.open(&world, &found, &timed_out, &err);
    stream = gpu_comm != NULL ? gpu_comm->ops->compute_stream(gpu_comm, &err) : NULL;
    gpu = stream != NULL ? zero_cuda_new(stream, &err) : NULL;
    if (gpu == NULL || mkdtemp(dir) == NULL)
        fprintf(stderr, "%s %s\n", found.why_not, err.text);
    return gpu != NULL ? 0 : -1;
}

static int close_gpu(void **state)
{
    struct error err = { "" };

    (void)state;
    if (gpu == NULL)
        return -1;
    gpu->free(gpu);
    return gpu_comm->ops->close(gpu_comm, &err) < 0 || rmdir(dir) < 0; /* it is empty */
}

static void must(int rc, const struct error *err)
{
    if (rc < 0)
        fail_msg("%s", err->text);
}

static void fill(struct zero *zero)
{
    struct error       err;
    int                count, i;
    struct zero_piece *pieces = zero_pieces(zero, false, &count, &err);
    size_t             at;

    if (pieces == NULL)
        fail_msg("%s", err.text);
    for (i = 0; i < count; i++) {
        must(zero_piece_take(&pieces[i], &err), &err);
        for (at = 0; at < pieces[i].count; at++)
            pieces[i].param[at] = (float)((pieces[i].start + at) * 7919 % 257) / 128 - 1;
        zero_piece_give(&pieces[i], true);
    }
    free(pieces);
    must(zero_publish(zero, &err), &err);
}

static float *take_out(struct zero *zero)
{
    struct error       err;
    int                count, i;
    struct zero_piece *pieces = zero_pieces(zero, false, &count, &err);
    const size_t       all = (size_t)LAYERS * COUNT;
    float             *values = xcalloc(3 * all, sizeof *values);

    if (pieces == NULL)
        fail_msg("%s", err.text);
    for (i = 0; i < count; i++) {
        const size_t start = pieces[i].start, bytes = pieces[i].count * sizeof *values;

        must(zero_piece_take(&pieces[i], &err), &err);
        memcpy(values + start, pieces[i].param, bytes);
        memcpy(values + all + start, pieces[i].mean, bytes);
        memcpy(values + 2 * all + start, pieces[i].square, bytes);
        zero_piece_give(&pieces[i], false);
    }
    free(pieces);
    return values;
}

/* A parameter is its own gradient; the last layer's also goes through the first, in one pass only:
 * sums are the same then, in any order. */
static void pass(struct zero *zero, const struct zero_options *options, bool is_first)
{
    struct zero_device *device = options->device != NULL ? options->device : &zero_device_cpu;
    void               *params, *grads, *tied, *tied_grads;
    struct error        err;
    int                 layer;

    zero_begin(zero, is_first, !is_first);
    for (layer = 0; layer < LAYERS; layer++) {
        must(zero_enter(zero, layer, false, &params, NULL, &err), &err);
        zero_leave(zero, layer);
    }
    for (layer = LAYERS - 1; layer >= 0; layer--) {
        must(zero_enter(zero, layer, true, &params, &grads, &err), &err);
        if (layer == LAYERS - 1) {
            must(zero_enter(zero, 0, true, &tied, &tied_grads, &err), &err);
            if (is_first)
                device->add(device, options->type, tied_grads, tied, COUNT);
            zero_leave(zero, 0);
        }
        device->add(device, options->type, grads, params, COUNT);
        zero_leave(zero, layer);
        must(zero_done(zero, layer, &err), &err);
    }
}

static float *train(struct comm *comm, const struct zero_options *options)
{
    struct error       err = { "" };
    struct zero       *zero = zero_open(comm, options, counts, LAYERS, &err);
    struct zero_result result;
    float             *values;
    int                step;

    if (zero == NULL)
        fail_msg("%s", err.text);
    fill(zero);
    for (step = 0; step < STEPS; step++) {
        pass(zero, options, true);
        pass(zero, options, false);
        must(zero_step(zero, &adam, 1, &result, &err), &err);
    }
    values = take_out(zero);
    zero_close(zero);
    return values;
}

static size_t used_now(void)
{
    size_t left, all;

    assert_int_equal(cudaMemGetInfo(&left, &all), cudaSuccess);
    return all - left;
}

/* What is on the GPU is what is said, no less and hardly more. */
static void check_memory(const struct zero_options *options)
{
    const struct zero_memory memory = zero_memory_needed(options, counts, LAYERS, 1);
    const size_t             before = used_now();
    struct error             err = { "" };
    struct zero             *zero = zero_open(gpu_comm, options, counts, LAYERS, &err);
    const size_t             used = used_now() - before;
    size_t                   said = memory.rooms, layers = 2;

    if (zero == NULL)
        fail_msg("%s", err.text);
    if (memory.params_place == ZERO_THERE)
        said += memory.params;
    if (memory.grads_place == ZERO_THERE)
        said += memory.grads;
    if (memory.states_place == ZERO_THERE)
        said += memory.states;
    assert_in_range(used, said, said + (size_t)8 * GRAIN);
    if (memory.grads_place != ZERO_THERE || options->sums_in_float)
        layers += 2; /* two layers' gradients */
    if (memory.params_place != ZERO_THERE)
        assert_int_equal(memory.rooms, layers * COUNT * dtype_size(options->type));
    zero_close(zero);
    assert_int_equal(used_now(), before);
}

static void test_places(void **state)
{
    static const enum dtype types[] = { DTYPE_FLOAT, DTYPE_BFLOAT16, DTYPE_BFLOAT16 };
    static const struct partition_range spared[] = { { 7, 900 }, { COUNT - 1, 2 },
                                                     { 4 * COUNT, 2 * COUNT } };
    struct zero_options     options = { .stage = 3, .io_block = 4096, .io_depth = 2,
                                        .spared = spared, .spared_count = 3 };
    struct comm            *alone = comm_alone(60);
    struct error            err;
    float                  *want, *got;
    int                     i, params, states;

    (void)state;
    for (i = 0; i < 3; i++) {
        options.type = types[i];
        options.sums_in_float = i == 2;
        options.params = options.states = (struct zero_offload){ .place = ZERO_THERE };
        options.device = NULL;
        want = train(alone, &options);
        options.device = gpu;
        for (params = ZERO_THERE; params <= ZERO_FILE; params++)
            for (states = ZERO_THERE; states <= ZERO_FILE; states++) {
                options.stage = params == ZERO_THERE ? 1 + (i + states) % 2 : 3;
                options.bucket_max = 2 * COUNT; /* below stage 3 */
                options.params = (struct zero_offload){ params, false, dir, 1 + states };
                options.states = (struct zero_offload){ states, i > 0, dir, 1 + params };
                check_memory(&options);
                got = train(gpu_comm, &options);
                if (memcmp(got, want, (size_t)3 * LAYERS * COUNT * sizeof *got) != 0)
                    fail_msg("%s, places %d and %d: other numbers", dtype_name(options.type),
                             params, states);
                free(got);
            }
        free(want);
    }
    assert_int_equal(alone->ops->close(alone, &err), 0);
}

/* Frozen parameters, wherever they are. */
static void test_frozen(void **state)
{
    struct zero_options options = { .device = gpu, .io_block = 4096, .io_depth = 2 };
    const char         *wrong;
    int                 i;

    (void)state;
    for (i = 0; i < 4; i++) {
        options.stage = i == 0 ? 2 : 3;
        options.params = (struct zero_offload){ i == 0 ? ZERO_THERE : (enum zero_place)(i - 1),
                                                false, dir, 2 };
        if ((wrong = frozen_passes(gpu_comm, options)) != NULL)
            fail_msg("stage %d, place %d: %s", options.stage, options.params.place, wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_frozen),
    };

    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
