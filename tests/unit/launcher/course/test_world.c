/* test_world.c - the nodes of the first and the next world: which stay, come and go
 *
 * The other parts of the run are in world_fixture.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "course/progress.h"
#include "course/world.h"
#include "exit_code.h"
#include "world_fixture.h"

static void expect_world(const char *text)
{
    char   got[200] = "";
    size_t i;

    for (i = 0; i < plan.nodes; i++) {
        const struct node *of = run.node[i];

        assert_ptr_equal(of->plan, &plan.node[i]);
        assert_int_equal(of->index, i);
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s %d+%d ", plan.node[i].host,
                 plan.node[i].rank[0].rank, plan.node[i].ranks);
    }
    assert_string_equal(got, text);
}

/* --- the next world ----------------------------------------------------------- */

static void test_first(void **state)
{
    (void)state;
    world_free_nodes(&run);
    world_make_nodes(&run);
    expect_world("te1 0+2 te2 2+2 ");
    assert_int_equal(run.node[1]->state, NODE_WAITING);
    assert_ptr_equal(run.node[1]->ops, &progress_node_ops);
}

/* The spare gets the place of the lost node; the others keep theirs. */
static void test_replaced(void **state)
{
    struct node *stays = run.node[0], *comes = spare;

    (void)state;
    node_fail(run.node[1], "running", EXIT_LOST, "", "silent");
    change(0, 2, 2);
    expect_told("take te3;" ROOM);
    expect_world("te1 0+2 te3 2+2 ");
    assert_ptr_equal(run.node[0], stays);
    assert_ptr_equal(run.node[1], comes);
    assert_int_equal(members.place[1], 2);
    assert_int_equal(members.item[2].state, MEMBER_IN);
    assert_string_equal(plan.stamp, "r-1");
    assert_int_equal(plan.generation, 1);
    assert_int_equal(plan.master_port, 7);
}

/* An elastic world closes up. */
static void test_closes_up(void **state)
{
    struct node *second = run.node[1];

    (void)state;
    elastic();
    node_fail(run.node[0], "running", EXIT_LOST, "", "silent");
    change(1, 2, 2);
    expect_told("take te3;" ROOM);
    expect_world("te2 0+2 te3 2+2 ");
    assert_ptr_equal(run.node[0], second);
}

/* A node that stays without a place goes into the pool. */
static void test_smaller(void **state)
{
    struct node *second = run.node[1];

    (void)state;
    elastic();
    no_spare();
    change(0, 0, 1);
    expect_told("put te2;phase;flow 1;deadline 1;hang;stacks;keys;labels;status;steps;");
    expect_world("te1 0+2 ");
    assert_ptr_equal(spare, second);
    assert_int_equal(members.item[1].state, MEMBER_SPARE);
    assert_int_equal(run.outcome.nodes, 1);
}

/* te2 was lost, and its host is back with another agent. */
static void test_back(void **state)
{
    (void)state;
    node_fail(run.node[1], "running", EXIT_LOST, "", "silent");
    no_spare();
    spare = waiting(1);
    change(0, 1, 2);
    expect_told("take te2;" ROOM);
    expect_world("te1 0+2 te2 2+2 ");
    assert_int_equal(run.node[1]->state, NODE_STAYING);
}

static void test_impossible(void **state)
{
    const size_t world[NODES] = { 0, 2 };
    struct node *second = run.node[1];
    struct error err;

    (void)state;
    options.no_ssh = true; /* its plan has one node */
    options.node_rank = 9;
    assert_int_equal(world_change(&run, rules, world, 2, &err), -1);
    assert_non_null(strstr(err.text, "--node_rank 9"));
    expect_told("");
    expect_world("te1 0+2 te2 2+2 ");
    assert_ptr_equal(run.node[1], second);
    assert_int_equal(members.place[1], 1);
}

/* --- rules from the options ------------------------------------------------------ */

static void test_rules(void **state)
{
    (void)state;
    options.members = (struct options_members){
        .spares = 1,
        .min_nodes = 2,
        .max_nodes = 5,
        .min_ranks = 3,
        .max_ranks = 9,
        .worlds = (char *)"8,4",
        .max_wait_s = OPTION_AUTO,
    };
    world_open(&run);
    assert_true(rules->goes_on);
    assert_true(rules->is_elastic);
    assert_int_equal(rules->min_nodes, 2);
    assert_int_equal(rules->max_nodes, 5);
    assert_int_equal(rules->min_ranks, 3);
    assert_int_equal(rules->max_ranks, 9);
    assert_int_equal(rules->spares, 1);
    assert_int_equal(rules->target, 0);
    assert_int_equal(rules->worlds_count, 2);
    assert_int_equal(rules->worlds[1], 4);
    assert_null(rules->batch);
}

static void test_target(void **state)
{
    (void)state;
    options.num_nodes = 3;
    world_open(&run);
    assert_int_equal(rules->target, 3);
    assert_false(rules->goes_on);
    options.last_world = json_pack("{s:i}", "target", 2);
    world_open(&run);
    assert_int_equal(rules->target, 2);
    json_decref(options.last_world);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_fixture_begin, world_fixture_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_first), TEST(test_replaced),   TEST(test_closes_up), TEST(test_smaller),
        TEST(test_back),  TEST(test_impossible), TEST(test_rules),     TEST(test_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
