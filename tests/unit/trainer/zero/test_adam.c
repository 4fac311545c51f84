/* test_adam.c - every kernel of Adam against the formula in double
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <float.h>
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

#include "xalloc.h"
#include "zero/adam.h"

#define ULPS  2.0
#define GUARD 64 /* elements behind each array that nobody may touch */

static const char *const kernels[] = { "avx512", "avx2", "neon", "scalar" };
#define KERNELS (sizeof kernels / sizeof kernels[0])

static const struct adam usual = { .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8,
                                   .weight_decay = 0.01, .decoupled = true,
                                   .bias_correction = true };

struct state {
    size_t     count;
    float     *param, *mean, *square;
    void      *grad;
    uint16_t  *copy;
    enum dtype grad_type, copy_type; /* copy_type float: no copy */
    bool       is_sparing;
};

/* Of an array in which the state begins at SPARED_FIRST. */
#define SPARED_FIRST 1000
static const struct partition_range spared[] = { { 10, 50 }, { 900, 163 }, { 1063, 1 },
                                                 { 5001, 50000 }, { 60000, 64 },
                                                 { 99999, 900000 } };
#define SPARED (sizeof spared / sizeof spared[0])

static uint64_t random_state = 88172645463325252;

/* Xorshift; between -1 and 1. */
static double draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) * 0x1p-52 - 1;
}

static void store_grad(struct state *s, size_t i, float value)
{
    switch (s->grad_type) {
    case DTYPE_HALF:     ((uint16_t *)s->grad)[i] = float_to_half(value); break;
    case DTYPE_BFLOAT16: ((uint16_t *)s->grad)[i] = float_to_bfloat16(value); break;
    default:             ((float *)s->grad)[i] = value; break;
    }
}

static double load_grad(const struct state *s, size_t i)
{
    switch (s->grad_type) {
    case DTYPE_HALF:     return (double)half_to_float(((uint16_t *)s->grad)[i]);
    case DTYPE_BFLOAT16: return (double)bfloat16_to_float(((uint16_t *)s->grad)[i]);
    default:             return (double)((float *)s->grad)[i];
    }
}

/* A state as in the middle of a training, sizes over some orders of magnitude. */
static struct state state_new(size_t count, enum dtype grad_type, enum dtype copy_type)
{
    struct state s = { .count = count, .grad_type = grad_type, .copy_type = copy_type };
    size_t       i, all = count + GUARD;

    s.param = xcalloc(all, sizeof(float));
    s.mean = xcalloc(all, sizeof(float));
    s.square = xcalloc(all, sizeof(float));
    s.grad = xcalloc(all, sizeof(float));
    s.copy = xcalloc(all, sizeof(uint16_t));
    for (i = 0; i < count; i++) {
        s.param[i] = (float)(draw() * exp2(4 * draw()) * 0.1);
        s.mean[i] = (float)(draw() * exp2(10 * draw()) * 1e-3);
        s.square[i] = (float)fabs(draw() * exp2(10 * draw()) * 1e-6);
        store_grad(&s, i, (float)(draw() * exp2(8 * draw()) * 1e-2));
    }
    return s;
}

static struct state state_copy(const struct state *from)
{
    struct state s = *from;
    size_t       all = from->count + GUARD;

    s.param = xmemdup(from->param, all * sizeof(float));
    s.mean = xmemdup(from->mean, all * sizeof(float));
    s.square = xmemdup(from->square, all * sizeof(float));
    s.grad = xmemdup(from->grad, all * sizeof(float));
    s.copy = xmemdup(from->copy, all * sizeof(uint16_t));
    return s;
}

static void state_clear(struct state *s)
{
    free(s->param);
    free(s->mean);
    free(s->square);
    free(s->grad);
    free(s->copy);
}

static void step_state(struct state *s, const struct adam *adam, int64_t step, double factor)
{
    struct adam_arrays arrays = {
        .count = s->count, .param = s->param, .mean = s->mean, .square = s->square,
        .grad = s->grad, .grad_type = s->grad_type,
        .copy = s->copy_type == DTYPE_FLOAT ? NULL : s->copy, .copy_type = s->copy_type,
        .spared = spared, .spared_count = s->is_sparing ? SPARED : 0, .first = SPARED_FIRST,
    };

    adam_step(adam, step, factor, &arrays);
}

/* The distance in units of the last place of a number of this size. */
static double ulps(float got, double right, double size)
{
    size = fmax(size, (double)FLT_MIN);
    return fabs((double)got - right) / (exp2(floor(log2(size))) * (double)FLT_EPSILON);
}

static double largest(double a, double b, double c)
{
    return fmax(fabs(a), fmax(fabs(b), fabs(c)));
}

/* The textbook in double, from the same state and the same numbers, which are floats.
 * Where two terms nearly cancel, no result is nearer than its terms are. */
static void assert_near(const struct state *before, const struct state *after,
                        const struct adam *adam, int64_t step, float factor)
{
    double c1 = adam->bias_correction ? 1 - pow(adam->beta1, (double)step) : 1;
    double c2 = adam->bias_correction ? 1 - pow(adam->beta2, (double)step) : 1;
    double take1 = (double)(float)(1 - adam->beta1), take2 = (double)(float)(1 - adam->beta2);
    double rate = (double)(float)(adam->lr / c1), decay = adam->weight_decay;
    double bound = adam->decoupled ? ULPS : ULPS + 1, p, m, v, g, change, was, terms;
    size_t i;

    for (i = 0; i < before->count; i++) {
        p = (double)before->param[i];
        g = load_grad(before, i) * (double)factor;
        terms = largest(g, adam->decoupled ? 0 : decay * p, 0);
        g += adam->decoupled ? 0 : (double)(float)decay * p;
        was = (double)before->mean[i];
        m = (1 - take1) * was + take1 * g;
        assert_true(ulps(after->mean[i], m, largest(m, was, take1 * terms)) <= bound);
        v = (1 - take2) * (double)before->square[i] + take2 * g * g;
        assert_true(ulps(after->square[i], v, largest(v, take2 * terms * terms, 0)) <= bound);

        m = (double)after->mean[i];
        v = (double)after->square[i];
        change = rate * m / (sqrt(v) * (double)(float)(1 / sqrt(c2)) + (double)(float)adam->eps);
        change += adam->decoupled ? (double)(float)(adam->lr * decay) * p : 0;
        assert_true(ulps(after->param[i], p - change, largest(p - change, p, change)) <=
                    (fabs(change) < fabs(p) / 2 ? bound : 2 * bound));
    }
}

static void assert_copy(const struct state *s)
{
    size_t i;

    for (i = 0; i < s->count && s->copy_type != DTYPE_FLOAT; i++)
        assert_int_equal(s->copy[i], s->copy_type == DTYPE_HALF
                                         ? float_to_half(s->param[i])
                                         : float_to_bfloat16(s->param[i]));
    for (; i < s->count + GUARD; i++)
        assert_int_equal(s->copy[i], 0);
    for (i = s->count; i < s->count + GUARD; i++)
        assert_true(s->param[i] == 0 && s->mean[i] == 0 && s->square[i] == 0);
}

static void assert_same(const struct state *a, const struct state *b)
{
    const size_t bytes = a->count * sizeof(float);

    assert_memory_equal(a->param, b->param, bytes);
    assert_memory_equal(a->mean, b->mean, bytes);
    assert_memory_equal(a->square, b->square, bytes);
    assert_memory_equal(a->copy, b->copy, a->count * sizeof *a->copy);
}

/* Three steps with each kernel: near to the formula, and to the bit like the scalar one. */
static void check_kernels(size_t count, enum dtype grad_type, enum dtype copy_type,
                          const struct adam *adam)
{
    struct state first = state_new(count, grad_type, copy_type), scalar, mine, before;
    const float  factor = 1.0f / 3;
    int64_t      step;
    size_t       i;

    scalar = state_copy(&first);
    assert_int_equal(adam_kernel_choose("scalar"), 0);
    for (step = 1; step <= 3; step++)
        step_state(&scalar, adam, step, (double)factor);
    for (i = 0; i < KERNELS; i++) {
        if (adam_kernel_choose(kernels[i]) < 0)
            continue;
        mine = state_copy(&first);
        for (step = 1; step <= 3; step++) {
            before = state_copy(&mine);
            step_state(&mine, adam, step, (double)factor);
            assert_near(&before, &mine, adam, step, factor);
            assert_copy(&mine);
            state_clear(&before);
        }
        assert_same(&mine, &scalar);
        state_clear(&mine);
    }
    state_clear(&scalar);
    state_clear(&first);
}

static void test_kernels(void **state)
{
    static const enum dtype types[] = { DTYPE_FLOAT, DTYPE_HALF, DTYPE_BFLOAT16 };
    static const size_t     counts[] = { 0, 1, 7, 8, 15, 16, 17, 31, 33, 1000, 40001 };
    size_t                  i, grad, copy;

    (void)state;
    for (grad = 0; grad < 3; grad++)
        for (copy = 0; copy < 3; copy++)
            for (i = 0; i < sizeof counts / sizeof counts[0]; i++)
                check_kernels(counts[i], types[grad], types[copy], &usual);
}

static void test_modes(void **state)
{
    struct adam adam = usual;

    (void)state;
    adam.decoupled = false;
    check_kernels(1003, DTYPE_FLOAT, DTYPE_FLOAT, &adam);
    adam.bias_correction = false;
    check_kernels(1003, DTYPE_FLOAT, DTYPE_BFLOAT16, &adam);
    adam = usual;
    adam.weight_decay = 0;
    adam.lr = 0.1;
    check_kernels(1003, DTYPE_HALF, DTYPE_HALF, &adam);
}

/* Warm-up begins with a rate of 0, and a parameter may never have had a gradient. */
static void test_rate_of_zero(void **state)
{
    struct adam  adam = usual;
    struct state s = state_new(100, DTYPE_FLOAT, DTYPE_FLOAT), before;

    (void)state;
    adam.lr = 0;
    memset(s.grad, 0, 100 * sizeof(float));
    memset(s.mean, 0, 100 * sizeof(float));
    memset(s.square, 0, 100 * sizeof(float));
    before = state_copy(&s);
    step_state(&s, &adam, 1, 1);
    assert_same(&s, &before);
    state_clear(&before);
    state_clear(&s);
}

/* From nothing, the first step goes lr against the gradient's sign, whatever its size. */
static void test_first_step(void **state)
{
    struct state s = state_new(50, DTYPE_FLOAT, DTYPE_FLOAT);
    size_t       i;

    (void)state;
    for (i = 0; i < 50; i++) {
        s.param[i] = s.mean[i] = s.square[i] = 0;
        store_grad(&s, i, (float)(i % 2 ? -1 : 1) * (float)(i + 1));
    }
    step_state(&s, &usual, 1, 1024);
    for (i = 0; i < 50; i++)
        assert_true(fabs((double)s.param[i] - (i % 2 ? 1e-3 : -1e-3)) < 1e-9);
    state_clear(&s);
}

/* What no gradient reaches any more ends at zero, and not among the denormals. */
static void test_fading(void **state)
{
    struct state s = state_new(64, DTYPE_FLOAT, DTYPE_FLOAT);
    size_t       i, kernel;
    int64_t      step;

    (void)state;
    memset(s.grad, 0, 64 * sizeof(float));
    for (kernel = 0; kernel < KERNELS; kernel++) {
        if (adam_kernel_choose(kernels[kernel]) < 0)
            continue;
        for (i = 0; i < 64; i++)
            s.mean[i] = 1e-30f;
        for (step = 1; step <= 400; step++)
            step_state(&s, &usual, step, 1);
        for (i = 0; i < 64; i++)
            assert_true(s.mean[i] == 0);
    }
    state_clear(&s);
}

static void test_threads(void **state)
{
#ifdef _OPENMP
    struct state first = state_new(200003, DTYPE_BFLOAT16, DTYPE_BFLOAT16), one, many;
    int          before = omp_get_max_threads(), threads;

    (void)state;
    omp_set_num_threads(1);
    one = state_copy(&first);
    step_state(&one, &usual, 1, 0.5);
    for (threads = 2; threads <= 5; threads++) {
        omp_set_num_threads(threads);
        many = state_copy(&first);
        step_state(&many, &usual, 1, 0.5);
        assert_same(&one, &many);
        assert_copy(&many);
        state_clear(&many);
    }
    omp_set_num_threads(before);
    state_clear(&one);
    state_clear(&first);
#else
    (void)state;
    skip();
#endif
}

static bool is_spared(size_t i)
{
    size_t j;

    for (j = 0; j < SPARED; j++)
        if (i + SPARED_FIRST >= spared[j].start &&
            i + SPARED_FIRST < spared[j].start + spared[j].count)
            return true;
    return false;
}

/* Each element has the bits of a step with decay or of one without, on any number of threads. */
static void test_spared(void **state)
{
    struct state first = state_new(200003, DTYPE_HALF, DTYPE_HALF), with, without, got;
    struct adam  how = usual;
    size_t       i;
    int          threads;
#ifdef _OPENMP
    const int    before = omp_get_max_threads();
#endif

    (void)state;
    with = state_copy(&first);
    step_state(&with, &how, 1, 0.5);
    how.weight_decay = 0;
    without = state_copy(&first);
    step_state(&without, &how, 1, 0.5);
    for (threads = 1; threads <= 5; threads++) {
#ifdef _OPENMP
        omp_set_num_threads(threads);
#endif
        got = state_copy(&first);
        got.is_sparing = true;
        step_state(&got, &usual, 1, 0.5);
        for (i = 0; i < got.count; i++)
            if (got.param[i] != (is_spared(i) ? without.param[i] : with.param[i]))
                fail_msg("element %zu, %d threads", i, threads);
        assert_copy(&got);
        state_clear(&got);
    }
#ifdef _OPENMP
    omp_set_num_threads(before);
#endif
    state_clear(&with);
    state_clear(&without);
    state_clear(&first);
}

static void test_choice(void **state)
{
    (void)state;
    assert_int_equal(adam_kernel_choose("abacus"), -1);
    assert_int_equal(adam_kernel_choose("scalar"), 0);
    assert_string_equal(adam_kernel_name(), "scalar");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_rate_of_zero),
        cmocka_unit_test(test_first_step),
        cmocka_unit_test(test_fading),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_spared),
        cmocka_unit_test(test_choice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
