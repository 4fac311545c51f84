/* test_launcher_clock.c - what the launcher dates by its clock is never taken for later than it was
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "clock.h"
#include "session/launcher_clock.h"

#define MS     (NS_PER_S / 1000)
#define BEGIN  (1000 * NS_PER_S)
#define BEHIND (700 * NS_PER_S) /* the launcher's clock */

/* A PING of ours, up and down ms on its way, and its answer. */
static int64_t round_trip(struct launcher_clock *clock, int64_t now, int64_t up, int64_t down)
{
    launcher_clock_hear(clock, now + (up + down) * MS, now + up * MS - BEHIND);
    launcher_clock_trip(clock, now + (up + down) * MS, now);
    return now + (up + down) * MS;
}

static void test_unknown(void **state)
{
    struct launcher_clock clock;

    (void)state;
    launcher_clock_init(&clock, BEGIN);
    assert_true(launcher_clock_ours(&clock, 5) == LAUNCHER_CLOCK_UNKNOWN);
    launcher_clock_hear(&clock, BEGIN, BEGIN - BEHIND);
    assert_true(launcher_clock_ours(&clock, 5) == LAUNCHER_CLOCK_UNKNOWN);
}

static void test_equal_ways(void **state)
{
    struct launcher_clock clock;
    int64_t               now, ours;

    (void)state;
    launcher_clock_init(&clock, BEGIN);
    now = round_trip(&clock, BEGIN, 20, 20);
    ours = launcher_clock_ours(&clock, now - BEHIND);
    assert_true(ours <= now && ours >= now - 40 * MS);
}

/* A thin line: our PINGs wait for ten seconds, the launcher's come at once. */
static void test_thin_line(void **state)
{
    struct launcher_clock clock;
    int64_t               now, ours;

    (void)state;
    launcher_clock_init(&clock, BEGIN);
    now = round_trip(&clock, BEGIN, 400, 1);
    now = round_trip(&clock, now, 10000, 1);
    launcher_clock_hear(&clock, now + MS, now - BEHIND);
    ours = launcher_clock_ours(&clock, now - BEHIND);
    assert_true(ours <= now && ours >= now - 401 * MS);
}

/* However long messages take, in whichever direction. */
static void test_never_later(void **state)
{
    struct launcher_clock clock;
    int64_t               now = BEGIN;
    int                   i;

    (void)state;
    srand(1);
    launcher_clock_init(&clock, now);
    for (i = 0; i < 2000; i++) {
        int64_t down = rand() % 5000, sent = now - BEHIND;

        if (i % 3 == 0)
            now = round_trip(&clock, now, rand() % 5000, rand() % 5000);
        launcher_clock_hear(&clock, sent + BEHIND + down * MS, sent);
        assert_true(launcher_clock_ours(&clock, sent) <= sent + BEHIND);
        now += 3 * NS_PER_S;
    }
}

/* A clock that loses a second in a thousand: what was measured long ago does not count. */
static void test_drift(void **state)
{
    struct launcher_clock clock;
    int64_t               now, theirs = 0;

    (void)state;
    launcher_clock_init(&clock, BEGIN);
    for (now = BEGIN; now < BEGIN + 3600 * NS_PER_S; now += NS_PER_S) {
        theirs = (now - BEGIN) / 1000 * 1001;
        launcher_clock_hear(&clock, now, theirs);
        launcher_clock_trip(&clock, now, now - MS);
        assert_true(launcher_clock_ours(&clock, theirs) <= now);
        assert_true(launcher_clock_ours(&clock, theirs) >= now - NS_PER_S);
    }
    for (; now < BEGIN + 7200 * NS_PER_S; now += NS_PER_S) {
        theirs = theirs + NS_PER_S / 1000 * 999;
        launcher_clock_hear(&clock, now, theirs);
        launcher_clock_trip(&clock, now, now - MS);
        assert_true(launcher_clock_ours(&clock, theirs) <= now);
        assert_true(launcher_clock_ours(&clock, theirs) >= now - NS_PER_S);
    }
}

static void test_nonsense(void **state)
{
    struct launcher_clock clock;

    (void)state;
    launcher_clock_init(&clock, BEGIN);
    round_trip(&clock, BEGIN, 1, 1);
    launcher_clock_hear(&clock, BEGIN, -1);
    launcher_clock_hear(&clock, BEGIN, INT64_MIN);
    launcher_clock_hear(&clock, BEGIN, INT64_MAX);
    launcher_clock_trip(&clock, BEGIN, BEGIN + 1);
    launcher_clock_trip(&clock, BEGIN, INT64_MIN);
    assert_true(launcher_clock_ours(&clock, BEGIN - BEHIND) <= BEGIN);
    assert_true(launcher_clock_ours(&clock, BEGIN - BEHIND) >= BEGIN - 2 * MS);
    assert_true(launcher_clock_ours(&clock, -1) == LAUNCHER_CLOCK_UNKNOWN);
    assert_true(launcher_clock_ours(&clock, INT64_MAX) == LAUNCHER_CLOCK_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown),     cmocka_unit_test(test_equal_ways),
        cmocka_unit_test(test_thin_line),   cmocka_unit_test(test_never_later),
        cmocka_unit_test(test_drift),       cmocka_unit_test(test_nonsense),
    };

    return cmocka_run_group_tests_name("launcher_clock", tests, NULL, NULL);
}
