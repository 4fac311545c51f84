/* test_progress_ranks.c - what phases do while ranks run, when they restart and at the end
 *
 * The other parts of the run are in progress_fixture.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exit_code.h"
#include "progress_fixture.h"

/* --- the ranks run ------------------------------------------------------------------ */

static void test_lost(void **state)
{
    (void)state;
    running();
    node_fail(&node[0], "running", EXIT_LOST, "", "silent");
    expect_told("pause?;deadline stop 30;");
    assert_int_equal(run.phase.now, PHASE_STOPPING);
    assert_true(run.phase.stop_ns > 0);
    assert_true(has_left[0] && !has_left[1]);
    expect_sent(1, FRAME_STOP);
    assert_int_equal(run.phase.over, 1);
    phase_stop(&run); /* once is enough */
    expect_told("");
}

/* The node counts as over only when the processes that its agent left are gone. */
static void test_lost_agent(void **state)
{
    (void)state;
    running();
    node[0].lost_agent = true;
    node_fail(&node[0], "running", EXIT_LOST, "", "killed");
    expect_told("pause?;clean te1;deadline stop 30;");
    assert_int_equal(run.phase.over, 0);
    looks = 0;
    cleaned("1 process ended");
    assert_int_equal(looks, 1);
    assert_int_equal(run.phase.over, 1);
    assert_string_equal(run.outcome.cleaned[0].text, "1 process ended");
}

/* The node's ranks had ended, so the loss is not a failure of the run. */
static void test_lost_after_its_end(void **state)
{
    (void)state;
    running();
    node_stay(&node[0]);
    assert_int_equal(looks, 1);
    assert_true(has_left[0] && !has_left[1]);
    node_fail(&node[0], "staying", EXIT_LOST, "", "cut");
    expect_told("");
    assert_int_equal(run.phase.now, PHASE_RUNNING);
    assert_null(run.outcome.node[0]);
    assert_int_equal(run.phase.over, 1);
}

static void test_lost_while_restarting(void **state)
{
    (void)state;
    all_stay();
    phase_restart(&run);
    expect_told("costs over;");
    node_fail(&node[0], "staying", EXIT_LOST, "", "cut");
    expect_told("pause?;lost te1;");
    assert_non_null(run.outcome.node[0]);
}

static void test_all_lost_while_restarting(void **state)
{
    (void)state;
    all_stay();
    phase_restart(&run);
    forget_told();
    node_fail(&node[0], "staying", EXIT_LOST, "", "cut");
    node_fail(&node[1], "staying", EXIT_LOST, "", "cut");
    expect_told("pause?;lost te1;pause?;lost te2;");
    assert_int_equal(run.phase.now, PHASE_RESTARTING);
}

/* A generation is over where nodes are left, or others may take their places. */
static void test_is_over(void **state)
{
    (void)state;
    running();
    assert_false(phase_is_over(&run));
    stays(0);
    assert_false(phase_is_over(&run));
    stays(1);
    assert_true(phase_is_over(&run));
    node_fail(&node[0], "staying", EXIT_LOST, "", "cut");
    assert_true(phase_is_over(&run));
}

static void test_is_over_without_nodes(void **state)
{
    (void)state;
    goes_on = true;
    running();
    node_fail(&node[0], "running", EXIT_LOST, "", "silent");
    assert_false(phase_is_over(&run));
    looks = 0;
    node_fail(&node[1], "running", EXIT_LOST, "", "silent");
    assert_true(looks > 0);
    expect_told("pause?;deadline stop 30;");
    assert_true(phase_is_over(&run));
    goes_on = false; /* no node took a place in time */
    assert_false(phase_is_over(&run));
    phase_leave(&run);
    expect_told("end?;");
    assert_true(event_base_got_break(run.base));
}

static void test_restart(void **state)
{
    (void)state;
    goes_on = true;
    running();
    phase_stop(&run);
    assert_false(phase_is_over(&run));
    stays(0);
    stays(1);
    assert_true(phase_is_over(&run));
    assert_true(run_had_ended(&run, &node[0]));
    forget_told();
    phase_restart(&run);
    assert_false(phase_is_over(&run));
    assert_false(run_had_ended(&run, &node[0]));
    assert_int_equal(run.phase.go_ns, 0);
    assert_int_equal(run.phase.stop_ns, 0);
    phase_prepare(&run);
    expect_told("costs over;" PLANNED);
    assert_int_equal(terms[0].generation, 2);
    node_enter(&node[0], NODE_READY, 0);
    node_enter(&node[1], NODE_READY, 0);
    expect_told("ask again?;choose;" GOING);
}

/* A generation is stopped while muster prepares it: muster no longer waits for its answers. */
static void test_restart_early(void **state)
{
    (void)state;
    all_stay();
    phase_restart(&run);
    phase_prepare(&run);
    phase_stop(&run);
    stays(0);
    stays(1);
    assert_true(run_had_ended(&run, &node[1]));
    phase_restart(&run);
    stays(1); /* a late DONE of the last generation */
    assert_false(run_had_ended(&run, &node[1]));
    phase_prepare(&run);
    node_enter(&node[0], NODE_READY, 0);
    assert_int_equal(run.phase.now, PHASE_PREPARING);
    node_enter(&node[1], NODE_READY, 0);
    assert_int_equal(run.phase.now, PHASE_RUNNING);
}

/* muster compares clocks only at the first start. */
static void test_clocks_once(void **state)
{
    (void)state;
    plan.generation = 1;
    prepared();
    node_enter(&node[0], NODE_READY, 0);
    node_enter(&node[1], NODE_READY, 0);
    expect_told("ask again?;choose;deadline;costs;status;");
    assert_true(looks > 0); /* the world may grow, nodes cool down, and some leave */
}

/* Role a is on te1, b on te2. */
static struct plan roles[] = { { .role_name = (char *)"a", .nodes = 1, .options = &options },
                               { .role_name = (char *)"b", .nodes = 1, .options = &options,
                                 .first_node = 1 } };

static int roles_begin(void **state)
{
    int rc = progress_fixture_begin(state);

    plan.role = roles;
    plan.roles = 2;
    plan_node[1].role = 1;
    phase_clear(&run);
    phase_begin(&run);
    running();
    return rc;
}

static int roles_end(void **state)
{
    plan.roles = 0;
    plan_node[1].role = 0;
    return progress_fixture_end(state);
}

/* Only the nodes of that role stop, and get PLAN and GO again. */
static void test_role_again(void **state)
{
    (void)state;
    world = &roles[1];
    phase_stop_role(&run, &roles[1]);
    expect_told("deadline stop 30;");
    expect_sent(1, FRAME_STOP);
    fake_expect_none(&fakes[0]);
    assert_true(phase_any_away(&run));
    stays(1);
    assert_false(run_had_ended(&run, &node[1])); /* it is needed again */
    stays(0); /* its ranks have ended */
    assert_false(phase_is_over(&run));
    phase_prepare_role(&run, &roles[1]);
    expect_told("plan te2 of 2: credit 101;");
    node_enter(&node[1], NODE_READY, 0);
    assert_int_equal(run.phase.now, PHASE_RUNNING);
    assert_true(looks > 0);
    phase_run_role(&run, &roles[1]);
    assert_int_equal(node[1].state, NODE_RUNNING);
    assert_false(phase_any_away(&run));
    stays(1);
    assert_true(run_had_ended(&run, &node[1]));
    assert_true(phase_is_over(&run));
}

/* A node that is lost meanwhile ends the run; so does one where processes are left. */
static void test_role_lost(void **state)
{
    (void)state;
    world = &roles[1];
    phase_stop_role(&run, &roles[1]);
    stays(1);
    world = &plan;
    node_fail(&node[1], "staying", EXIT_LOST, "", "cut");
    assert_int_equal(run.phase.now, PHASE_STOPPING);
    assert_non_null(run.outcome.node[1]);
}

static void test_role_left(void **state)
{
    (void)state;
    world = &roles[1];
    phase_stop_role(&run, &roles[1]);
    world = &plan;
    node_leave(&node[1], 5);
    assert_int_equal(run.phase.now, PHASE_STOPPING);
}

static void test_leave(void **state)
{
    (void)state;
    all_stay();
    goes_on = false;
    forget_told();
    phase_leave(&run);
    expect_sent(0, FRAME_STOP);
    expect_sent(1, FRAME_STOP);
    assert_int_equal(node[0].state, NODE_DONE);
    forget_told();
    fake_close(agent(0), NULL, false);
    expect_told("");
    fake_close(agent(1), NULL, false);
    expect_told("end?;");
}

static void test_leave_some(void **state)
{
    (void)state;
    goes_on = true;
    running();
    stays(0);
    node_fail(&node[0], "staying", EXIT_LOST, "", "cut");
    stays(1);
    goes_on = false;
    phase_leave(&run);
    assert_int_equal(node[0].state, NODE_FAILED);
    assert_int_equal(node[1].state, NODE_DONE);
}

/* For a larger world, phase.c forgets its state of nodes; no node is left to connect. */
static void test_make_room(void **state)
{
    (void)state;
    running();
    run.phase.over = 1;
    run.phase.stayed[0] = true;
    phase_make_room(&run);
    assert_int_equal(run.phase.now, PHASE_RUNNING);
    assert_int_equal(run.phase.over, 0);
    assert_false(run.phase.stayed[0]);
    phase_connect(&run);
    expect_told("");
}

/* --- the end ------------------------------------------------------------------------- */

static void test_stop_while_connecting(void **state)
{
    (void)state;
    options.fanout = 1;
    phase_connect(&run);
    forget_told();
    phase_stop(&run);
    assert_int_equal(node[0].state, NODE_ENDED);
    assert_int_equal(node[1].state, NODE_ENDED); /* was never connected */
    assert_int_equal(run.phase.over, NODES);
    expect_told("deadline stop 30;end?;end?;");
    options.fanout = 8;
    phase_connect(&run);
    expect_told("");
}

/* READY crosses with STOP. */
static void test_stop_while_preparing(void **state)
{
    (void)state;
    prepared();
    phase_stop(&run);
    forget_told();
    node_enter(&node[0], NODE_READY, 0);
    node_enter(&node[1], NODE_READY, 0);
    expect_told("");
    assert_int_equal(run.phase.now, PHASE_STOPPING);
}

/* te1's agent runs but has no plan: it exits when its connection closes. */
static void test_stop_before_hello(void **state)
{
    (void)state;
    phase_connect(&run);
    node_enter(&node[0], NODE_GREETING, 0);
    answers(1);
    phase_stop(&run);
    assert_int_equal(node[0].state, NODE_ENDED);
    assert_null(sent(0));
    assert_int_equal(node[1].state, NODE_ANSWERED);
    expect_sent(1, FRAME_STOP);
}

/* Neither a node that is done nor one that waits for the next generation gets STOP. */
static void test_stop_some(void **state)
{
    (void)state;
    goes_on = true;
    running();
    node_enter(&node[0], NODE_DONE, 0);
    assert_true(has_left[0] && !has_left[1]);
    stays(1);
    phase_stop_nodes(&run, 5);
    assert_null(sent(0));
    assert_null(sent(1));
    assert_int_equal(node[0].state, NODE_DONE);
    assert_int_equal(run.phase.over, 0);
}

static void test_stop_again(void **state)
{
    (void)state;
    running();
    phase_stop(&run);
    expect_sent(0, FRAME_STOP);
    forget_told();
    phase_stop_nodes(&run, 1);
    expect_told("deadline stop 1;");
    expect_sent(0, FRAME_STOP);
}

/* The run waits for nodes to come back only after ranks have run. */
static void test_all_gone_before_start(void **state)
{
    (void)state;
    goes_on = true;
    phase_connect(&run);
    node_fail(&node[0], "connect", EXIT_UNREACHABLE, "", "no route");
    node_fail(&node[1], "connect", EXIT_UNREACHABLE, "", "no route");
    assert_int_equal(run.phase.now, PHASE_STOPPING);
}

/* The run ends only when the spares are gone, too. */
static void test_pool_ends(void **state)
{
    (void)state;
    running();
    pool_is_gone = false;
    node_enter(&node[0], NODE_DONE, 0);
    node_enter(&node[1], NODE_DONE, 0);
    fake_close(agent(0), NULL, false);
    fake_close(agent(1), NULL, false);
    assert_false(event_base_got_break(run.base));
    pool_is_gone = true;
    phase_maybe_end(&run);
    assert_true(event_base_got_break(run.base));
}

/* --- nodes that do not wait for each other --------------------------------------------- */

static void test_exec(void **state)
{
    (void)state;
    plan.command = COMMAND_EXEC;
    phase_connect(&run);
    forget_told();
    answers(1);
    expect_told("plan te2 of 2: credit 101;");
    node_enter(&node[1], NODE_READY, 0);
    assert_int_equal(node[1].state, NODE_RUNNING);
    expect_sent(1, FRAME_PLAN);
    expect_sent(1, FRAME_GO);
    assert_int_equal(node[0].state, NODE_CONNECTING);
    node_fail(&node[0], "connect", EXIT_UNREACHABLE, "", "no route");
    assert_int_equal(run.phase.now, PHASE_CONNECTING); /* te2 continues */
    assert_null(sent(1));
    assert_int_equal(run.phase.awaited, 0);
}

/* The node's READY crosses with STOP. */
static void test_exec_stopped(void **state)
{
    (void)state;
    plan.command = COMMAND_EXEC;
    phase_connect(&run);
    answers(0);
    phase_stop(&run);
    expect_sent(0, FRAME_PLAN);
    expect_sent(0, FRAME_STOP);
    node_enter(&node[0], NODE_READY, 0);
    assert_null(sent(0));
    assert_int_equal(node[0].state, NODE_READY);
}

static void begin_job(struct run *of, struct node *which)
{
    (void)of;
    told("begin %s;", which->plan->host);
}

static void job_over(struct run *of, struct node *which)
{
    (void)of;
    told("over %s;", which->plan->host);
}

static void test_job(void **state)
{
    static const struct node_job job = { .begin = begin_job,
                                         .over = job_over,
                                         .segment_bytes = 500 };

    (void)state;
    run.job = &job;
    phase_connect(&run);
    expect_told("ssh te1:0 in 10 s, 500 bytes at once;ssh te2:0 in 10 s, 500 bytes at once;");
    answers(0);
    expect_told("begin te1;");
    node_enter(&node[0], NODE_PROBING, 0);
    node_enter(&node[0], NODE_PROBED, 0);
    expect_sent(0, FRAME_STOP);
    assert_string_equal(node[0].awaited, "its final report");
    node_fail(&node[1], "connect", EXIT_UNREACHABLE, "", "no route");
    expect_told("over te2;");
}

#define TEST(name)                                                                             \
    cmocka_unit_test_setup_teardown(name, progress_fixture_begin, progress_fixture_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lost),
        TEST(test_lost_agent),
        TEST(test_lost_after_its_end),
        TEST(test_lost_while_restarting),
        TEST(test_all_lost_while_restarting),
        TEST(test_is_over),
        TEST(test_is_over_without_nodes),
        TEST(test_restart),
        TEST(test_restart_early),
        TEST(test_clocks_once),
        cmocka_unit_test_setup_teardown(test_role_again, roles_begin, roles_end),
        cmocka_unit_test_setup_teardown(test_role_lost, roles_begin, roles_end),
        cmocka_unit_test_setup_teardown(test_role_left, roles_begin, roles_end),
        TEST(test_leave),
        TEST(test_leave_some),
        TEST(test_make_room),
        TEST(test_stop_while_connecting),
        TEST(test_stop_while_preparing),
        TEST(test_stop_before_hello),
        TEST(test_stop_some),
        TEST(test_stop_again),
        TEST(test_all_gone_before_start),
        TEST(test_pool_ends),
        TEST(test_exec),
        TEST(test_exec_stopped),
        TEST(test_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
