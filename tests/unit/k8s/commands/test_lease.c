/* test_lease.c - when a controller takes the Lease of another one
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "commands/lease.h"

#define NOW (1000 * NS_PER_S)

static bool may_take(struct lease *lease, const char *holder, const char *version,
                     int64_t duration_s, int64_t after_s)
{
    json_t *document =
        json_pack("{s{ss}s{sssI}}", "metadata", "resourceVersion", version, "spec",
                  "holderIdentity", holder, "leaseDurationSeconds", (json_int_t)duration_s);
    bool may;

    assert_non_null(document);
    may = lease_may_take(lease, document, NOW + after_s * NS_PER_S);
    json_decref(document);
    return may;
}

static void test_take(void **state)
{
    struct lease lease;

    (void)state;
    lease_begin(&lease, NULL, "l", "me");
    assert_true(lease_may_take(&lease, NULL, NOW)); /* there is none */
    assert_true(may_take(&lease, "", "1", 15, 0));  /* given back */
    assert_true(may_take(&lease, "me", "2", 15, 0)); /* of this one before it started again */
    assert_false(may_take(&lease, "you", "3", 15, 0));
    assert_false(may_take(&lease, "you", "3", 15, 15));
    assert_false(may_take(&lease, "you", "4", 15, 16)); /* renewed */
    assert_false(may_take(&lease, "you", "4", 15, 31));
    assert_true(may_take(&lease, "you", "4", 15, 32));
    assert_string_equal(lease.holder, "you");
}

/* A Lease that somebody has written by hand. */
static void test_strange(void **state)
{
    static const char *const texts[] = { "{}", "[]", "{\"spec\": 1}",
                                         "{\"spec\": {\"holderIdentity\": 7}}" };
    struct lease lease;
    json_t      *document;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        lease_begin(&lease, NULL, "l", "me");
        document = json_loads(texts[i], 0, NULL);
        assert_true(lease_may_take(&lease, document, NOW)); /* nobody holds it */
        json_decref(document);
    }
    lease_begin(&lease, NULL, "l", NULL);
    assert_non_null(strchr(lease.identity, '_'));
    assert_false(may_take(&lease, "you", "1", -5, 0));
    assert_false(may_take(&lease, "you", "1", -5, LEASE_S));
    assert_true(may_take(&lease, "you", "1", 1 << 30, LEASE_S + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_strange),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
