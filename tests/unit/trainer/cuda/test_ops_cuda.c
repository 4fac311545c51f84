/* test_ops_cuda.c - the operations on a GPU beside those on CPUs
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

#include "cuda/ops_cuda.h"
#include "model/lora.h"
#include "model/model.h"
#include "model/model_fill.h"
#include "unit/trainer/cuda/wide_subjects.h"
#include "unit/trainer/model/model_fixture.h"
#include "unit/trainer/model/op_subjects.h"
#include "xalloc.h"

static cudaStream_t stream;

static struct ops *new_ops(enum dtype type)
{
    struct error err;
    struct ops  *ops = ops_cuda_new(type, stream, &err);

    if (ops == NULL)
        fail_msg("%s", err.text);
    return ops;
}

static int open_stream(void **state)
{
    (void)state;
    return cudaSetDevice(0) != cudaSuccess ||
           cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
}

static int close_stream(void **state)
{
    (void)state;
    return cudaStreamDestroy(stream) != cudaSuccess;
}

/* ---- operations ---- */

static void test_operations(void **state)
{
    static const struct {
        enum dtype type;
        double     tolerance;
    } cases[] = { { DTYPE_FLOAT, 5e-6 }, { DTYPE_BFLOAT16, 2e-2 }, { DTYPE_HALF, 4e-3 } };
    struct ops *ops;
    size_t      i;

    (void)state;
    for (i = 0; i < 3; i++) {
        ops = new_ops(cases[i].type);
        subjects_compare(ops, cases[i].tolerance);
        wide_subjects_compare(ops, cases[i].tolerance);
        ops->free(ops);
    }
}

/* A GPU without tensor cores; a real one repeats what it did. */
static void test_older(void **state)
{
    struct ops *ops;

    (void)state;
    assert_int_equal(setenv("CUDA_ON_CPU_ARCH", "75", 1), 0);
    ops = new_ops(DTYPE_HALF);
    assert_int_equal(unsetenv("CUDA_ON_CPU_ARCH"), 0);
    subjects_compare(ops, 4e-3);
    wide_subjects_compare(ops, 4e-3);
    ops->free(ops);
}

static void test_products(void **state)
{
    struct ops *ops = new_ops(DTYPE_FLOAT);

    (void)state;
    products_compare(ops);
    ops->free(ops);
}

/* Rows that begin at no address of a pack, with more columns than the packs of a block's threads.
 * What is no number shows wherever it is, and minus infinity does not matter. */
static void test_cross_entropy(void **state)
{
    enum { CLASSES = 1301, ROWS = 3 };
    static const int32_t targets[ROWS] = { 0, 1300, 3 };
    static const float   bad[] = { NAN, INFINITY };
    static float         logits[ROWS * CLASSES], want[ROWS * CLASSES];
    struct ops          *ops = new_ops(DTYPE_FLOAT), *cpu = subject_ops(DTYPE_FLOAT);
    float                stats[ROWS];
    void                *x = ops->alloc(ops, sizeof logits), *kept = ops->alloc(ops, sizeof stats);
    double               loss;
    size_t               i;
    uint64_t             random = 5;

    (void)state;
    for (i = 0; i < ROWS * CLASSES; i++)
        want[i] = logits[i] = i % 500 >= 400 && i % 500 < 412
                                  ? -INFINITY
                                  : (float)(4 * subject_number(&random));
    loss = cpu->cross_entropy(cpu, stats, want, targets, ROWS, CLASSES);
    cpu->cross_entropy_backward(cpu, want, stats, targets, 0.5, ROWS, CLASSES);
    ops->write(ops, x, logits, sizeof logits);
    assert_true(fabs(ops->cross_entropy(ops, kept, x, targets, ROWS, CLASSES) - loss) < 1e-5);
    ops->cross_entropy_backward(ops, x, kept, targets, 0.5, ROWS, CLASSES);
    ops->read(ops, logits, x, sizeof logits);
    for (i = 0; i < ROWS * CLASSES; i++)
        assert_true(fabs((double)(logits[i] - want[i])) < 1e-6);
    for (i = 0; i < 2 * 7; i++) {
        memset(logits, 0, sizeof logits);
        logits[1 + i / 2 * 1300 / 6] = bad[i % 2];
        ops->write(ops, x, logits, sizeof logits);
        assert_false(isfinite(ops->cross_entropy(ops, kept, (float *)x + 1, targets, 1, CLASSES)));
    }
    subject_fine(ops);
    ops->release(ops, x);
    ops->release(ops, kept);
    ops->free(ops);
    cpu->free(cpu);
}

/* The host may be far ahead, and change its numbers as soon as a call has returned. */
static void test_numbers(void **state)
{
    enum { TIMES = 40 };
    struct ops *ops = new_ops(DTYPE_FLOAT);
    float       values[TIMES], got[TIMES];
    void       *x = ops->alloc(ops, sizeof values), *out = ops->alloc(ops, sizeof got);
    int32_t     index;
    int         i;

    (void)state;
    for (i = 0; i < TIMES; i++)
        values[i] = (float)i;
    ops->write(ops, x, values, sizeof values);
    for (i = 0; i < TIMES; i++) {
        index = TIMES - 1 - i;
        ops->gather(ops, (float *)out + i, x, &index, 1, 1);
        index = 0;
    }
    ops->read(ops, got, out, sizeof got);
    for (i = 0; i < TIMES; i++)
        assert_true(got[i] == values[TIMES - 1 - i]);
    subject_fine(ops);
    ops->release(ops, x);
    ops->release(ops, out);
    ops->free(ops);
}

/* What cannot be is told, and nothing is computed after it. */
static void test_refused(void **state)
{
    static const struct attention wide = { .sequences = 1, .length = 2, .heads = 1,
                                           .head_width = 257 };
    struct ops  *ops = new_ops(DTYPE_FLOAT);
    struct error err = { "" };

    (void)state;
    assert_null(ops_cuda_new(DTYPE_DOUBLE, stream, &err));
    assert_string_equal(err.text, "models cannot compute in double on GPUs");
    ops->attention(ops, &wide, NULL, NULL, NULL);
    assert_int_equal(ops->check(ops, &err), -1);
    assert_string_equal(err.text,
                        "heads of 257 columns: attention on GPUs supports at most 256");
    ops->add(ops, NULL, NULL, NULL, 1);
    ops->free(ops);
    ops = new_ops(DTYPE_FLOAT);
    assert_null(ops->alloc(ops, (size_t)1 << 50));
    assert_int_equal(ops->check(ops, &err), -1);
    assert_non_null(strstr(err.text, "out of GPU memory"));
    ops->free(ops);
}

/* ---- models ---- */

struct outcome {
    struct model *model;
    double        loss;
    double       *grads; /* of the flat array */
};

static int read_frozen(void *arg, const struct model_param *param, size_t first, size_t count,
                       float *values, struct error *err)
{
    (void)arg;
    (void)err;
    model_initial_param(param, 1, first, count, values);
    return 0;
}

/* Returns the frozen parameters in memory of ops. */
static void *fill_frozen(struct model *model)
{
    const struct value_source source = { .read = read_frozen };
    void                     *memory = model->ops->alloc(model->ops, model->frozen_bytes);
    void                     *host = xmalloc(model->frozen_bytes + 1);
    struct error              err = { "" };

    if (model_fill_frozen(model, &source, 0, model->frozen_bytes, host, &err) < 0)
        fail_msg("%s", err.text);
    model->ops->write(model->ops, memory, host, model->frozen_bytes);
    free(host);
    return memory;
}

/* Two passes, whose gradients are added. tuning may be NULL. */
static struct outcome run_model(struct ops *ops, const struct model_config *config,
                                const struct model_tuning *tuning, bool recomputes, bool parks)
{
    struct error   err = { "" };
    struct outcome o = { .model = model_new_tuned(config, tuning, ops, &err) };
    const size_t   count = o.model->count, bytes = count * dtype_size(ops->type);
    float         *values = xcalloc(count, sizeof *values);
    uint16_t      *narrow = xcalloc(count, sizeof *narrow);
    void          *params = ops->alloc(ops, bytes), *grads = ops->alloc(ops, bytes);
    void          *frozen = fill_frozen(o.model);
    int            pass;
    size_t         i;

    model_initial_values(o.model, 1, 0, count, values);
    for (i = 0; i < count; i++) {
        if (model_param_at(o.model, i) != NULL)
            values[i] += 0.01f * (float)(i % 7);
        narrow[i] = float_to_bfloat16(values[i]);
    }
    ops->write(ops, params, ops->type == DTYPE_FLOAT ? (void *)values : narrow, bytes);
    ops->zero(ops, grads, bytes);
    model_use_arrays(o.model, params, grads);
    model_use_frozen(o.model, frozen);
    o.model->drops = true;
    o.model->recomputes = recomputes;
    o.model->parks = parks;
    for (pass = 0; pass < 2; pass++)
        if (model_forward(o.model, &tiny_batch, &err) < 0 ||
            model_backward(o.model, 1, &o.loss, &err) < 0)
            fail_msg("%s", err.text);
    ops->read(ops, ops->type == DTYPE_FLOAT ? (void *)values : narrow, grads, bytes);
    o.grads = xcalloc(count, sizeof *o.grads);
    for (i = 0; i < count; i++)
        o.grads[i] = (double)(ops->type == DTYPE_FLOAT ? values[i] : bfloat16_to_float(narrow[i]));
    ops->release(ops, params);
    ops->release(ops, grads);
    ops->release(ops, frozen);
    free(values);
    free(narrow);
    return o;
}

/* Of each layer: how far its gradient is from the CPU's, in parts of its own length. */
static void compare_layers(enum dtype type, const struct model_config *config,
                           const struct model_tuning *tuning, double tolerance)
{
    struct ops    *ops = new_ops(type), *cpu = subject_ops(type);
    struct outcome got = run_model(ops, config, tuning, false, false);
    struct outcome want = run_model(cpu, config, tuning, false, false);
    double         length, far, d;
    size_t         i;
    int            layer;

    assert_true(fabs(got.loss - want.loss) <= tolerance * want.loss);
    for (layer = 0; layer < want.model->layers; layer++) {
        const struct model_layer *l = &want.model->layer[layer];

        for (length = far = 0, i = l->offset; i < l->offset + l->count; i++) {
            d = got.grads[i] - want.grads[i];
            far += d * d;
            length += want.grads[i] * want.grads[i];
        }
        if (!(sqrt(far) <= tolerance * sqrt(length)))
            fail_msg("%s, %s: %g away", dtype_name(type), l->name, sqrt(far / length));
    }
    free(got.grads);
    free(want.grads);
    model_free(got.model);
    model_free(want.model);
    ops->free(ops);
    cpu->free(cpu);
}

static void test_layers(void **state)
{
    struct model_config config;
    size_t              m;

    (void)state;
    for (m = 0; m < TINY; m++) {
        config = tiny[m];
        config.deviation = 0.1; /* larger weights amplify what 16 bits round off */
        compare_layers(DTYPE_FLOAT, &config, NULL, 1e-5);
        compare_layers(DTYPE_BFLOAT16, &config, NULL, 0.05);
        config.embedding_dropout = config.attention_dropout = config.hidden_dropout = 0.2;
        compare_layers(DTYPE_FLOAT, &config, NULL, 1e-5);
    }
}

/* Inputs of blocks that were on the host are those that stayed. */
static void test_parked(void **state)
{
    struct ops         *ops = new_ops(DTYPE_BFLOAT16);
    struct model_config config;
    struct outcome      kept, parked;
    size_t              m;

    (void)state;
    for (m = 0; m < TINY; m++) {
        config = tiny[m];
        config.blocks = 5;
        config.hidden_dropout = 0.1;
        kept = run_model(ops, &config, NULL, true, false);
        parked = run_model(ops, &config, NULL, true, true);
        assert_true(kept.loss == parked.loss);
        assert_memory_equal(kept.grads, parked.grads, kept.model->count * sizeof *kept.grads);
        free(kept.grads);
        free(parked.grads);
        model_free(kept.model);
        model_free(parked.model);
    }
    ops->free(ops);
}

/* With adapters, beside weights that the GPU decodes. */
static void test_quantized(void **state)
{
    struct model_tuning tuning = { .quantize = QUANT_INT8 };
    struct lora         lora;
    struct model_config config;
    struct error        err = { "" };
    size_t              m;

    (void)state;
    assert_int_equal(lora_parse(&lora, "r=2,dropout=0.2", &err), 0);
    tuning.lora = &lora;
    for (m = 0; m < TINY; m++) {
        config = tiny[m];
        config.deviation = 0.1;
        tuning.quantize = QUANT_INT8;
        compare_layers(DTYPE_FLOAT, &config, &tuning, 1e-5);
        tuning.quantize = QUANT_NF4;
        compare_layers(DTYPE_FLOAT, &config, &tuning, 1e-5);
        compare_layers(DTYPE_BFLOAT16, &config, &tuning, 0.05);
    }
    lora_clear(&lora);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_older),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_cross_entropy),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_parked),
        cmocka_unit_test(test_quantized),
    };

    return cmocka_run_group_tests(tests, open_stream, close_stream);
}
