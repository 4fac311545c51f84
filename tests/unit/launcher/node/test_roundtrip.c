/* test_roundtrip.c - round trips of heartbeats: clock offset, percentiles, slow nodes
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "clock.h"
#include "node/roundtrip.h"

#define MS (NS_PER_S / 1000)

/* Our clock: every 2 s a heartbeat, whose answer takes so long and comes from a clock
 * that is `ahead_ns` ahead. */
static void beat(struct roundtrips *trips, int64_t *now_ns, int64_t trip_ns, int64_t ahead_ns)
{
    *now_ns += 2 * NS_PER_S;
    assert_int_equal(roundtrips_take(trips, (uint64_t)*now_ns,
                                     (uint64_t)(*now_ns + trip_ns / 2 + ahead_ns),
                                     *now_ns + trip_ns), 0);
}

static void test_offset(void **state)
{
    struct roundtrips trips;
    int64_t           now_ns = 1000 * NS_PER_S;
    int               i;

    (void)state;
    roundtrips_init(&trips);
    roundtrips_begin(&trips, 400 * NS_PER_S, now_ns);
    assert_int_equal(roundtrips_local_ns(&trips, 300 * NS_PER_S, now_ns), 900 * NS_PER_S);
    /* The shortest counts. */
    beat(&trips, &now_ns, 100 * MS, 7 * NS_PER_S + 40 * MS);
    beat(&trips, &now_ns, 2 * MS, 7 * NS_PER_S);
    beat(&trips, &now_ns, 90 * MS, 7 * NS_PER_S - 30 * MS);
    assert_int_equal(trips.best_ns, 2 * MS);
    assert_int_equal(trips.offset_ns, -7 * NS_PER_S);
    /* But not for ever: 50 millionths of drift are 0.1 ms a heartbeat. */
    for (i = 0; i < 2000; i++)
        beat(&trips, &now_ns, 3 * MS, 7 * NS_PER_S + i * MS / 10);
    assert_true(trips.offset_ns < -7 * NS_PER_S - 185 * MS);
    /* Nothing is told from the future. */
    assert_int_equal(roundtrips_local_ns(&trips, INT64_MAX, now_ns), now_ns);
    assert_int_equal(roundtrips_local_ns(&trips, now_ns + 60 * NS_PER_S, now_ns), now_ns);
    assert_int_equal(roundtrips_take(&trips, (uint64_t)now_ns + 1, 0, now_ns), -1);
    assert_int_equal(roundtrips_take(&trips, 0, UINT64_MAX, now_ns), -1);
}

static void test_percentiles(void **state)
{
    struct roundtrips trips;
    int64_t           now_ns = NS_PER_S;
    int               i;

    (void)state;
    roundtrips_init(&trips);
    assert_int_equal(roundtrips_percentile(&trips, 99), 0);
    beat(&trips, &now_ns, 5 * MS, 0);
    assert_int_equal(roundtrips_percentile(&trips, 50), 5 * MS);
    assert_int_equal(roundtrips_percentile(&trips, 99), 5 * MS);
    roundtrips_init(&trips);
    for (i = 100; i > 0; i--)
        beat(&trips, &now_ns, i * MS, 0);
    assert_int_equal(roundtrips_percentile(&trips, 50), 50 * MS);
    assert_int_equal(roundtrips_percentile(&trips, 99), 99 * MS);
    for (i = 0; i < ROUNDTRIPS_RECENT; i++)
        beat(&trips, &now_ns, MS, 0);
    assert_int_equal(roundtrips_percentile(&trips, 99), MS);
    assert_int_equal(trips.most_ns, 100 * MS);
    assert_int_equal(trips.count, 100 + ROUNDTRIPS_RECENT);
}

static void test_slow(void **state)
{
    struct roundtrips trips;
    int64_t           now_ns = NS_PER_S;
    int               i;

    (void)state;
    roundtrips_init(&trips);
    for (i = 0; i < 50; i++)
        beat(&trips, &now_ns, i % 10 == 3 ? 900 * MS : MS, 0);
    assert_false(trips.is_slow);
    beat(&trips, &now_ns, 1100 * MS, 0);
    beat(&trips, &now_ns, 1100 * MS, 0);
    assert_false(trips.is_slow);
    beat(&trips, &now_ns, 1100 * MS, 0);
    assert_true(trips.is_slow);
}

/* A cut of 8 s: all that was under way comes at its end. Twice a day that is no
 * slow node. */
static void test_cut(void **state)
{
    struct roundtrips trips;
    int64_t           now_ns = NS_PER_S;
    int               i, cut;

    (void)state;
    roundtrips_init(&trips);
    for (cut = 0; cut < 10; cut++) {
        for (i = 8; i > 0; i -= 2)
            beat(&trips, &now_ns, i * NS_PER_S, 0);
        assert_true(roundtrips_percentile(&trips, 99) > NS_PER_S);
        for (i = 0; i < ROUNDTRIPS_RECENT; i++)
            beat(&trips, &now_ns, MS, 0);
    }
    assert_false(trips.is_slow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offset),
        cmocka_unit_test(test_percentiles),
        cmocka_unit_test(test_slow),
        cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests_name("roundtrip", tests, NULL, NULL);
}
