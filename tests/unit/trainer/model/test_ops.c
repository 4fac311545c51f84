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

#ifdef _OPENMP
#include <omp.h>
#endif

#include "comm/dtype.h"
#include "model/cpu/kernels.h"
#include "model/ops.h"
#include "model/philox.h"
#include "unit/trainer/model/op_subjects.h"
#include "xalloc.h"

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

/* ---- attention ---- */

/* What forward keeps for backward grows with the length and not with its square. */
static void test_attention_bytes(void **state)
{
    static const enum dtype types[] = { DTYPE_FLOAT, DTYPE_BFLOAT16, DTYPE_HALF, DTYPE_DOUBLE };
    struct attention        s = { .sequences = 3, .heads = 12, .kv_heads = 4, .head_width = 64 };
    size_t                  i;

    (void)state;
    for (i = 0; i < 4; i++) {
        struct ops *ops = subject_ops(types[i]);

        for (s.length = 1; s.length <= 1 << 20; s.length *= 2)
            assert_int_equal(ops->attention_bytes(ops, &s),
                             (size_t)(3 * 12) * (size_t)s.length * ops->stat_size);
        ops->free(ops);
    }
}

/* Results do not depend on the number of threads, bit by bit. */
static void compare_threads(struct ops *ops, const struct subject *subject)
{
#ifdef _OPENMP
    const size_t  size = dtype_size(ops->type);
    const int     before = omp_get_max_threads();
    struct arrays one, two;
    size_t        i;

    omp_set_num_threads(1);
    subject_make(&one, subject, ops);
    subject->forward(ops, one.in, one.out);
    subject->backward(ops, one.in, one.dout, one.din);
    omp_set_num_threads(2);
    subject_make(&two, subject, ops);
    subject->forward(ops, two.in, two.out);
    subject->backward(ops, two.in, two.dout, two.din);
    omp_set_num_threads(before);
    if (memcmp(one.out, two.out, subject->out * size) != 0)
        fail_msg("%s, %s: another output with two threads", subject->name, ops->name);
    for (i = 0; i < SUBJECT_INPUTS; i++)
        if (memcmp(one.din[i], two.din[i], subject->size[i] * size) != 0)
            fail_msg("%s, %s: another gradient with two threads", subject->name, ops->name);
    subject_drop(&one, ops);
    subject_drop(&two, ops);
#else
    (void)ops;
    (void)subject;
    skip();
#endif
}

static void test_threads(void **state)
{
    struct ops *in_float = subject_ops(DTYPE_FLOAT), *in_bfloat16 = subject_ops(DTYPE_BFLOAT16);
    size_t      s;

    (void)state;
    for (s = 0; s < all_subjects; s++) {
        compare_threads(in_float, &subjects[s]);
        compare_threads(in_bfloat16, &subjects[s]);
    }
    in_float->free(in_float);
    in_bfloat16->free(in_bfloat16);
}

#define WIDTH_MAX 512
#define LONG      70

/* Computes the output and all three gradients of two heads that share keys and values. */
static void attend(struct ops *ops, const struct attention *s, double *result)
{
    const size_t rows = LONG * 4 * (size_t)s->head_width, outs = LONG * 2 * (size_t)s->head_width;
    const int    row = 4 * s->head_width;
    void        *memory[6];
    float       *values = xcalloc(rows, sizeof *values);
    uint64_t     random = 11;
    struct qkv   x, dx;
    size_t       i, j;

    for (i = 0; i < 6; i++) { /* x, dx, out, dout, kept, scratch */
        memory[i] = ops->alloc(ops, rows * sizeof(double));
        for (j = 0; j < rows; j++) {
            values[j] = (float)subject_number(&random);
            if (ops->type == DTYPE_DOUBLE)
                ((double *)memory[i])[j] = (double)values[j];
            else
                ((float *)memory[i])[j] = values[j];
        }
    }
    x = dx = (struct qkv){ .q_row = row, .k_row = row, .v_row = row };
    i = dtype_size(ops->type) * (size_t)s->head_width;
    x.q = memory[0], x.k = (char *)memory[0] + 2 * i, x.v = (char *)memory[0] + 3 * i;
    dx.q = memory[1], dx.k = (char *)memory[1] + 2 * i, dx.v = (char *)memory[1] + 3 * i;
    ops->attention(ops, s, memory[2], memory[4], &x);
    ops->attention_backward(ops, s, &dx, memory[5], memory[3], memory[2], &x, memory[4]);
    for (j = 0; j < rows; j++)
        result[j] = ops->type == DTYPE_DOUBLE ? ((double *)memory[1])[j]
                                              : (double)((float *)memory[1])[j];
    for (j = 0; j < outs; j++)
        result[rows + j] = ops->type == DTYPE_DOUBLE ? ((double *)memory[2])[j]
                                                     : (double)((float *)memory[2])[j];
    for (i = 0; i < 6; i++)
        ops->release(ops, memory[i]);
    free(values);
}

/* Heads need not be whole vectors wide. */
static void test_head_widths(void **state)
{
    static const int widths[] = { 1, 3, 17, 65, 129, 256, WIDTH_MAX };
    static double    want[LONG * 6 * WIDTH_MAX], got[LONG * 6 * WIDTH_MAX];
    struct ops      *ops = subject_ops(DTYPE_FLOAT), *exact = subject_ops(DTYPE_DOUBLE);
    struct attention s = { .sequences = 1, .length = LONG, .heads = 2, .kv_heads = 1,
                           .causal = true };
    size_t           i, j;

    (void)state;
    for (i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        s.head_width = widths[i];
        attend(exact, &s, want);
        attend(ops, &s, got);
        for (j = 0; j < (size_t)(LONG * 6 * widths[i]); j++)
            if (!(fabs(got[j] - want[j]) <= 3e-6 * fmax(1, fabs(want[j]))))
                fail_msg("heads of %d, element %zu: %.9g is not %.9g", widths[i], j, got[j],
                         want[j]);
    }
    ops->free(ops);
    exact->free(exact);
}

/* Computes what keys' weights are multiplied by: all scores are 0, and the values of key i are
 * those of the unit matrix. */
static void draw(struct ops *ops, const struct attention *s, float *out)
{
    static float     zeros[2 * LONG * 2 * LONG], unit[2 * LONG * LONG], kept[2 * 2 * LONG];
    const struct qkv x = { .q = zeros, .k = zeros, .v = unit, .q_row = 2 * LONG, .k_row = LONG,
                           .v_row = LONG };
    int              i;

    for (i = 0; i < 2 * LONG; i++)
        unit[i * LONG + i % LONG] = LONG; /* weights are 1 / LONG */
    ops->attention(ops, s, out, kept, &x);
}

/* Attention drops those of its weights that an array of all of them would lose. */
static void test_dropped_weights(void **state)
{
    static float     ones[2][2][LONG][LONG], want[2][2][LONG][LONG], got[2][LONG][2][LONG];
    struct ops      *ops = subject_ops(DTYPE_FLOAT);
    struct attention s = { .sequences = 2, .length = LONG, .heads = 2, .kv_heads = 1,
                           .head_width = LONG };
    int              i, head, row, key;

    (void)state;
    s.drop = (struct dropout){ .rate = 0.3, .seed = 5, .sample = 7, .site = 3 };
    for (i = 0; i < 2 * 2 * LONG * LONG; i++)
        (&ones[0][0][0][0])[i] = 1;
    ops->dropout(ops, &s.drop, want, ones, 2, 2 * LONG * LONG);
    draw(ops, &s, &got[0][0][0][0]);
    for (i = 0; i < 2; i++)
        for (head = 0; head < 2; head++)
            for (row = 0; row < LONG; row++)
                for (key = 0; key < LONG; key++)
                    assert_true(fabsf(want[i][head][row][key] - got[i][row][head][key]) < 1e-5f);
    ops->free(ops);
}

/* What is no number must show in all queries that see it. */
static void test_attention_not_a_number(void **state)
{
    static float     x[3][LONG], out[LONG], kept[LONG], bad[] = { NAN, INFINITY };
    struct attention s = { .sequences = 1, .length = LONG, .heads = 1, .kv_heads = 1,
                           .head_width = 1, .causal = true };
    const struct qkv qkv = { .q = x[0], .k = x[1], .v = x[2], .q_row = 1, .k_row = 1,
                             .v_row = 1 };
    struct ops      *ops = subject_ops(DTYPE_FLOAT);
    int              i, part, row, query;

    (void)state;
    for (i = 0; i < LONG; i++)
        x[0][i] = x[1][i] = x[2][i] = 1;
    for (part = 1; part < 3; part++) {
        for (i = 0; i < 2; i++) {
            for (row = 0; row < LONG; row++) {
                x[part][row] = bad[i];
                ops->attention(ops, &s, out, kept, &qkv);
                for (query = row; query < LONG; query++)
                    assert_false(isfinite(out[query]));
                x[part][row] = 1;
            }
        }
    }
    ops->free(ops);
}

/* ---- the rest ---- */

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
        cmocka_unit_test(test_attention_bytes),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_head_widths),
        cmocka_unit_test(test_dropped_weights),
        cmocka_unit_test(test_attention_not_a_number),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_cross_entropy),
        cmocka_unit_test(test_not_a_number),
        cmocka_unit_test(test_accuracy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
