/* test_generation.c - what follows when a generation is over, and how that is done
 *
 * The tests of policy.c show the decisions.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <cmocka.h>

#include "clock.h"
#include "course/generation.h"
#include "exit_code.h"
#include "generation_fixture.h"
#include "lease.h"

/* --- the same world ----------------------------------------------------------- */

static void test_all_is_well(void **state)
{
    (void)state;
    options.max_restarts = 3;
    begin();
    rank_ends(0, 0);
    look_then(""); /* te2 still runs */
    rank_ends(1, 0);
    over_then("leave;");
    assert_false(run_goes_on(&run));
}

static void test_restart(void **state)
{
    (void)state;
    options.max_restarts = 1;
    begin();
    assert_true(run_may_restart(&run));
    rank_ends(1, 3);
    over_then("restart;same place;prepare;");
    assert_int_equal(forgotten, FORGETTING);
    assert_int_equal(plan.generation, 1);
    assert_string_equal(plan.stamp, "r-1");
    assert_int_equal(run.outcome.first_rank, -1);
    runs();
    rank_ends(0, 4);
    over_then("leave;");
    generation_end(&run);
    assert_int_equal(run.outcome.first_rank, 0);
}

static void test_no_restarts(void **state)
{
    (void)state;
    begin();
    assert_false(run_may_restart(&run));
    rank_ends(1, 3);
    over_then("leave;");
}

/* The next generation waits for --restart-delay. */
static void test_delay(void **state)
{
    (void)state;
    options.max_restarts = 2;
    options.restart_delay_s = 0.05;
    begin();
    rank_ends(1, 3);
    over_then("restart;");
    run_fixture_turn(0.01);
    expect_told("");
    run_fixture_turn(0.2);
    expect_told("same place;prepare;");
}

static void test_interrupted(void **state)
{
    (void)state;
    options.max_restarts = 3;
    begin();
    assert_false(generation_is_last(&run));
    is_interrupted = true;
    run.phase.now = PHASE_STOPPING;
    assert_true(generation_is_last(&run));
    rank_ends(0, 3);
    over_then("leave;");
}

static void test_time_limit(void **state)
{
    (void)state;
    options.max_restarts = 3;
    begin();
    is_late = true;
    outcome_cause(&run.outcome, EXIT_TIMEOUT, "too long");
    over_then("leave;");
}

static void test_hang(void **state)
{
    (void)state;
    options.max_restarts = 1;
    begin();
    has_hung = true;
    outcome_cause(&run.outcome, EXIT_TIMEOUT, "no rank did anything");
    over_then("restart;same place;prepare;");
}

/* Every rank of two generations fails at once, in the same way. */
static void test_fails_again(void **state)
{
    (void)state;
    options.max_restarts = 9;
    begin();
    rank_ends(0, 3);
    rank_ends(1, 3);
    over_then("restart;same place;prepare;");
    runs();
    assert_true(generation_others_s(&run) == 0);
    rank_ends(0, 3);
    assert_true(generation_others_s(&run) > 0);
    rank_ends(1, 3);
    assert_true(generation_others_s(&run) == 0); /* those were all */
    over_then("leave;");
}

/* A fixed world has lost a node: no restart. */
static void test_node_is_lost(void **state)
{
    (void)state;
    options.max_restarts = 3;
    begin();
    node_is_lost(1);
    over_then("leave;");
}

/* The same while the run waits for its restart. */
static void test_node_is_lost_between(void **state)
{
    (void)state;
    begin_restart();
    departs(0, 1000);
    node_fail(nodes[1], "staying", EXIT_LOST, "", "silent");
    generation_lost_node(&run, nodes[1]);
    expect_told("stop;");
    look_then("leave;");
    departs(0, 0);
    look_then("");
    assert_false(event_pending(run.look, EV_TIMEOUT, NULL));
}

/* Agents that do not stay end the run before any decision. */
static void test_end_without_decision(void **state)
{
    (void)state;
    begin();
    rank_ends(0, 3);
    generation_end(&run);
    assert_false(run_goes_on(&run));
    expect_told("");
}

/* --- another world ------------------------------------------------------------ */

static void test_spare_takes_place(void **state)
{
    (void)state;
    rules = (struct member_rules){ .goes_on = true, .spares = 1 };
    options.members.max_wait_s = 100;
    begin();
    node_is_lost(1);
    node[1].liveness.heard_ns = clock_now_ns() - 20 * NS_PER_S;
    assert_true(run_goes_on(&run));
    over_then("restart;world te1 te3;new place;prepare;");
    assert_int_equal(members.item[1].state, MEMBER_AWAY);
    assert_true(members.item[1].free_s > clock_now_s() + 20);
    assert_int_equal(members.item[1].taken_down, 1);
}

/* te2 was heard 1 s ago, and cannot be checked: muster looks again dead_s after that. libevent adds
 * to the time at which its loop turned, so on a busy machine that is as much earlier as all this
 * took. */
static void looks_again(double dead_s)
{
    int64_t        begun_ns = clock_now_ns(), heard_ns = begun_ns - NS_PER_S;
    struct timeval due, now;
    double         left_s, took_s;

    elastic();
    begin();
    node_is_lost(1);
    node[1].liveness.heard_ns = heard_ns;
    over_then("restart;");
    assert_true(event_pending(run.look, EV_TIMEOUT, &due));
    gettimeofday(&now, NULL);
    left_s = (double)(due.tv_sec - now.tv_sec) + (double)(due.tv_usec - now.tv_usec) / 1e6;
    left_s += (double)(clock_now_ns() - heard_ns) / NS_PER_S;
    took_s = (double)(clock_now_ns() - begun_ns) / NS_PER_S;
    assert_true(left_s > dead_s - took_s - 0.1 && left_s < dead_s + took_s + 0.1);
}

/* The ranks of a node that muster cannot reach may live until its lease is over, and a moment. */
static void test_lease(void **state)
{
    (void)state;
    looks_again(15 + 0.25);
}

/* A stopped agent holds a short lease longer: a heartbeat, and what it grants its guard. */
static void test_lease_of_stopped(void **state)
{
    (void)state;
    options.dead_after_s = 2;
    options.heartbeat_s = 0.5;
    looks_again(0.5 + LEASE_LOCAL_S + 0.25);
}

static void test_lease_is_over(void **state)
{
    (void)state;
    elastic();
    begin();
    node_is_lost(1);
    node[1].liveness.heard_ns = clock_now_ns() - 14 * NS_PER_S;
    over_then("restart;");
    run_fixture_turn(1.5);
    expect_told("world te1 te3;new place;prepare;");
}

/* The cleanup has shown that the ranks are dead. */
static void test_lease_of_cleaned(void **state)
{
    (void)state;
    elastic();
    begin();
    node_is_lost(1);
    node[1].liveness.heard_ns = clock_now_ns();
    outcome_node_cleaned(&run.outcome, 1, 1, 0, "1 process ended");
    over_then("restart;world te1 te3;new place;prepare;");
}

static void test_waits_for_node(void **state)
{
    (void)state;
    rules = (struct member_rules){ .goes_on = true };
    options.members.max_wait_s = 100;
    begin();
    membership_lost(&members, 2, clock_now_s(), false);
    node_is_lost(1);
    over_then("restart;");
    assert_true(run_goes_on(&run));
    membership_joined(&members, 2); /* te3 has come back */
    look_then("world te1 te3;new place;prepare;");
}

static void test_max_wait(void **state)
{
    (void)state;
    rules = (struct member_rules){ .goes_on = true };
    options.members.max_wait_s = 0.05;
    begin();
    membership_lost(&members, 2, clock_now_s(), false);
    node_is_lost(1);
    over_then("restart;");
    run_fixture_turn(0.2);
    expect_told("leave;");
    assert_int_equal(run.outcome.cause, EXIT_WAITED);
    assert_non_null(strstr(run.outcome.cause_text, "te2 is missing"));
    assert_non_null(strstr(run.outcome.cause_text, "this run, which has no directory"));
    assert_false(run_goes_on(&run));
}

static void test_lost_while_waiting(void **state)
{
    (void)state;
    elastic();
    options.max_restarts = 1;
    options.restart_delay_s = 0.05;
    begin();
    rank_ends(0, 3);
    over_then("restart;");
    node_fail(nodes[1], "staying", EXIT_LOST, "", "silent");
    generation_lost_node(&run, nodes[1]);
    expect_told("");
    assert_int_equal(members.item[1].state, MEMBER_AWAY);
    run_fixture_turn(0.2);
    expect_told("world te1 te3;new place;prepare;");
}

/* The run continues on other nodes. */
static void test_all_are_lost(void **state)
{
    (void)state;
    elastic();
    begin();
    node_is_lost(0);
    node_is_lost(1);
    node[0].liveness.heard_ns = node[1].liveness.heard_ns = clock_now_ns() - 1000 * NS_PER_S;
    run.phase.over = NODES;
    over_then("restart;world te3;new place;prepare;");
}

static void test_world_is_refused(void **state)
{
    (void)state;
    elastic();
    begin();
    is_refused = true;
    node_is_lost(1);
    outcome_node_cleaned(&run.outcome, 1, 0, 0, "");
    over_then("restart;stop;stop;");
    assert_int_equal(run.outcome.cause, EXIT_DATA);
    assert_string_equal(run.outcome.cause_text, "there is no such world");
}

/* --- nodes lost while the run restarts ------------------------------------------ */

static void lost_between(size_t which)
{
    node_fail(nodes[which], "staying", EXIT_LOST, "", "silent");
    generation_lost_node(&run, nodes[which]);
    run_fixture_turn(0);
}

static void test_lost_between(void **state)
{
    (void)state;
    elastic();
    begin_restart();
    lost_between(0);
    lost_between(1);
    expect_told("");
    assert_int_equal(members.item[0].state, MEMBER_AWAY);
    assert_int_equal(members.item[1].state, MEMBER_AWAY);
    assert_int_equal(members.item[1].taken_down, 0);
    restart_is_due("world te3;new place;prepare;");
}

/* Another host is needed now, and is connected at once. */
static void test_lost_between_and_connects(void **state)
{
    (void)state;
    rules = (struct member_rules){ .goes_on = true };
    begin_restart();
    members.item[2].state = MEMBER_AWAY;
    look_then("");
    lost_between(1);
    expect_told("connect te3;");
    membership_joined(&members, 2);
    restart_is_due("world te1 te3;new place;prepare;");
}

/* No spare is there: the run waits for one. */
static void test_none_is_left(void **state)
{
    (void)state;
    rules = (struct member_rules){ .goes_on = true };
    options.members.max_wait_s = 1000;
    begin_restart();
    membership_lost(&members, 2, clock_now_s(), false);
    lost_between(1);
    restart_is_due("");
    assert_true(run_goes_on(&run));
    assert_int_equal(run.phase.now, PHASE_RESTARTING);
    run.policy.park_s = 0;
    look_then("leave;");
    assert_int_equal(run.outcome.cause, EXIT_WAITED);
    assert_non_null(strstr(run.outcome.cause_text, "a node is missing"));
}

/* --- a change during the generation -------------------------------------------- */

static void test_change(void **state)
{
    (void)state;
    elastic();
    begin();
    departs(0, 1000);
    look_then("notice: te1 leaves (spot);");
    change_then("the world grows", "stop;");
    assert_int_equal(run.outcome.cause, EXIT_LOST);
    assert_string_equal(run.outcome.cause_text, "the world grows");
    assert_false(generation_is_last(&run));
    over_then("restart;world te3 te2;new place;prepare;");
    assert_int_equal(run.outcome.cause, 0);
}

/* If a rank ends with an error after a notice, the notice is the cause. */
static void test_rank_ends_after_notice(void **state)
{
    (void)state;
    elastic();
    begin();
    departs(0, 1000);
    look_then("notice: te1 leaves (spot);");
    rank_ends(0, 3);
    over_then("restart;world te3 te2;new place;prepare;");
}

/* The generation ends for another cause already: that one counts. */
static void test_change_after_another_end(void **state)
{
    (void)state;
    elastic();
    begin();
    outcome_cause(&run.outcome, EXIT_TIMEOUT, "too long");
    change_then("the world grows", "stop;");
    assert_int_equal(run.outcome.cause, EXIT_TIMEOUT);
    over_then("leave;");
    change_then("the world grows", "");
}

static void test_scale(void **state)
{
    struct error err;

    (void)state;
    elastic();
    begin();
    assert_int_equal(generation_scale(&run, 9, 5, &err), -1);
    assert_int_equal(generation_scale(&run, 1, 5, &err), 0);
    assert_int_equal(run.rules.members.target, 1);
    run_fixture_turn(0);
    expect_told("te3 leaves;save in 5 s, te2 goes: muster scale: 1 node;");
    change_then("muster scale: 1 node", "stop;");
    over_then("restart;world te1;new place;prepare;");
}

static void test_scale_of_fixed(void **state)
{
    struct error err;

    (void)state;
    rules = (struct member_rules){ .goes_on = true };
    begin();
    assert_int_equal(generation_scale(&run, 1, 5, &err), -1);
    assert_non_null(strstr(err.text, "is fixed"));
    assert_int_equal(run.rules.members.target, 0);
}

/* A node has come: the ranks get time to save. */
static void test_grows(void **state)
{
    (void)state;
    elastic();
    options.members.grow_s = 0.05;
    begin();
    run_changed(&run);
    run_fixture_turn(0.2);
    expect_told("save in 60 s, muster goes: more nodes are available: the world grows;");
    run_fixture_turn(0.1);
    expect_told(""); /* once */
}

/* The new node is gone before the ranks have saved. They continue, and must save when it is
 * back. */
static void test_grows_later(void **state)
{
    (void)state;
    elastic();
    options.members.grow_s = 0.05;
    begin();
    run_changed(&run);
    run_fixture_turn(0.2);
    forget_told();
    members.item[2].is_silent = true;
    change_then("the world grows", "take back;");
    run_fixture_turn(0.2);
    expect_told("");
    members.item[2].is_silent = false;
    run_changed(&run);
    run_fixture_turn(0.2);
    expect_told("save in 60 s, muster goes: more nodes are available: the world grows;");
    change_then("the world grows", "stop;");
}

/* The world does not grow before --grow-interval. */
static void test_looks_in_time(void **state)
{
    (void)state;
    elastic();
    options.members.grow_s = 0.1;
    begin();
    look_then("");
    run_fixture_turn(0.4);
    expect_told("save in 60 s, muster goes: more nodes are available: the world grows;");
}

/* muster exec has one generation, whatever the options say. */
static void test_exec(void **state)
{
    (void)state;
    elastic();
    options.max_restarts = 3;
    plan.command = COMMAND_EXEC;
    begin();
    assert_false(run_goes_on(&run));
    assert_false(run_may_restart(&run));
}

/* With --no_ssh, muster could not start another generation on the other nodes. */
static void test_no_ssh(void **state)
{
    (void)state;
    options.max_restarts = 3;
    options.no_ssh = true;
    begin();
    assert_false(run_may_restart(&run));
}

static void test_is_last(void **state)
{
    (void)state;
    elastic();
    begin();
    run.phase.now = PHASE_STOPPING;
    assert_false(generation_is_last(&run)); /* another one may follow */
    is_late = true;
    assert_true(generation_is_last(&run));
    is_late = false;
    run.reader.is_begun = true;
    assert_true(generation_is_last(&run));
}

static void test_is_last_of_fixed(void **state)
{
    (void)state;
    options.max_restarts = 3;
    begin();
    assert_false(generation_is_last(&run));
    run.phase.now = PHASE_STOPPING;
    assert_true(generation_is_last(&run));
}

/* The decision comes in the next turn of the event loop; before that, the state may change. */
static void test_not_over_yet(void **state)
{
    (void)state;
    options.max_restarts = 3;
    begin();
    rank_ends(0, 3);
    node[0].state = node[1].state = NODE_STAYING;
    run_changed(&run);
    node[1].state = NODE_RUNNING;
    run_fixture_turn(0);
    expect_told("");
}

#define TEST(name)                                                                             \
    cmocka_unit_test_setup_teardown(name, generation_fixture_begin, generation_fixture_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_is_well),
        TEST(test_restart),
        TEST(test_no_restarts),
        TEST(test_delay),
        TEST(test_interrupted),
        TEST(test_time_limit),
        TEST(test_hang),
        TEST(test_fails_again),
        TEST(test_node_is_lost),
        TEST(test_node_is_lost_between),
        TEST(test_end_without_decision),
        TEST(test_spare_takes_place),
        TEST(test_lease),
        TEST(test_lease_of_stopped),
        TEST(test_lease_is_over),
        TEST(test_lease_of_cleaned),
        TEST(test_waits_for_node),
        TEST(test_max_wait),
        TEST(test_lost_while_waiting),
        TEST(test_all_are_lost),
        TEST(test_world_is_refused),
        TEST(test_lost_between),
        TEST(test_lost_between_and_connects),
        TEST(test_none_is_left),
        TEST(test_change),
        TEST(test_rank_ends_after_notice),
        TEST(test_change_after_another_end),
        TEST(test_scale),
        TEST(test_scale_of_fixed),
        TEST(test_grows),
        TEST(test_grows_later),
        TEST(test_looks_in_time),
        TEST(test_exec),
        TEST(test_no_ssh),
        TEST(test_is_last),
        TEST(test_is_last_of_fixed),
        TEST(test_not_over_yet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
