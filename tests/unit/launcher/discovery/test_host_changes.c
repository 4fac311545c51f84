/* test_host_changes.c - what differs between two lists of hosts, as a table
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "discovery/host_changes.h"

static void test_words(void **state)
{
    static const struct {
        const char *before, *now, *words;
    } row[] = {
        { "te1 slots=4", "te1 slots=4", "" },
        { "te1 slots=4\nte2 slots=4", "# other order\nte2 slots=4\nte1 slots=4", "" },
        { "te1 slots=4", "te1 slots=4 unknown", "" },
        { "te1 slots=4", "te1 slots=4\nte2 slots=4", "te2 is new" },
        { "te1 slots=4\nte2 slots=4", "te1 slots=4", "te2 is gone" },
        { "te[1-3] slots=4", "te[3-6] slots=4", "te[4-6] are new; te[1-2] are gone" },
        { "te1 slots=4", "te2 slots=4", "te2 is new; te1 is gone" },
        { "te1 slots=4", "te1 slots=8", "te1 has changed" },
        { "te1 slots=4", "te1 slots=4 user=bob", "te1 has changed" },
        { "te1 slots=4 addr=10.0.0.1", "te1 slots=4 addr=10.0.0.2", "te1 has changed" },
        { "te1 slots=4 port=22", "te1 slots=4", "te1 has changed" },
        { "te1 slots=4 iface=a", "te1 slots=4 iface=b", "te1 has changed" },
        { "te1 slots=4 cwd=/a", "te1 slots=4 cwd=/a", "" },
        { "te1 slots=4 python=/a", "te1 slots=4 python=/b", "te1 has changed" },
        { "te1 slots=4 env:A=1", "te1 slots=4 env:A=2", "te1 has changed" },
        { "te1 slots=4 env:A=1", "te1 slots=4 env:A=1 env:B=2", "te1 has changed" },
        { "te[1-4] slots=4", "te[2-5] slots=8",
          "te5 is new; te1 is gone; te[2-4] have changed" },
    };
    struct hostlist     before, now;
    struct host_changes changes;
    struct error        err;
    size_t              i;
    char               *words;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(hostfile_parse("a", row[i].before, strlen(row[i].before), &before, &err),
                         0);
        assert_int_equal(hostfile_parse("b", row[i].now, strlen(row[i].now), &now, &err), 0);
        host_changes_find(&changes, &before, &now);
        words = host_changes_words(&changes);
        assert_string_equal(words, row[i].words);
        assert_int_equal(host_changes_any(&changes), row[i].words[0] != '\0');
        free(words);
        host_changes_clear(&changes);
        hostlist_clear(&before);
        hostlist_clear(&now);
    }
}

static void test_empty(void **state)
{
    struct hostlist     none = { 0 };
    struct host_changes changes;

    (void)state;
    host_changes_find(&changes, &none, &none);
    assert_false(host_changes_any(&changes));
    host_changes_clear(&changes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
