/* test_shared_machine.c - which nodes are one machine
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

#include "node/node.h"
#include "node/shared_machine.h"

#define NODES_MAX 6

/* ids: the boot id of each node; NULL: it has none. shared: 's' for each that shares its machine,
 * '.' for the others. */
static void check(const char *const *ids, const char *shared)
{
    static char      host[] = "te1";
    struct plan_node plan = { .host = host };
    struct node      node[NODES_MAX] = { 0 };
    size_t           count = strlen(shared), i;
    bool            *found;

    for (i = 0; i < count; i++) {
        node[i].plan = &plan;
        node[i].hello = ids[i] != NULL ? json_pack("{s:s}", "boot_id", ids[i]) : json_object();
    }
    found = shared_machine_find(node, count);
    for (i = 0; i < count; i++) {
        if (found[i] != (shared[i] == 's'))
            fail_msg("%s: node %zu", shared, i);
        json_decref(node[i].hello);
    }
    free(found);
}

static void test_groups(void **state)
{
    (void)state;
    check((const char *const[]){ "a" }, ".");
    check((const char *const[]){ "a", "b", "c" }, "...");
    check((const char *const[]){ "a", "a" }, "ss");
    check((const char *const[]){ "b", "a", "c", "a", "b", "d" }, "ss.ss.");
    check((const char *const[]){ "a", "a", "a", "ab" }, "sss.");
}

/* An agent that cannot read it says "". */
static void test_unknown(void **state)
{
    (void)state;
    check((const char *const[]){ "", "", "a" }, "...");
    check((const char *const[]){ NULL, NULL, "", "" }, "....");
    check((const char *const[]){ NULL, "a", "a" }, ".ss");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
