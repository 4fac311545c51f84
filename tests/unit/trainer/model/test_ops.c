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
#include "model/philox.h"
#include "unit/trainer/model/op_subjects.h"

#define ROWS 6


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
    struct ops   *ops = subject_ops(DTYPE_DOUBLE);
    struct arrays arrays;
    size_t        s, i, j;

    (void)state;
    for (s = 0; s < small_subjects; s++) {
        subject_make(&arrays, &subjects[s], ops);
        subjects[s].forward(ops, arrays.in, arrays.out);
        subjects[s].backward(ops, arrays.in, arrays.dout, arrays.din);
        for (i = 0; i < SUBJECT_INPUTS; i++) {
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
        subject_drop(&arrays, ops);
    }
    subject_fine(ops);
    ops->free(ops);
}

/* The vectors that Philox's authors publish. */
static void test_philox(void **state)
{
    static const struct {
        struct philox counter;
        uint32_t      key[2];
        struct philox want;
    } known[] = {
        { { { 0, 0, 0, 0 } }, { 0, 0 },
          { { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } } },
        { { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff } }, { 0xffffffff, 0xffffffff },
          { { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } } },
        { { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 } }, { 0xa4093822, 0x299f31d0 },
          { { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } } },
    };
    struct philox got;
    size_t        i;

    (void)state;
    for (i = 0; i < 3; i++) {
        got = philox(known[i].counter, known[i].key[0], known[i].key[1]);
        assert_memory_equal(&got, &known[i].want, sizeof got);
    }
}

/* As many as asked for, no two places alike, and the mean stays. */
static void test_dropout(void **state)
{
    static double  x[2][40000], y[2][40000];
    struct ops    *ops = subject_ops(DTYPE_DOUBLE);
    struct dropout drop = { .rate = 0.25, .seed = 3, .sample = 5, .site = 7 };
    size_t         i, none = 0, both = 0;

    (void)state;
    for (i = 0; i < 40000; i++)
        x[0][i] = x[1][i] = 1;
    ops->dropout(ops, &drop, y, x, 2, 40000);
    for (i = 0; i < 40000; i++) {
        none += y[0][i] == 0;
        both += y[0][i] == 0 && y[1][i] == 0;
        assert_true(y[0][i] == 0 || fabs(y[0][i] - 1 / 0.75) < 1e-12);
    }
    assert_in_range(none, 9700, 10300); /* three deviations and more */
    assert_in_range(both, 2300, 2700);
    drop.sample++;
    ops->dropout(ops, &drop, x, x, 1, 40000);
    assert_memory_equal(x[0], y[1], sizeof x[0]);
    ops->free(ops);
}

/* Gradients of weights are added to what is there. */
static void test_added(void **state)
{
    struct ops   *ops = subject_ops(DTYPE_DOUBLE);
    struct arrays arrays;
    double        once;
    size_t        s;

    (void)state;
    for (s = 0; s < small_subjects; s++) {
        if (subjects[s].size[1] == 0)
            continue;
        subject_make(&arrays, &subjects[s], ops);
        subjects[s].forward(ops, arrays.in, arrays.out);
        subjects[s].backward(ops, arrays.in, arrays.dout, arrays.din);
        once = ((double *)arrays.din[1])[0];
        subjects[s].backward(ops, arrays.in, arrays.dout, arrays.din);
        assert_true(fabs(((double *)arrays.din[1])[0] - 2 * once) <= 1e-12 * fabs(once));
        subject_drop(&arrays, ops);
    }
    ops->free(ops);
}

static void test_types(void **state)
{
    struct ops *in_float = subject_ops(DTYPE_FLOAT), *in_bfloat16 = subject_ops(DTYPE_BFLOAT16);
    struct ops *in_half = subject_ops(DTYPE_HALF);

    (void)state;
    subjects_compare(in_float, 3e-6);
    subjects_compare(in_bfloat16, 2e-2);
    subjects_compare(in_half, 4e-3);
    in_float->free(in_float);
    in_bfloat16->free(in_bfloat16);
    in_half->free(in_half);
}

/* The loops for each kind of CPU that this one can be. */
static void use_kernels(struct ops *ops, const struct ops *kernels, double tolerance)
{
    struct ops mixed = *kernels, before = *ops;

    mixed.name = "other kernels";
    mixed.alloc = ops->alloc;
    mixed.release = ops->release;
    mixed.read = ops->read;
    mixed.write = ops->write;
    mixed.matmul = ops->matmul;
    mixed.check = ops->check;
    mixed.free = ops->free;
    *ops = mixed;
    subjects_compare(ops, tolerance);
    *ops = before;
}

static void test_kernels(void **state)
{
    struct ops *in_float = subject_ops(DTYPE_FLOAT), *in_bfloat16 = subject_ops(DTYPE_BFLOAT16);
    struct ops *in_half = subject_ops(DTYPE_HALF);

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

static void test_products(void **state)
{
    struct ops *ops = subject_ops(DTYPE_FLOAT);

    (void)state;
    products_compare(ops);
    ops->free(ops);
}

/* Loops without branches convert as dtype.c does: all halves, and sums of any two. */
static void test_half(void **state)
{
    struct ops *ops = subject_ops(DTYPE_HALF);
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
    struct ops          *ops = subject_ops(DTYPE_DOUBLE), *in_float = subject_ops(DTYPE_FLOAT);
    double               logits[ROWS * CLASSES], gradient[ROWS * CLASSES], stats[ROWS], high, low;
    float                same[ROWS * CLASSES], same_stats[ROWS];
    uint64_t             random = 5;
    size_t               i;

    (void)state;
    for (i = 0; i < ROWS * CLASSES; i++)
        logits[i] = (double)(same[i] = (float)(4 * subject_number(&random)));
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
    struct ops          *ops = subject_ops(DTYPE_FLOAT);
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
    struct ops *ops = subject_ops(DTYPE_FLOAT), *exact = subject_ops(DTYPE_DOUBLE);
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
        cmocka_unit_test(test_philox),
        cmocka_unit_test(test_dropout),
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
