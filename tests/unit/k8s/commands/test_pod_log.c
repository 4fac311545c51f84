/* test_pod_log.c - where a log is resumed: the stamps of nodes in any time zone
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "commands/pod_log.h"

static void test_since(void **state)
{
    static const char *const rows[][2] = {
        { "2026-11-22T15:00:00.123456789Z", "2026-11-22T15:00:00Z" },
        { "2026-11-22T15:00:00.123456789+01:00", "2026-11-22T15:00:00%2B01:00" },
        { "2026-11-22T15:00:00.123456789-03:30", "2026-11-22T15:00:00-03:30" },
        { "2026-11-22T15:00:00.1Z", "2026-11-22T15:00:00Z" },
        { "2026-11-22T15:00:00", "2026-11-22T15:00:00" },
    };
    char   since[POD_LOG_SINCE];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_log_since(rows[i][0], since);
        assert_string_equal(since, rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_since) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
