/* test_quant.c - blocks of codes; models with them are in test_quantized.c
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

#include "model/quant.h"
#include "unit/trainer/model/op_subjects.h"
#include "xalloc.h"

static const enum quant kinds[] = { QUANT_INT8, QUANT_NF4 };
static const float      nf4[16] = QUANT_NF4_VALUES;

static float scale_of(const uint8_t *block)
{
    float scale;

    memcpy(&scale, block, sizeof scale);
    return scale;
}

static void test_names(void **state)
{
    enum quant kind;

    (void)state;
    assert_true(quant_named("int8", &kind) && kind == QUANT_INT8);
    assert_true(quant_named("nf4", &kind) && kind == QUANT_NF4);
    assert_false(quant_named("none", &kind) || quant_named("int4", &kind));
    assert_string_equal(quant_name(QUANT_NF4), "nf4");
}

/* 4.5 and 8.5 bits an element, and the last block is whole. */
static void test_bytes(void **state)
{
    (void)state;
    assert_int_equal(quant_bytes(QUANT_NF4, 6400), 6400 * 45 / 80);
    assert_int_equal(quant_bytes(QUANT_INT8, 6400), 6400 * 85 / 80);
    assert_int_equal(quant_bytes(QUANT_NF4, 1), 36);
    assert_int_equal(quant_bytes(QUANT_NF4, 65), 72);
    assert_int_equal(quant_bytes(QUANT_INT8, 64), 68);
    assert_int_equal(quant_bytes(QUANT_INT8, 129), 3 * 68);
}

/* Twice each of the 16 values: its number, the first of two in the high bits. */
static void test_nf4(void **state)
{
    static const uint8_t want[] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };
    uint8_t              packed[36];
    float                values[16], back[16];
    int                  i;

    (void)state;
    for (i = 0; i < 16; i++)
        values[i] = 2 * nf4[i];
    assert_int_equal(quant_encode(QUANT_NF4, values, 16, packed), 16);
    assert_true(scale_of(packed) == 2.0f);
    assert_memory_equal(packed + 4, want, sizeof want);
    for (i = 12; i < 36; i++)
        assert_int_equal(packed[i], 0x77); /* zeros */
    quant_decode(QUANT_NF4, packed, 16, back);
    assert_memory_equal(back, values, sizeof values);
}

/* In the middle between two values: the lower one; just above it: the higher one. */
static void test_nf4_ties(void **state)
{
    uint8_t packed[36];
    float   values[31] = { 1 }, middle;
    int     i, got;

    (void)state;
    for (i = 0; i < 15; i++) {
        middle = (nf4[i] + nf4[i + 1]) / 2;
        values[1 + 2 * i] = middle;
        values[2 + 2 * i] = nextafterf(middle, 2);
    }
    assert_int_equal(quant_encode(QUANT_NF4, values, 31, packed), 31);
    for (i = 1; i < 31; i++) {
        got = i % 2 == 0 ? packed[4 + i / 2] >> 4 : packed[4 + i / 2] & 15;
        assert_int_equal(got, i / 2);
    }
}

static void test_int8(void **state)
{
    static const float  values[] = { -127, 126, 1, 0.5f, 0.49f, -0.5f, -0.49f, 63.5f, -0.0f };
    static const int8_t want[] = { -127, 126, 1, 1, 0, -1, 0, 64, 0, 0, 0, 0 };
    uint8_t             packed[68];
    float               back[9];
    int                 i;

    (void)state;
    assert_int_equal(quant_encode(QUANT_INT8, values, 9, packed), 9);
    assert_true(scale_of(packed) == 127.0f);
    assert_memory_equal(packed + 4, want, sizeof want);
    quant_decode(QUANT_INT8, packed, 9, back);
    for (i = 0; i < 9; i++)
        assert_true(fabsf(back[i] - (float)want[i]) < 1e-5f);
    assert_true(back[0] == -127); /* the largest is exact */
}

/* One element, blocks of zeros, and a length that is no multiple of 64: each block has a scale. */
static void test_blocks(void **state)
{
    uint8_t packed[3 * 68];
    float   values[130] = { 0 }, back[130];
    size_t  i, k;

    (void)state;
    values[64] = -3e-38f;
    values[129] = 7;
    for (k = 0; k < 2; k++) {
        const size_t size = quant_block_bytes(kinds[k]);

        assert_int_equal(quant_encode(kinds[k], values, 130, packed), 130);
        assert_true(scale_of(packed) == 0 && scale_of(packed + size) == 3e-38f &&
                    scale_of(packed + 2 * size) == 7);
        quant_decode(kinds[k], packed, 130, back);
        for (i = 0; i < 130; i++)
            assert_true(back[i] == values[i] && signbit(back[i]) == signbit(values[i]));
        assert_int_equal(quant_encode(kinds[k], &values[129], 1, packed), 1);
        quant_decode(kinds[k], packed, 1, back);
        assert_true(back[0] == 7);
    }
}

#define MANY 100003

/* A value is away from what comes back by half a step at most, of 254 or of the widest one of the
 * table, in parts of its block's largest. What came back has the same codes again. */
static void test_error(void **state)
{
    static const float ranges[] = { 1, 1e-3f, 1e-38f, 1e-43f, 3e38f };
    const double       widest[] = { 1 / 254.0, ((double)nf4[1] - (double)nf4[0]) / 2 };
    float             *values = xcalloc(MANY, sizeof *values), *back = xcalloc(MANY, sizeof *back);
    uint8_t           *packed = xcalloc(1, quant_bytes(QUANT_INT8, MANY));
    uint8_t           *again = xcalloc(1, quant_bytes(QUANT_INT8, MANY));
    uint64_t           random = 1;
    size_t             i, j, k;

    (void)state;
    for (j = 0; j < 10; j++) {
        k = j / 5;
        for (i = 0; i < MANY; i++)
            values[i] = ranges[j % 5] * (float)subject_number(&random);
        assert_int_equal(quant_encode(kinds[k], values, MANY, packed), MANY);
        quant_decode(kinds[k], packed, MANY, back);
        for (i = 0; i < MANY; i++) {
            const double scale =
                (double)scale_of(packed + i / QUANT_BLOCK * quant_block_bytes(kinds[k]));

            if (fabs((double)back[i] - (double)values[i]) >
                scale * widest[k] * 1.00001 + (double)FLT_TRUE_MIN)
                fail_msg("%s: %g became %g", quant_name(kinds[k]), (double)values[i],
                         (double)back[i]);
        }
        assert_int_equal(quant_encode(kinds[k], back, MANY, again), MANY);
        assert_memory_equal(again, packed, quant_bytes(kinds[k], MANY));
    }
    free(values);
    free(back);
    free(packed);
    free(again);
}

/* The first of several values that are not finite is found, whichever thread has it. */
static void test_not_finite(void **state)
{
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    float             *values = xcalloc(MANY, sizeof *values);
    uint8_t           *packed = xcalloc(1, quant_bytes(QUANT_INT8, MANY));
    size_t             places[] = { 0, 63, 64, 5000, MANY - 1 }, i;

    (void)state;
    for (i = 0; i < 15; i++) {
        values[MANY - 1] = NAN;
        values[6000] = places[i % 5] < 6000 ? NAN : 0;
        values[places[i % 5]] = bad[i / 5];
        assert_int_equal(quant_encode(kinds[i % 2], values, MANY, packed), places[i % 5]);
        values[places[i % 5]] = 0;
    }
    free(values);
    free(packed);
}

/* In double, too, which is the reference of the other types. */
static void test_double(void **state)
{
    struct ops *ops = subject_ops(DTYPE_DOUBLE);

    (void)state;
    dequantize_compare(ops);
    ops->free(ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_nf4),
        cmocka_unit_test(test_nf4_ties),
        cmocka_unit_test(test_int8),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_double),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
