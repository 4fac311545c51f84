/* test_ops.c - the operations of a model, and their gradients
 *
 * In double, every gradient is compared with differences of the function itself. In the types
 * that models compute in, everything is compared with double.
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

#include "comm/dtype.h"
#include "model/kernels.h"
#include "model/ops.h"

#define INPUTS_MAX 4
#define SIZE_MAX_  8192 /* elements of any array here */

/* A function of some arrays, by one or more operations. */
struct subject {
    const char *name;
    size_t      size[INPUTS_MAX], out; /* elements; 0: there is no such input */
    void      (*forward)(struct ops *ops, void **in, void *out);
    void      (*backward)(struct ops *ops, void **in, const void *dout, void **din);
};

/* What forward leaves for backward. */
static double scratch[4][SIZE_MAX_];

/* The same numbers in every run, from -1 to 1. */
static double even(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 33) / (double)(1u << 30) - 1;
}

/* ---- subjects ---- */

#define ROWS  6
#define WIDTH 10

static const struct norm norm = { .rows = ROWS, .width = WIDTH, .epsilon = 1e-5 };

static void norm_forward(struct ops *ops, void **in, void *out)
{
    ops->layernorm(ops, &norm, NULL, out, scratch[0], in[0], NULL, in[1], in[2]);
}

static void norm_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->layernorm_backward(ops, &norm, din[0], din[1], din[2], dout, in[0], in[1], scratch[0],
                            NULL);
}

/* With two terms, whose sum is used once more past the norm. */
static void add_norm_forward(struct ops *ops, void **in, void *out)
{
    ops->layernorm(ops, &norm, scratch[1], out, scratch[0], in[0], in[3], in[1], in[2]);
    ops->add(ops, out, out, scratch[1], ROWS * WIDTH);
}

static void add_norm_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->layernorm_backward(ops, &norm, din[0], din[1], din[2], dout, scratch[1], in[1],
                            scratch[0], dout);
    memcpy(din[3], din[0], ROWS * WIDTH * dtype_size(ops->type));
}

static void gelu_tanh_forward(struct ops *ops, void **in, void *out)
{
    ops->gelu(ops, GELU_TANH, out, in[0], ROWS * WIDTH);
}

static void gelu_tanh_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->gelu_backward(ops, GELU_TANH, din[0], dout, in[0], ROWS * WIDTH);
}

static void gelu_erf_forward(struct ops *ops, void **in, void *out)
{
    ops->gelu(ops, GELU_ERF, out, in[0], ROWS * WIDTH);
}

static void gelu_erf_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->gelu_backward(ops, GELU_ERF, din[0], dout, in[0], ROWS * WIDTH);
}

#define OUT 7

static void linear_forward(struct ops *ops, void **in, void *out)
{
    const struct matmul product = { .m = ROWS, .n = OUT, .k = WIDTH, .lda = WIDTH, .ldb = OUT,
                                    .ldc = OUT, .batch = { 1, 1 } };

    ops->matmul(ops, &product, in[0], in[1], in[2], out);
}

static void linear_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    const struct matmul to_x = { .m = ROWS, .n = WIDTH, .k = OUT, .bt = true, .lda = OUT,
                                 .ldb = OUT, .ldc = WIDTH, .batch = { 1, 1 } };
    const struct matmul to_weight = { .m = WIDTH, .n = OUT, .k = ROWS, .at = true, .add = true,
                                      .lda = WIDTH, .ldb = OUT, .ldc = OUT, .batch = { 1, 1 } };

    ops->matmul(ops, &to_x, dout, in[1], NULL, din[0]);
    ops->matmul(ops, &to_weight, in[0], dout, NULL, din[1]);
    ops->bias_backward(ops, din[2], dout, ROWS, OUT);
}

static const struct attention causal = { .sequences = 2, .length = 5, .heads = 3,
                                         .head_width = 4, .causal = true };
static const struct attention both_ways = { .sequences = 2, .length = 5, .heads = 3,
                                            .head_width = 4 };
#define QKV (2 * 5 * 3 * 3 * 4)

static void causal_forward(struct ops *ops, void **in, void *out)
{
    ops->attention(ops, &causal, out, scratch[0], in[0]);
}

static void causal_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->attention_backward(ops, &causal, din[0], scratch[1], dout, in[0], scratch[0]);
}

static void both_ways_forward(struct ops *ops, void **in, void *out)
{
    ops->attention(ops, &both_ways, out, scratch[0], in[0]);
}

static void both_ways_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    ops->attention_backward(ops, &both_ways, din[0], scratch[1], dout, in[0], scratch[0]);
}

#define WORDS  9
#define LENGTH 3

static const int32_t tokens[ROWS] = { 4, 0, 4, 8, 4, 1 };

static void embed_forward(struct ops *ops, void **in, void *out)
{
    ops->embed(ops, out, tokens, in[0], in[1], in[2], ROWS, LENGTH, WIDTH);
}

static void embed_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    (void)in;
    ops->embed_backward(ops, din[0], din[1], dout, tokens, ROWS, LENGTH, WIDTH);
    ops->bias_backward(ops, din[2], dout, ROWS, WIDTH);
}

static const int32_t picked[3] = { 5, 0, 2 };

static void gather_forward(struct ops *ops, void **in, void *out)
{
    ops->gather(ops, out, in[0], picked, 3, WIDTH);
}

static void gather_backward(struct ops *ops, void **in, const void *dout, void **din)
{
    (void)in;
    ops->zero(ops, din[0], ROWS * WIDTH * dtype_size(ops->type));
    ops->scatter(ops, din[0], dout, picked, 3, WIDTH);
}

static const struct subject subjects[] = {
    { "layernorm", { ROWS * WIDTH, WIDTH, WIDTH }, ROWS * WIDTH, norm_forward, norm_backward },
    { "layernorm of a sum", { ROWS * WIDTH, WIDTH, WIDTH, ROWS * WIDTH }, ROWS * WIDTH,
      add_norm_forward, add_norm_backward },
    { "gelu by tanh", { ROWS * WIDTH }, ROWS * WIDTH, gelu_tanh_forward, gelu_tanh_backward },
    { "gelu by erf", { ROWS * WIDTH }, ROWS * WIDTH, gelu_erf_forward, gelu_erf_backward },
    { "linear", { ROWS * WIDTH, WIDTH * OUT, OUT }, ROWS * OUT, linear_forward, linear_backward },
    { "causal attention", { QKV }, QKV / 3, causal_forward, causal_backward },
    { "attention", { QKV }, QKV / 3, both_ways_forward, both_ways_backward },
    { "embedding", { WORDS * WIDTH, LENGTH * WIDTH, WIDTH }, ROWS * WIDTH, embed_forward,
      embed_backward },
    { "gather", { ROWS * WIDTH }, 3 * WIDTH, gather_forward, gather_backward },
};
#define SUBJECTS (sizeof subjects / sizeof subjects[0])

/* ---- how they are looked at ---- */

struct arrays {
    void *in[INPUTS_MAX], *din[INPUTS_MAX], *out, *dout;
};

static void put(enum dtype type, void *array, size_t i, double value)
{
    if (type == DTYPE_DOUBLE)
        ((double *)array)[i] = value;
    else if (type == DTYPE_FLOAT)
        ((float *)array)[i] = (float)value;
    else if (type == DTYPE_HALF)
        ((uint16_t *)array)[i] = float_to_half((float)value);
    else
        ((uint16_t *)array)[i] = float_to_bfloat16((float)value);
}

static double get(enum dtype type, const void *array, size_t i)
{
    if (type == DTYPE_DOUBLE)
        return ((const double *)array)[i];
    if (type == DTYPE_FLOAT)
        return (double)((const float *)array)[i];
    if (type == DTYPE_HALF)
        return (double)half_to_float(((const uint16_t *)array)[i]);
    return (double)bfloat16_to_float(((const uint16_t *)array)[i]);
}

/* Inputs and the output's gradient at random, as bfloat16 can hold them; the inputs' gradients
 * zero. */
static void make(struct arrays *arrays, const struct subject *subject, struct ops *ops)
{
    uint64_t random = 7;
    size_t   i, j;

    for (i = 0; i < INPUTS_MAX; i++) {
        arrays->in[i] = ops->alloc(ops, subject->size[i] * sizeof(double));
        arrays->din[i] = ops->alloc(ops, subject->size[i] * sizeof(double));
        ops->zero(ops, arrays->din[i], subject->size[i] * sizeof(double));
        for (j = 0; j < subject->size[i]; j++)
            put(ops->type, arrays->in[i], j,
                (double)bfloat16_to_float(float_to_bfloat16((float)(2 * even(&random)))));
    }
    arrays->out = ops->alloc(ops, subject->out * sizeof(double));
    arrays->dout = ops->alloc(ops, subject->out * sizeof(double));
    for (j = 0; j < subject->out; j++)
        put(ops->type, arrays->dout, j,
            (double)bfloat16_to_float(float_to_bfloat16((float)even(&random))));
}

static void drop(struct arrays *arrays, struct ops *ops)
{
    size_t i;

    for (i = 0; i < INPUTS_MAX; i++) {
        ops->release(ops, arrays->in[i]);
        ops->release(ops, arrays->din[i]);
    }
    ops->release(ops, arrays->out);
    ops->release(ops, arrays->dout);
}

static struct ops *new_ops(enum dtype type)
{
    struct error err;
    struct ops  *ops = ops_cpu_new(type, &err);

    if (ops == NULL)
        fail_msg("%s", err.text);
    return ops;
}

static void assert_fine(struct ops *ops)
{
    struct error err = { "" };

    if (ops->check(ops, &err) < 0)
        fail_msg("%s", err.text);
}

/* The sum of the outputs, each times its gradient. */
static double value_of(const struct subject *subject, struct ops *ops, struct arrays *arrays)
{
    double sum = 0;
    size_t i;

    subject->forward(ops, arrays->in, arrays->out);
    for (i = 0; i < subject->out; i++)
        sum += ((double *)arrays->out)[i] * ((double *)arrays->dout)[i];
    return sum;
}

static void test_gradients(void **state)
{
    const double  step = 1e-5;
    struct ops   *ops = new_ops(DTYPE_DOUBLE);
    struct arrays arrays;
    size_t        s, i, j;

    (void)state;
    for (s = 0; s < SUBJECTS; s++) {
        make(&arrays, &subjects[s], ops);
        subjects[s].forward(ops, arrays.in, arrays.out);
        subjects[s].backward(ops, arrays.in, arrays.dout, arrays.din);
        for (i = 0; i < INPUTS_MAX; i++) {
            for (j = 0; j < subjects[s].size[i]; j++) {
                double *x = &((double *)arrays.in[i])[j], old = *x, high, low, want;
                double  got = ((double *)arrays.din[i])[j];

                *x = old + step;
                high = value_of(&subjects[s], ops, &arrays);
                *x = old - step;
                low = value_of(&subjects[s], ops, &arrays);
                *x = old;
                want = (high - low) / (2 * step);
                if (fabs(got - want) > 1e-8 * fmax(1, fabs(want)))
                    fail_msg("%s: input %zu, element %zu: gradient %.10g, difference %.10g",
                             subjects[s].name, i, j, got, want);
            }
        }
        drop(&arrays, ops);
    }
    assert_fine(ops);
    ops->free(ops);
}

/* Gradients of weights are added to what is there. */
static void test_added(void **state)
{
    struct ops   *ops = new_ops(DTYPE_DOUBLE);
    struct arrays arrays;
    double        once;
    size_t        s;

    (void)state;
    for (s = 0; s < SUBJECTS; s++) {
        if (subjects[s].size[1] == 0)
            continue;
        make(&arrays, &subjects[s], ops);
        subjects[s].forward(ops, arrays.in, arrays.out);
        subjects[s].backward(ops, arrays.in, arrays.dout, arrays.din);
        once = ((double *)arrays.din[1])[0];
        subjects[s].backward(ops, arrays.in, arrays.dout, arrays.din);
        assert_true(fabs(((double *)arrays.din[1])[0] - 2 * once) <= 1e-12 * fabs(once));
        drop(&arrays, ops);
    }
    ops->free(ops);
}

static void compare(const struct subject *subject, const char *what, struct ops *ops,
                    const void *got, const double *want, size_t count, double tolerance)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (!(fabs(get(ops->type, got, i) - want[i]) <= tolerance * fmax(1, fabs(want[i]))))
            fail_msg("%s, %s, %s, element %zu: %.9g is not %.9g", subject->name, ops->name, what,
                     i, get(ops->type, got, i), want[i]);
}

static void compare_types(struct ops *ops, double tolerance)
{
    struct ops   *exact = new_ops(DTYPE_DOUBLE);
    struct arrays got, want;
    size_t        s, i;

    for (s = 0; s < SUBJECTS; s++) {
        make(&want, &subjects[s], exact);
        subjects[s].forward(exact, want.in, want.out);
        subjects[s].backward(exact, want.in, want.dout, want.din);
        make(&got, &subjects[s], ops);
        subjects[s].forward(ops, got.in, got.out);
        subjects[s].backward(ops, got.in, got.dout, got.din);
        assert_fine(ops);
        compare(&subjects[s], "output", ops, got.out, want.out, subjects[s].out, tolerance);
        for (i = 0; i < INPUTS_MAX; i++)
            compare(&subjects[s], "gradient", ops, got.din[i], want.din[i], subjects[s].size[i],
                    tolerance);
        drop(&got, ops);
        drop(&want, exact);
    }
    exact->free(exact);
}

static void test_types(void **state)
{
    struct ops *in_float = new_ops(DTYPE_FLOAT), *in_bfloat16 = new_ops(DTYPE_BFLOAT16);
    struct ops *in_half = new_ops(DTYPE_HALF);

    (void)state;
    compare_types(in_float, 3e-6);
    compare_types(in_bfloat16, 2e-2);
    compare_types(in_half, 4e-3);
    in_float->free(in_float);
    in_bfloat16->free(in_bfloat16);
    in_half->free(in_half);
}

/* The loops for each kind of CPU that this one can be. */
static void use_kernels(struct ops *ops, const struct kernels *kernels, double tolerance)
{
    struct ops mixed = kernels->ops, before = *ops;

    mixed.name = "other kernels";
    mixed.alloc = ops->alloc;
    mixed.release = ops->release;
    mixed.matmul = ops->matmul;
    mixed.attention = ops->attention;
    mixed.attention_backward = ops->attention_backward;
    mixed.check = ops->check;
    mixed.free = ops->free;
    *ops = mixed;
    compare_types(ops, tolerance);
    *ops = before;
}

static void test_kernels(void **state)
{
    struct ops *in_float = new_ops(DTYPE_FLOAT), *in_bfloat16 = new_ops(DTYPE_BFLOAT16);
    struct ops *in_half = new_ops(DTYPE_HALF);

    (void)state;
    use_kernels(in_float, &kernels_float, 3e-6);
    use_kernels(in_bfloat16, &kernels_bfloat16, 2e-2);
    use_kernels(in_half, &kernels_half, 4e-3);
#ifdef KERNELS_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        use_kernels(in_float, &kernels_float_avx2, 3e-6);
        use_kernels(in_bfloat16, &kernels_bfloat16_avx2, 2e-2);
        use_kernels(in_half, &kernels_half_avx2, 4e-3);
    }
#endif
    in_float->free(in_float);
    in_bfloat16->free(in_bfloat16);
    in_half->free(in_half);
}

/* Every combination of transposes, sums and batches, against the definition. */
static void test_products(void **state)
{
    static const int sizes[][3] = { { 1, 1, 1 }, { 3, 5, 7 }, { 17, 33, 8 }, { 64, 16, 40 } };
    struct ops      *exact = new_ops(DTYPE_DOUBLE), *ops = new_ops(DTYPE_FLOAT);
    double          *want[4];
    float           *got[4]; /* a, b, c, bias */
    uint64_t         random = 3;
    size_t           i, j, s;
    int              bits;

    (void)state;
    for (i = 0; i < 4; i++) {
        want[i] = exact->alloc(exact, SIZE_MAX_ * sizeof(double));
        got[i] = ops->alloc(ops, SIZE_MAX_ * sizeof(float));
    }
    for (s = 0; s < 4; s++) {
        for (bits = 0; bits < 32; bits++) {
            const int     m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
            const int     at = bits & 1, bt = bits >> 1 & 1, batched = bits >> 4;
            struct matmul shape = { .m = m, .n = n, .k = k, .at = at, .bt = bt,
                                    .add = bits >> 2 & 1, .lda = at ? m : k, .ldb = bt ? k : n,
                                    .ldc = n, .batch = { 1, 1 } };

            if (batched)
                shape = (struct matmul){ .m = m, .n = n, .k = k, .at = at, .bt = bt,
                                         .add = shape.add, .lda = shape.lda, .ldb = shape.ldb,
                                         .ldc = n, .batch = { 1, 2 },
                                         .sa = { 2L * m * k, (long)m * k },
                                         .sb = { 2L * k * n, (long)k * n },
                                         .sc = { 2L * m * n, (long)m * n } };
            for (i = 0; i < 4; i++)
                for (j = 0; j < SIZE_MAX_; j++)
                    want[i][j] = (double)(got[i][j] = (float)even(&random));
            exact->matmul(exact, &shape, want[0], want[1], bits & 8 ? want[3] : NULL, want[2]);
            ops->matmul(ops, &shape, got[0], got[1], bits & 8 ? got[3] : NULL, got[2]);
            assert_fine(ops);
            for (j = 0; j < SIZE_MAX_; j++)
                if (fabs((double)got[2][j] - want[2][j]) > 2e-5)
                    fail_msg("%d x %d x %d, %d: element %zu: %g is not %g", m, n, k, bits, j,
                             (double)got[2][j], want[2][j]);
        }
    }
    for (i = 0; i < 4; i++) {
        exact->release(exact, want[i]);
        ops->release(ops, got[i]);
    }
    exact->free(exact);
    ops->free(ops);
}

/* Loops without branches convert as dtype.c does: all halves, and sums of any two. */
static void test_half(void **state)
{
    struct ops *ops = new_ops(DTYPE_HALF);
    uint16_t   *a = malloc(2 * 65536), *b = malloc(2 * 65536), *out = malloc(2 * 65536), want;
    uint32_t    i, step;

    (void)state;
    for (step = 0; step < 40; step++) {
        for (i = 0; i < 65536; i++) {
            a[i] = (uint16_t)i;
            b[i] = step == 0 ? 0 : (uint16_t)(i * 2654435761u * step >> 11);
        }
        ops->add(ops, out, a, b, 65536);
        for (i = 0; i < 65536; i++) {
            want = float_to_half(half_to_float(a[i]) + half_to_float(b[i]));
            if (out[i] != want && !isnan(half_to_float(want)))
                fail_msg("%#x + %#x: %#x is not %#x", a[i], b[i], out[i], want);
            assert_int_equal(isnan(half_to_float(want)) != 0, isnan(half_to_float(out[i])) != 0);
        }
    }
    free(a);
    free(b);
    free(out);
    ops->free(ops);
}

#define CLASSES 11

static void test_cross_entropy(void **state)
{
    static const int32_t targets[ROWS] = { 0, 10, 3, 3, 7, 1 };
    const double         step = 1e-6, scale = 0.25;
    struct ops          *ops = new_ops(DTYPE_DOUBLE), *in_float = new_ops(DTYPE_FLOAT);
    double               logits[ROWS * CLASSES], gradient[ROWS * CLASSES], stats[ROWS], high, low;
    float                same[ROWS * CLASSES], same_stats[ROWS];
    uint64_t             random = 5;
    size_t               i;

    (void)state;
    for (i = 0; i < ROWS * CLASSES; i++)
        logits[i] = (double)(same[i] = (float)(4 * even(&random)));
    memcpy(gradient, logits, sizeof logits);
    high = ops->cross_entropy(ops, stats, gradient, targets, ROWS, CLASSES);
    ops->cross_entropy_backward(ops, gradient, stats, targets, scale, ROWS, CLASSES);
    low = in_float->cross_entropy(in_float, same_stats, same, targets, ROWS, CLASSES);
    in_float->cross_entropy_backward(in_float, same, same_stats, targets, scale, ROWS, CLASSES);
    assert_true(fabs(high - low) < 1e-5);
    for (i = 0; i < ROWS * CLASSES; i++) {
        double old = logits[i];

        logits[i] = old + step;
        high = ops->cross_entropy(ops, stats, logits, targets, ROWS, CLASSES);
        logits[i] = old - step;
        low = ops->cross_entropy(ops, stats, logits, targets, ROWS, CLASSES);
        logits[i] = old;
        assert_true(fabs(scale * (high - low) / (2 * step) - gradient[i]) < 1e-8);
        assert_true(fabs((double)same[i] - gradient[i]) < 1e-6);
    }
    ops->free(ops);
    in_float->free(in_float);
}

/* What is no number must show in the loss, wherever it is. */
static void test_not_a_number(void **state)
{
    static const int32_t target = 0;
    struct ops          *ops = new_ops(DTYPE_FLOAT);
    float                logits[40], stats, bad[] = { NAN, INFINITY };
    size_t               i, j;

    (void)state;
    for (i = 0; i < 2; i++) {
        for (j = 1; j < 40; j++) {
            memset(logits, 0, sizeof logits);
            logits[j] = bad[i];
            assert_false(isfinite(ops->cross_entropy(ops, &stats, logits, &target, 1, 40)));
        }
    }
    ops->free(ops);
}

/* The float exponential and erf are as good as real_math.h says: seen through GELU. */
static void test_accuracy(void **state)
{
    struct ops *ops = new_ops(DTYPE_FLOAT), *exact = new_ops(DTYPE_DOUBLE);
    float       x[2001], y[2001];
    double      xx[2001], yy[2001];
    int         i, kind;

    (void)state;
    for (i = 0; i <= 2000; i++)
        xx[i] = (double)(x[i] = (float)(i - 1000) / 50);
    for (kind = GELU_ERF; kind <= GELU_TANH; kind++) {
        ops->gelu(ops, (enum gelu)kind, y, x, 2001);
        exact->gelu(exact, (enum gelu)kind, yy, xx, 2001);
        for (i = 0; i <= 2000; i++)
            if (fabs((double)y[i] - yy[i]) > 3e-7 * fmax(1, fabs(xx[i])))
                fail_msg("gelu(%g): %.9g is not %.9g", xx[i], (double)y[i], yy[i]);
    }
    ops->free(ops);
    exact->free(exact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_added),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_cross_entropy),
        cmocka_unit_test(test_not_a_number),
        cmocka_unit_test(test_accuracy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
