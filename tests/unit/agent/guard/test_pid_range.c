/* test_pid_range.c - the nodes of a run number their processes apart
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guard/pid_range.h"

/* Whatever the salts are, so many processes of one node get no number of the next node's. */
static void are_apart(int nodes, int most, int processes)
{
    static const int salts[] = { 1, 2, 77, 4096, 32767, 4194303 };
    size_t           i, j, count = sizeof salts / sizeof *salts;
    int              node;

    for (node = 0; node < nodes - 1; node++)
        for (i = 0; i < count; i++)
            for (j = 0; j < count; j++)
                assert_true(pid_range_before(node, nodes, salts[i], most) + processes <=
                            pid_range_before(node + 1, nodes, salts[j], most));
}

static void test_nodes_are_apart(void **state)
{
    (void)state;
    are_apart(2, 32768, 8000);
    are_apart(128, 32768, 120);
    are_apart(4, 4194304, 500000);
    are_apart(1024, 4194304, 2000);
}

/* Even if the next agent has nearly the same number. */
static void test_runs_are_apart(void **state)
{
    int first = pid_range_before(0, 2, 1000, 32768), salt;

    (void)state;
    for (salt = 1001; salt < 1200; salt++)
        assert_not_in_range(pid_range_before(0, 2, salt, 32768), first - 10, first + 10);
}

/* There is always a number, and processes can follow it. */
static void test_numbers_are_possible(void **state)
{
    static const int counts[] = { 1, 2, 3, 1000, 40000, 1 << 20 };
    size_t           i;
    int              before;

    (void)state;
    for (i = 0; i < sizeof counts / sizeof *counts; i++) {
        before = pid_range_before(counts[i] - 1, counts[i], 32767, 32768);
        assert_in_range(before, 300, 32767);
        before = pid_range_before(1 << 20, counts[i], 32767, 32768); /* an odd plan */
        assert_in_range(before, 300, 32767);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_are_apart),
        cmocka_unit_test(test_runs_are_apart),
        cmocka_unit_test(test_numbers_are_possible),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
