/* test_partition.c - every element has one owner, and memory is what the formulas say
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

#include "xalloc.h"
#include "zero/measure.h"
#include "zero/zero.h"

static const size_t layers[] = { 1000, 37, 5000, 5000, 1, 5000, 64 };
#define LAYERS 7
#define TOTAL  16102

/* Ranks' ranges of all buckets cover the flat array once, in order within each bucket. */
static void check_cover(const struct partition *p)
{
    char                  *owners = xcalloc(p->count, 1);
    struct partition_range range;
    int                    bucket, rank;
    size_t                 i;

    for (bucket = 0; bucket < p->buckets; bucket++)
        for (rank = 0; rank < p->ranks; rank++) {
            range = partition_range(p, bucket, rank);
            assert_true(range.count <= p->bucket[bucket].piece);
            for (i = 0; i < range.count; i++)
                owners[range.start + i]++;
        }
    for (i = 0; i < p->count; i++)
        assert_int_equal(owners[i], 1);
    free(owners);
}

static void test_cover(void **state)
{
    static const size_t maxima[] = { 0, 1, 5000, 6000, 11000, 1000000 };
    struct partition    p;
    int                 ranks, bucket, layer, seen;
    size_t              i;

    (void)state;
    for (ranks = 1; ranks <= 70; ranks += ranks < 8 ? 1 : 31) {
        for (i = 0; i < sizeof maxima / sizeof maxima[0]; i++) {
            partition_init(&p, layers, LAYERS, ranks, maxima[i]);
            assert_int_equal(p.count, TOTAL);
            assert_int_equal(p.padded, p.share * (size_t)ranks);
            check_cover(&p);
            for (bucket = 0, seen = 0; bucket < p.buckets; bucket++) {
                assert_true(p.bucket[bucket].layers == 1 ||
                            p.bucket[bucket].count <= maxima[i]);
                assert_int_equal(p.bucket[bucket].piece % PARTITION_ALIGN, 0);
                assert_int_equal(p.bucket[bucket].first_layer, seen);
                seen += p.bucket[bucket].layers;
            }
            assert_int_equal(seen, LAYERS);
            for (layer = 0; layer < LAYERS; layer++)
                assert_int_equal(partition_layer_place(&p, layer) - p.layer_start[layer],
                                 p.bucket[p.bucket_of[layer]].padded_start -
                                     p.bucket[p.bucket_of[layer]].start);
            partition_clear(&p);
        }
    }
}

static void test_buckets(void **state)
{
    struct partition p;

    (void)state;
    partition_init(&p, layers, LAYERS, 2, 6037);
    assert_int_equal(p.buckets, 3); /* 1000 + 37 + 5000, 5000 + 1, 5000 + 64 */
    assert_int_equal(p.bucket[0].layers, 3);
    assert_int_equal(p.bucket[1].count, 5001);
    assert_int_equal(p.bucket_of[6], 2);
    partition_clear(&p);
    partition_init(&p, layers, LAYERS, 2, 0);
    assert_int_equal(p.buckets, LAYERS);
    partition_clear(&p);
}

/* The figures of the ZeRO paper: with P parameters in 16 bits and Adam, 16 P, 4 P + 12 P /
 * R, 2 P + 14 P / R, 16 P / R, without rooms. Layers that divide evenly have no padding. */
static void test_paper(void **state)
{
    const size_t       even[] = { 64 * 1024, 64 * 2048, 64 * 2048, 64 * 2048, 64 * 16 };
    const size_t       p = 64 * (1024 + 3 * 2048 + 16), r = 8;
    const size_t       want[] = { 16 * p, 4 * p + 12 * p / r, 2 * p + 14 * p / r, 16 * p / r };
    struct zero_memory m;
    int                stage;

    (void)state;
    for (stage = 0; stage <= 3; stage++) {
        struct zero_options options = { .stage = stage, .type = DTYPE_BFLOAT16 };

        m = zero_memory_needed(&options, even, 5, (int)r);
        assert_int_equal(m.params + m.grads + m.states, want[stage]);
    }
    /* Rooms of stage 3, for parameters and for gradients: one for the first layer, two for
     * the three that are alike, one for the last. */
    assert_int_equal(m.rooms, 2 * 2 * 64 * (1024 + 2 * 2048 + 16));
}

static void test_measure(void **state)
{
    const size_t count = 200003;
    float       *value = xcalloc(count, sizeof *value);
    uint16_t    *narrow = xcalloc(count, sizeof *narrow);
    size_t       i;

    (void)state;
    for (i = 0; i < count; i++) {
        value[i] = (float)(i % 7) - 3;
        narrow[i] = float_to_bfloat16(value[i]);
    }
    /* 9 + 4 + 1 + 0 + 1 + 4 + 9 in every seven; 200003 = 7 * 28571 + 6 */
    assert_true(measure_squares(DTYPE_FLOAT, value, count) == 28571.0 * 28 + 19);
    assert_true(measure_squares(DTYPE_BFLOAT16, narrow, count) == 28571.0 * 28 + 19);
    assert_true(measure_squares(DTYPE_FLOAT, value, 0) == 0);
    assert_int_equal(measure_last_bad(DTYPE_FLOAT, value, count), count);
    value[150000] = 3.4e38f; /* its square is no float */
    assert_true(measure_squares(DTYPE_FLOAT, value, count) < 1.2e77);
    narrow[100] = narrow[199999] = 0xff80; /* minus infinity */
    assert_false(measure_squares(DTYPE_BFLOAT16, narrow, count) < 1e300);
    assert_int_equal(measure_last_bad(DTYPE_BFLOAT16, narrow, count), 199999);
    for (i = 0; i < count; i++)
        narrow[i] = float_to_half(value[i % 1000]);
    assert_true(measure_squares(DTYPE_HALF, narrow, 7) == 28);
    free(value);
    free(narrow);
}

/* Gradients are added by vectors, of any number, and as one by one. */
static void test_sum_bfloat16(void **state)
{
    static const uint16_t odd[] = { 0x7f80, 0xff80, 0x7fc1, 0x7f7f, 0xff7f, 0, 0x8000, 1 };
    uint16_t              a[200], b[200], out[200];
    size_t                count, i;
    float                 sum;

    (void)state;
    for (i = 0; i < 200; i++) {
        a[i] = i % 23 == 5 ? odd[i % 8] : (uint16_t)(i * 40503);
        b[i] = i % 29 == 5 ? odd[i / 8 % 8] : (uint16_t)(i * 40503 ^ i % 3);
    }
    for (count = 0; count < 200; count++) {
        memset(out, 0xaa, sizeof out);
        dtype_reduce(DTYPE_BFLOAT16, REDOP_SUM, out, a, b, count);
        for (i = 0; i < count; i++) {
            sum = bfloat16_to_float(a[i]) + bfloat16_to_float(b[i]);
            if (isnan(sum))
                assert_true(isnan(bfloat16_to_float(out[i])));
            else
                assert_int_equal(out[i], float_to_bfloat16(sum));
        }
        for (; i < 200; i++)
            assert_int_equal(out[i], 0xaaaa);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cover),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_paper),
        cmocka_unit_test(test_measure),
        cmocka_unit_test(test_sum_bfloat16),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
