/* test_master_name.c - what is said of a --master_addr that does not lead to node 0
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

#include "rendezvous/master_name.h"

static struct plan_node  node[] = { { .host = (char *)"te1" }, { .host = (char *)"te2" } };
static struct plan       plan = { .node = node, .nodes = 2, .node_count = 2,
                                  .master_addr = (char *)"te9" };
static struct master_name name;

static int setup(void **state)
{
    (void)state;
    plan.nodes = 2;
    plan.node_count = 2;
    master_name_init(&name, 2);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    master_name_clear(&name);
    return 0;
}

static void answer(size_t which, const char *body)
{
    json_t *json = json_loads(body, 0, NULL);

    assert_non_null(json);
    master_name_take(&name, which, json);
    json_decref(json);
}

static void expect_fault(size_t which, const char *better, const char *expected)
{
    char *fault = master_name_fault(&name, which, &plan, 0, better);

    if (expected == NULL)
        assert_null(fault);
    else
        assert_string_equal(fault, expected);
    free(fault);
}

static void knows_who_does_not_get_there(void **state)
{
    (void)state;
    assert_true(master_name_is_good(&name)); /* nothing is known yet */
    expect_fault(0, NULL, NULL);
    answer(0, "{\"name\":\"\"}");
    answer(1, "{\"name\":\"timed out\"}");
    assert_false(master_name_is_good(&name));
    expect_fault(0, "10.0.0.1", NULL);
    expect_fault(1, "10.0.0.1", "--master_addr te9 does not lead to te1, the first node (timed "
                                "out): write --master_addr=10.0.0.1, or leave it out");
    answer(1, "{\"name\":\"\"}");
    assert_true(master_name_is_good(&name));
}

static void says_what_helps(void **state)
{
    (void)state;
    answer(1, "{\"name\":\"timed out\"}");
    expect_fault(1, NULL, "--master_addr te9 does not lead to te1, the first node (timed out): nor "
                          "does any address that it has; is there a firewall between the nodes?");
    plan.nodes = 1;
    answer(0, "{\"name\":\"not known\"}");
    expect_fault(0, NULL, "--master_addr te9 does not lead to te1, the first node (not known): "
                          "write an address of this node");
    plan.node_count = 1;
    expect_fault(0, NULL, "--master_addr te9 does not lead to te1, the first node (not known): "
                          "leave it out");
}

/* A node may send anything. */
static void bears_any_answer(void **state)
{
    static const char *const bodies[] = { "{}", "{\"name\":7}", "{\"name\":null}",
                                          "{\"name\":[\"x\"]}" };
    char  *longest = calloc(1, 4096), *fault;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        answer(1, bodies[i]);
        assert_true(master_name_is_good(&name));
        expect_fault(1, NULL, NULL);
    }
    answer(7, "{\"name\":\"x\"}");
    assert_non_null(longest);
    strcpy(longest, "{\"name\":\"");
    memset(longest + strlen(longest), 'x', 4000);
    strcat(longest, "\"}");
    answer(1, longest);
    fault = master_name_fault(&name, 1, &plan, 0, "10.0.0.1");
    assert_non_null(fault);
    assert_in_range(strlen(fault), 1, MASTER_NAME_WHY_MAX + 150);
    free(fault);
    free(longest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(knows_who_does_not_get_there, setup, teardown),
        cmocka_unit_test_setup_teardown(says_what_helps, setup, teardown),
        cmocka_unit_test_setup_teardown(bears_any_answer, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
