/* test_liveness.c - how long a node may be silent
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "node/liveness.h"

#define DEAD_AFTER_S 15.0

static void test_lease(void **state)
{
    static const struct {
        const char      *what;
        struct conn_line line;
        uint32_t         resent_before;
        double           lease_s;
    } cases[] = {
        { "a good line, and a stopped agent", { 0.1, 0 }, 0, 15 },
        { "losses of long ago", { 0.1, 7 }, 7, 15 },
        { "losses now, and acknowledged", { 0.1, 8 }, 7, 30 },
        { "the counter went round", { 0.1, 1 }, UINT32_MAX, 30 },
        { "acknowledged some time ago", { 7.4, 8 }, 7, 30 },
        { "a machine that is off", { 7.6, 8 }, 7, 15 },
        { "off for long", { 4e6, 8 }, 7, 15 },
    };
    size_t i;

    (void)state;
    assert_true(liveness_lease_s(DEAD_AFTER_S, NULL, 0) == DEAD_AFTER_S);
    for (i = 0; i < sizeof cases / sizeof *cases; i++)
        if (liveness_lease_s(DEAD_AFTER_S, &cases[i].line, cases[i].resent_before) !=
            cases[i].lease_s)
            fail_msg("%s: not %g s", cases[i].what, cases[i].lease_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lease) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
