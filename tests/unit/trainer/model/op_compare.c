/* op_compare.c - see op_subjects.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/quant.h"
#include "unit/trainer/model/op_subjects.h"
#include "xalloc.h"

#define SUBJECT_SCRATCH 524288 /* bytes */
#define PRODUCT_MAX     8192   /* elements of a matrix */

void *subject_scratch[SUBJECT_INPUTS];

/* The same numbers in every run, from -1 to 1. */
double subject_number(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 33) / (double)(1u << 30) - 1;
}

static size_t bytes_of(const struct ops *ops, size_t count)
{
    return count * dtype_size(ops->type);
}

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

/* Numbers at random, as bfloat16 can hold them. */
static void *numbers(struct ops *ops, size_t count, double range, uint64_t *random)
{
    void  *host = xcalloc(count + 1, sizeof(double));
    void  *memory = ops->alloc(ops, bytes_of(ops, count));
    size_t i;

    for (i = 0; i < count; i++)
        put(ops->type, host, i,
            (double)bfloat16_to_float(float_to_bfloat16((float)(range * subject_number(random)))));
    ops->write(ops, memory, host, bytes_of(ops, count));
    free(host);
    return memory;
}

void subject_make(struct arrays *arrays, const struct subject *subject, struct ops *ops)
{
    uint64_t random = 7;
    size_t   i;

    for (i = 0; i < SUBJECT_INPUTS; i++) {
        arrays->in[i] = numbers(ops, subject->size[i], 2, &random);
        arrays->din[i] = ops->alloc(ops, bytes_of(ops, subject->size[i]));
        ops->zero(ops, arrays->din[i], bytes_of(ops, subject->size[i]));
        arrays->scratch[i] = subject_scratch[i] = ops->alloc(ops, SUBJECT_SCRATCH);
    }
    arrays->out = ops->alloc(ops, bytes_of(ops, subject->out));
    arrays->dout = numbers(ops, subject->out, 1, &random);
}

void subject_drop(struct arrays *arrays, struct ops *ops)
{
    size_t i;

    for (i = 0; i < SUBJECT_INPUTS; i++) {
        ops->release(ops, arrays->in[i]);
        ops->release(ops, arrays->din[i]);
        ops->release(ops, arrays->scratch[i]);
    }
    ops->release(ops, arrays->out);
    ops->release(ops, arrays->dout);
}

struct ops *subject_ops(enum dtype type)
{
    struct error err;
    struct ops  *ops = ops_cpu_new(type, &err);

    if (ops == NULL)
        fail_msg("%s", err.text);
    return ops;
}

void subject_fine(struct ops *ops)
{
    struct error err = { "" };

    if (ops->check(ops, &err) < 0)
        fail_msg("%s", err.text);
}

static void compare(const struct subject *subject, const char *what, struct ops *ops,
                    const void *memory, const double *want, size_t count, double tolerance)
{
    void  *host = xcalloc(count + 1, sizeof(double));
    double got;
    size_t i;

    ops->read(ops, host, memory, bytes_of(ops, count));
    for (i = 0; i < count; i++) {
        got = get(ops->type, host, i);
        if (!(fabs(got - want[i]) <= tolerance * fmax(1, fabs(want[i]))))
            fail_msg("%s, %s, %s, element %zu: %.9g is not %.9g", subject->name, ops->name, what,
                     i, got, want[i]);
    }
    free(host);
}

void subjects_compare(struct ops *ops, double tolerance)
{
    subjects_compare_these(subjects, all_subjects, ops, tolerance);
    dequantize_compare(ops);
}

void subjects_compare_these(const struct subject *these, size_t count, struct ops *ops,
                            double tolerance)
{
    struct ops           *exact = subject_ops(DTYPE_DOUBLE);
    const struct subject *s;
    struct arrays         got, want;
    size_t                i;

    for (s = these; s < these + count; s++) {
        subject_make(&want, s, exact);
        s->forward(exact, want.in, want.out);
        s->backward(exact, want.in, want.dout, want.din);
        subject_make(&got, s, ops);
        s->forward(ops, got.in, got.out);
        s->backward(ops, got.in, got.dout, got.din);
        subject_fine(ops);
        compare(s, "output", ops, got.out, want.out, s->out, tolerance);
        for (i = 0; i < SUBJECT_INPUTS; i++)
            compare(s, "gradient", ops, got.din[i], want.din[i], s->size[i], tolerance);
        subject_drop(&got, ops);
        subject_drop(&want, exact);
    }
    exact->free(exact);
}

/* The codes are at no more than a multiple of 4; out begins shift elements after an allocation, and
 * what is beside it stays as it was. */
static void compare_decoded(struct ops *ops, enum quant kind, size_t count, size_t shift)
{
    const size_t size = dtype_size(ops->type), bytes = quant_bytes(kind, count);
    float       *values = xcalloc(count, sizeof *values);
    char        *packed = xcalloc(1, bytes), *want = xcalloc(count + 2, size);
    char        *got = xcalloc(count + 2, size);
    char        *codes = ops->alloc(ops, bytes + 4), *out = ops->alloc(ops, (count + 2) * size);
    uint64_t     random = count;
    size_t       i;

    for (i = 0; i < count; i++)
        values[i] = i / QUANT_BLOCK % 3 == 2 ? 0 : (float)subject_number(&random);
    assert_int_equal(quant_encode(kind, values, count, packed), count);
    quant_decode(kind, packed, count, values);
    memset(want, 0x5a, (count + 2) * size);
    ops->write(ops, out, want, (count + 2) * size);
    for (i = 0; i < count; i++)
        put(ops->type, want, shift + i, (double)values[i]);
    ops->write(ops, codes + 4, packed, bytes);
    ops->dequantize(ops, kind, out + shift * size, codes + 4, count);
    ops->read(ops, got, out, (count + 2) * size);
    subject_fine(ops);
    if (memcmp(got, want, (count + 2) * size) != 0)
        fail_msg("%s, %s: %zu elements of %s, from element %zu, are not as quant.c decodes them",
                 ops->name, dtype_name(ops->type), count, quant_name(kind), shift);
    ops->release(ops, codes);
    ops->release(ops, out);
    free(values);
    free(packed);
    free(want);
    free(got);
}

void dequantize_compare(struct ops *ops)
{
    static const size_t counts[] = { 1, 2, 9, 63, 64, 65, 127, 192, 1000, 40003 };
    size_t              i;

    for (i = 0; i < 2 * sizeof counts / sizeof counts[0]; i++) {
        compare_decoded(ops, QUANT_INT8, counts[i / 2], i % 2);
        compare_decoded(ops, QUANT_NF4, counts[i / 2], i % 2);
    }
}

/* bits: at, bt, add, whether there is a bias, whether there are two products. */
static struct matmul product_of(const int size[3], int bits)
{
    const int     m = size[0], n = size[1], k = size[2], at = bits & 1, bt = bits >> 1 & 1;
    struct matmul shape = { .m = m, .n = n, .k = k, .at = at, .bt = bt, .add = bits >> 2 & 1,
                            .lda = at ? m : k, .ldb = bt ? k : n, .ldc = n, .batch = { 1, 1 } };

    if (bits & 16) {
        shape.batch[m % 2] = 2;
        shape.sa[0] = shape.sa[1] = (long)m * k;
        shape.sb[0] = shape.sb[1] = (long)k * n;
        shape.sc[0] = shape.sc[1] = (long)m * n;
    }
    return shape;
}

static void compare_product(struct ops *ops, struct ops *exact, const struct matmul *shape,
                            bool has_bias, void *got[4], double *want[4])
{
    static float    host[PRODUCT_MAX];
    static uint64_t random = 3;
    size_t          i, j;

    for (i = 0; i < 4; i++) {
        for (j = 0; j < PRODUCT_MAX; j++)
            want[i][j] = (double)(host[j] = (float)subject_number(&random));
        ops->write(ops, got[i], host, sizeof host);
    }
    exact->matmul(exact, shape, want[0], want[1], has_bias ? want[3] : NULL, want[2]);
    ops->matmul(ops, shape, got[0], got[1], has_bias ? got[3] : NULL, got[2]);
    subject_fine(ops);
    ops->read(ops, host, got[2], sizeof host);
    for (j = 0; j < PRODUCT_MAX; j++)
        if (!(fabs((double)host[j] - want[2][j]) <= 2e-5))
            fail_msg("%s, %d x %d x %d, turned %d %d: element %zu: %g is not %g", ops->name,
                     shape->m, shape->n, shape->k, shape->at, shape->bt, j, (double)host[j],
                     want[2][j]);
}

void products_compare(struct ops *ops)
{
    static const int sizes[][3] = { { 1, 1, 1 }, { 3, 5, 7 }, { 17, 33, 8 }, { 64, 16, 40 } };
    struct ops      *exact = subject_ops(DTYPE_DOUBLE);
    double          *want[4]; /* a, b, c, bias */
    void            *got[4];
    struct matmul    shape;
    size_t           i, s;
    int              bits;

    for (i = 0; i < 4; i++) {
        want[i] = exact->alloc(exact, PRODUCT_MAX * sizeof(double));
        got[i] = ops->alloc(ops, PRODUCT_MAX * sizeof(float));
    }
    for (s = 0; s < 4; s++) {
        for (bits = 0; bits < 32; bits++) {
            shape = product_of(sizes[s], bits);
            compare_product(ops, exact, &shape, bits & 8, got, want);
        }
    }
    for (i = 0; i < 4; i++) {
        exact->release(exact, want[i]);
        ops->release(ops, got[i]);
    }
    exact->free(exact);
}
