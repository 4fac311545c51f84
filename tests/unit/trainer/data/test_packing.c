/* test_packing.c - documents in samples
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "data/packing.h"
#include "xalloc.h"

/* Checks that each document is in one sample, and none is too full; returns the samples. */
static size_t packed(const uint32_t *sizes, size_t count, uint32_t room)
{
    struct packing packing;
    bool          *seen = xcalloc(count + 1, sizeof *seen);
    size_t         i, j, samples, documents = 0, there = 0;

    packing_make(&packing, sizes, count, room);
    for (i = 0; i < packing.samples; i++) {
        uint64_t sum = 0;

        assert_true(packing.first[i] < packing.first[i + 1]);
        for (j = packing.first[i]; j < packing.first[i + 1]; j++) {
            const uint32_t document = packing.document[j];

            assert_true(document < count && !seen[document]);
            assert_true(j == packing.first[i] || document > packing.document[j - 1]);
            seen[document] = true;
            sum += sizes[document];
            documents++;
        }
        assert_true(sum > 0 && sum <= room);
    }
    for (i = 0; i < count; i++)
        there += sizes[i] > 0;
    assert_int_equal(documents, there);
    samples = packing.samples;
    packing_clear(&packing);
    free(seen);
    return samples;
}

static void test_some(void **state)
{
    const uint32_t mixed[] = { 3, 7, 10, 0, 5, 5, 2, 8 };

    (void)state;
    assert_int_equal(packed(mixed, 8, 10), 4); /* 10, 8 + 2, 7 + 3, 5 + 5 */
    assert_int_equal(packed(mixed, 0, 10), 0);
    assert_int_equal(packed(mixed + 3, 1, 10), 0);
    assert_int_equal(packed(mixed, 1, 3), 1);
    assert_int_equal(packed((const uint32_t[]){ 1, 1, 1 }, 3, 1), 3);
    assert_int_equal(packed((const uint32_t[]){ 64, 1, 63 }, 3, 64), 2);
}

/* Many documents of all sizes leave next to nothing empty, at lengths around those where the
 * tree of bits has another level. */
static void test_many(void **state)
{
    static const uint32_t rooms[] = { 16, 63, 64, 65, 127, 4095, 4096, 4097, 300000 };
    const size_t          count = 5000;
    uint32_t             *sizes = xcalloc(count, sizeof *sizes), random = 3;
    size_t                i, j, samples;

    (void)state;
    for (i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        uint64_t sum = 0;

        for (j = 0; j < count; j++) {
            random = random * 1664525 + 1013904223;
            sizes[j] = random % rooms[i] / (random >> 30 == 0 ? 1 : 7) + 1;
            sum += sizes[j];
        }
        samples = packed(sizes, count, rooms[i]);
        assert_true(samples * rooms[i] <= sum + sum / 50 + rooms[i]);
    }
    free(sizes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_some),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests_name("packing", tests, NULL, NULL);
}
