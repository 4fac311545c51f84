/* test_run_status.c - the world that muster resume reads later
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "exit_code.h"
#include "run/costs.h"
#include "run/hang.h"
#include "run/pool.h"
#include "run/run_status.h"
#include "run_fixture.h"

/* --- the others ------------------------------------------------------------- */

struct membership *pool_members(const struct run *of)
{
    (void)of;
    return &members;
}

void costs_look(struct run *of)
{
    (void)of;
}

void hang_collectives(const struct run *of, struct strlist *lines)
{
    (void)of, (void)lines;
}

json_t *hang_collectives_json(const struct run *of)
{
    (void)of;
    return json_array();
}

/* --- the world --------------------------------------------------------------- */

static void expect_here(bool is_first, bool is_second)
{
    json_t *made = run_status_world(&run);
    int     first, second;

    assert_int_equal(
        json_unpack(made, "{s:[{s:b}, {s:b}]}", "nodes", "is_here", &first, "is_here", &second),
        0);
    assert_int_equal(first, is_first);
    assert_int_equal(second, is_second);
    json_decref(made);
}

static void test_world(void **state)
{
    json_t *made;
    char   *text;

    (void)state;
    run.rules.members = (struct member_rules){ .goes_on = true, .target = 2 };
    run.batch.first = (struct batch){ 24, 2, 3 };
    made = run_status_world(&run);
    text = json_dumps(made, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, "{\"batch\":[24,2,3],\"nodes\":["
                              "{\"host\":\"te1\",\"is_here\":true,\"ranks\":1},"
                              "{\"host\":\"te2\",\"is_here\":true,\"ranks\":1}],\"target\":2}");
    free(text);
    json_decref(made);
}

static void test_lost(void **state)
{
    (void)state;
    run.rules.members.goes_on = true;
    node_fail(run.node[0], "running", EXIT_LOST, "", "silent");
    expect_here(false, true);
}

/* A node that will leave is still here; one that must leave now is not. */
static void test_leaves(void **state)
{
    (void)state;
    run.rules.members.goes_on = true;
    assert_true(membership_depart(&members, 1, DEPARTURE_DRAIN, "new disk", 100, 60, 0));
    expect_here(true, true);
    membership_over(&members, true);
    expect_here(true, false);
}

/* Which host has which place may have changed. */
static void test_other_places(void **state)
{
    const size_t world[NODES] = { 2, 0 };

    (void)state;
    run.rules.members.goes_on = true;
    membership_take(&members, &run.rules.members, world, NODES);
    assert_true(membership_depart(&members, 2, DEPARTURE_CLOUD, "spot", 100, 60, 0));
    membership_over(&members, true);
    expect_here(false, true);
}

/* Its nodes cannot change. */
static void test_fixed(void **state)
{
    (void)state;
    assert_null(run_status_world(&run));
}

static int begin(void **state)
{
    (void)state;
    run_fixture_begin();
    return 0;
}

static int end(void **state)
{
    (void)state;
    run_fixture_end();
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_world),        TEST(test_lost),  TEST(test_leaves),
        TEST(test_other_places), TEST(test_fixed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
