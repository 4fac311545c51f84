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

/* ids: the boot id of each node, "/" and its PID namespace; NULL: it has said neither. shared: 's'
 * for each that shares its machine, '.' for the others. */
static void check(const char *const *ids, const char *shared)
{
    static char      host[] = "te1";
    struct plan_node plan = { .host = host };
    struct node      node[NODES_MAX] = { 0 }, *all[NODES_MAX] = { 0 };
    size_t           count = strlen(shared), i;
    const char      *slash;
    bool            *found;

    for (i = 0; i < count; i++) {
        all[i] = &node[i];
        node[i].plan = &plan;
        node[i].hello = json_object();
        if (ids[i] == NULL)
            continue;
        slash = strchr(ids[i], '/');
        json_object_set_new(node[i].hello, "boot_id",
                            json_stringn(ids[i], slash != NULL ? (size_t)(slash - ids[i])
                                                               : strlen(ids[i])));
        if (slash != NULL)
            json_object_set_new(node[i].hello, "pidns", json_integer(atoi(slash + 1)));
    }
    found = shared_machine_find(all, count);
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

static void test_containers(void **state)
{
    (void)state;
    check((const char *const[]){ "a/1", "a/1", "a/2" }, "ss.");
    check((const char *const[]){ "a/1", "a/2", "b/1", "b/1" }, "..ss");
    check((const char *const[]){ "a/2", "b/2", "a/3", "b/1", "a/2" }, "s...s");
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
        cmocka_unit_test(test_containers),
        cmocka_unit_test(test_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
