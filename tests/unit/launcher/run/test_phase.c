/* test_phase.c - a phase ends when every node has answered; what is done in each
 *
 * The other parts of the run are in phase_fixture.c. te1 and te2 are to be connected.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "exit_code.h"
#include "phase_fixture.h"

#define CONNECTED "ssh te1:0 in 10 s;ssh te2:0 in 10 s;"
#define ASKED     "hello te1;ask te1;hello te2;ask te2;"
#define PLANNED   "plan te1 of 2: credit 100;plan te2 of 2: credit 101;"
#define GOING     "clocks;deadline;costs;status;notice;changed;"

/* --- connecting --------------------------------------------------------------- */

static void test_whole(void **state)
{
    (void)state;
    phase_connect(&run);
    expect_told(CONNECTED);
    answers(0);
    answers(1);
    expect_told(ASKED "check nodes;" PLANNED);
    assert_string_equal(phase_name(&run), "preparing");
    expect_sent(0, FRAME_PLAN);
    expect_sent(1, FRAME_PLAN);
    node_enter(&node[1], NODE_READY, 0);
    expect_told("");
    node_enter(&node[0], NODE_READY, 0);
    expect_told("ask again?;choose;" GOING);
    assert_string_equal(phase_name(&run), "running");
    expect_sent(0, FRAME_GO);
    expect_sent(1, FRAME_GO);
    assert_int_equal(node[1].state, NODE_RUNNING);
    assert_true(run.outcome.has_begun);
    assert_true(run.phase.go_ns > 0);
}

/* --fanout: so many handshakes at once, whether they succeed or not. */
static void test_fanout(void **state)
{
    (void)state;
    options.fanout = 1;
    phase_connect(&run);
    expect_told("ssh te1:0 in 10 s;");
    node_enter(&node[0], NODE_GREETING, 0);
    expect_told("ssh te2:0 in 10 s;");
}

static void test_fanout_after_failure(void **state)
{
    (void)state;
    options.fanout = 1;
    phase_connect(&run);
    forget_told();
    node_fail(&node[0], "connect", EXIT_UNREACHABLE, "", "no route");
    expect_told("ssh te2:0 in 10 s;no first;");
    assert_int_equal(run.phase.over, 1);
}

/* One that had said something has made room already. */
static void test_fanout_once(void **state)
{
    (void)state;
    options.fanout = 1;
    phase_connect(&run);
    node[0].liveness.heard_ns = clock_now_ns();
    node_enter(&node[0], NODE_GREETING, 0);
    node_fail(&node[0], "greeting", EXIT_PROTOCOL, "", "nonsense");
    assert_int_equal(run.phase.handshakes, 1); /* te2's */
}

static void test_ways(void **state)
{
    (void)state;
    options.ssh_port = 2222;
    options.transport = TRANSPORT_OPENSSH;
    plan_node[0].port = 23;
    phase_connect(&run);
    expect_told("openssh te1:23 in 10 s;openssh te2:2222 in 10 s;");
    plan_node[1].is_local = true;
    phase_conn(&run, &node[1], 7, &node_conn_ops, &node[1]);
    expect_told("exec te2:2222 in 7 s;");
    options.no_ssh = true;
    phase_conn(&run, &node[0], 7, &node_conn_ops, &node[0]);
    expect_told("exec te1:23 in 7 s;");
}

/* Twice as long as the login took, within bounds. */
static void test_dial_again(void **state)
{
    (void)state;
    node[0].login_s = 1;
    phase_dial(&node[0], &node_conn_ops, &node[0], &run);
    node[0].login_s = 4;
    phase_dial(&node[0], &node_conn_ops, &node[0], &run);
    node[0].login_s = 40;
    phase_dial(&node[0], &node_conn_ops, &node[0], &run);
    expect_told("ssh te1:0 in 5 s;ssh te1:0 in 8 s;ssh te1:0 in 10 s;");
}

/* --- one fails before the ranks start ------------------------------------------- */

/* The others are still heard, so that one table has all that is wrong. */
static void test_failure_waits(void **state)
{
    (void)state;
    phase_connect(&run);
    node_fail(&node[0], "connect", EXIT_UNREACHABLE, "", "no route");
    assert_string_equal(phase_name(&run), "connecting");
    forget_told();
    answers(1);
    expect_told("hello te2;ask te2;check nodes;deadline stop 30;");
    assert_string_equal(phase_name(&run), "stopping");
    expect_sent(1, FRAME_STOP);
    assert_int_equal(run.outcome.node[0]->exit_code, EXIT_UNREACHABLE);
}

static void test_bad_hello(void **state)
{
    (void)state;
    phase_connect(&run);
    refused = 1;
    answers(0);
    answers(1);
    expect_told(CONNECTED "hello te1;ask te1;hello te2;check nodes;deadline stop 30;");
    assert_int_equal(node[1].state, NODE_FAILED);
}

/* A node is asked something: only its answer ends the phase. */
static void test_held(void **state)
{
    (void)state;
    phase_connect(&run);
    answers(0);
    node_enter(&node[0], NODE_PROBING, 0);
    node_fail(&node[1], "connect", EXIT_UNREACHABLE, "", "no route");
    assert_true(run.phase.is_held);
    assert_string_equal(phase_name(&run), "connecting");
    node_enter(&node[0], NODE_PROBED, 0);
    assert_string_equal(phase_name(&run), "stopping");
}

static void test_held_until_lost(void **state)
{
    (void)state;
    phase_connect(&run);
    answers(0);
    node_enter(&node[0], NODE_PROBING, 0);
    node_fail(&node[1], "connect", EXIT_UNREACHABLE, "", "no route");
    forget_told();
    node_fail(&node[0], "probing", EXIT_LOST, "", "silent");
    expect_told("end?;");
    assert_true(event_base_got_break(run.base));
}

/* There is a third one, which has answered and runs nothing. */
static void test_held_until_failed(void **state)
{
    (void)state;
    three_places();
    phase_connect(&run);
    answers(0);
    node_enter(&node[0], NODE_PROBING, 0);
    node_fail(&node[1], "connect", EXIT_UNREACHABLE, "", "no route");
    answers(2);
    assert_true(run.phase.is_held);
    node_fail(&node[0], "probing", EXIT_LOST, "", "silent");
    assert_string_equal(phase_name(&run), "stopping");
    expect_sent(2, FRAME_STOP);
}

static void test_too_large(void **state)
{
    (void)state;
    refused = PLAN_TOO_LARGE;
    phase_connect(&run);
    answers(0);
    answers(1);
    assert_true(event_base_got_break(run.base));
    assert_int_equal(node[0].failure->exit_code, EXIT_USAGE);
    assert_string_equal(node[0].failure->text, "too large");
}

static void test_ask_again(void **state)
{
    (void)state;
    asks_again = true;
    prepared();
    node_enter(&node[0], NODE_READY, 0);
    node_enter(&node[1], NODE_READY, 0);
    expect_told("ask again?;");
    assert_string_equal(phase_name(&run), "preparing");
    phase_await(&run, &node[1]); /* as rendezvous.c does then */
    node_enter(&node[1], NODE_READY, 0);
    expect_told("ask again?;choose;" GOING);
}

static void test_no_address(void **state)
{
    (void)state;
    prepared();
    refused = NO_PLACE;
    node_enter(&node[0], NODE_READY, 0);
    node_enter(&node[1], NODE_READY, 0);
    expect_told("ask again?;choose;deadline stop 30;");
    assert_string_equal(phase_name(&run), "stopping");
    assert_false(run.outcome.has_begun);
}

/* --- the terms of a plan ----------------------------------------------------------- */

static void test_window(void **state)
{
    (void)state;
    node[0].login_s = 0.1;
    node[1].login_s = 3;
    prepared();
    assert_true(terms[0].window_s == 1);
    assert_true(terms[1].window_s == 6);
    assert_true(terms[0].has_socket);
    assert_true(terms[0].replace_s == 0);
    assert_false(terms[0].stays);
}

static void test_no_window(void **state)
{
    (void)state;
    options.reconnect_s = 0;
    options.replace = true;
    goes_on = true;
    plan_node[1].is_local = true;
    prepared();
    assert_true(terms[0].window_s == 0);
    assert_false(terms[0].has_socket);
    assert_true(terms[0].replace_s > 30);
    assert_true(terms[0].stays);
    assert_false(terms[0].is_local);
    assert_true(terms[1].is_local);
}

static void test_long_login(void **state)
{
    (void)state;
    node[0].login_s = 100;
    plan_node[1].is_local = true;
    prepared();
    assert_true(terms[0].window_s == 10);
    assert_false(terms[1].has_socket); /* what is forked here cannot be reached again */
}

static void test_one_machine(void **state)
{
    (void)state;
    is_one_machine = true;
    prepared();
    assert_true(terms[0].is_shared);
    assert_true(terms[1].is_shared);
}

/* Nobody has a PID namespace anyway, or everybody must have one. */
static void test_one_machine_not_asked(void **state)
{
    (void)state;
    is_one_machine = true;
    options.no_pidns = true;
    prepared();
    options.no_pidns = false;
    options.strict_containment = true;
    stays(0);
    stays(1);
    phase_prepare(&run);
    assert_false(terms[0].is_shared);
    assert_null(run.phase.shared);
}

static void test_spare(void **state)
{
    struct plan alone = plan;

    (void)state;
    prepared();
    alone.nodes = 1;
    alone.node = &plan_node[2];
    is_one_machine = true;
    node[1].hello = json_object();
    node[2].hello = json_object();
    phase_check_node(&run, &node[2], &alone);
    expect_told("plan te3 of 1: credit 0;");
    assert_true(terms[2].is_check);
    assert_true(terms[2].stays);
    assert_true(terms[2].is_shared);
    assert_int_equal(node[2].state, NODE_PREPARING);
}

/* --- the ranks run ------------------------------------------------------------------ */

static void test_lost(void **state)
{
    (void)state;
    running();
    node_fail(&node[0], "running", EXIT_LOST, "", "silent");
    expect_told("pause?;deadline stop 30;");
    assert_string_equal(phase_name(&run), "stopping");
    assert_true(run.phase.stop_ns > 0);
    expect_sent(1, FRAME_STOP);
    assert_int_equal(run.phase.over, 1);
    phase_stop(&run); /* once is enough */
    expect_told("");
}

/* It counts as over only when what it had left is gone. */
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

/* Its ranks had ended: that is no failure of the run. */
static void test_lost_after_its_end(void **state)
{
    (void)state;
    running();
    node_stay(&node[0]);
    assert_int_equal(looks, 1);
    node_fail(&node[0], "staying", EXIT_LOST, "", "cut");
    expect_told("");
    assert_string_equal(phase_name(&run), "running");
    assert_null(run.outcome.node[0]);
    assert_int_equal(run.phase.over, 1);
}

static void test_lost_while_restarting(void **state)
{
    (void)state;
    goes_on = true;
    running();
    stays(0);
    stays(1);
    phase_restart(&run);
    expect_told("costs over;");
    node_fail(&node[0], "staying", EXIT_LOST, "", "cut");
    expect_told("pause?;lost te1;");
    assert_non_null(run.outcome.node[0]);
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

/* A generation is stopped while it is prepared: what it awaited is not awaited any more. */
static void test_restart_early(void **state)
{
    (void)state;
    goes_on = true;
    running();
    stays(0);
    stays(1);
    phase_restart(&run);
    phase_prepare(&run);
    phase_stop(&run);
    stays(0);
    stays(1);
    assert_true(run_had_ended(&run, &node[1]));
    phase_restart(&run);
    stays(1); /* it says so late, of the last one */
    assert_false(run_had_ended(&run, &node[1]));
    phase_prepare(&run);
    node_enter(&node[0], NODE_READY, 0);
    assert_string_equal(phase_name(&run), "preparing");
    node_enter(&node[1], NODE_READY, 0);
    assert_string_equal(phase_name(&run), "running");
}

/* Clocks were compared at the first start. */
static void test_clocks_once(void **state)
{
    (void)state;
    plan.generation = 1;
    prepared();
    node_enter(&node[0], NODE_READY, 0);
    node_enter(&node[1], NODE_READY, 0);
    expect_told("ask again?;choose;deadline;costs;status;notice;changed;");
}

static void test_leave(void **state)
{
    (void)state;
    goes_on = true;
    running();
    stays(0);
    stays(1);
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

/* A larger world: what was noted of nodes is forgotten, and none is left to connect. */
static void test_make_room(void **state)
{
    (void)state;
    running();
    run.phase.over = 1;
    run.phase.stayed[0] = true;
    phase_make_room(&run);
    assert_string_equal(phase_name(&run), "running");
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

/* Its agent is there, but has been told nothing: it ends by itself when it is cut. */
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

/* A node that is done is not told to stop, nor one that waits for another generation. */
static void test_stop_some(void **state)
{
    (void)state;
    goes_on = true;
    running();
    node_enter(&node[0], NODE_DONE, 0);
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

/* It waits for nodes that come back only once ranks have run. */
static void test_all_gone_before_start(void **state)
{
    (void)state;
    goes_on = true;
    phase_connect(&run);
    node_fail(&node[0], "connect", EXIT_UNREACHABLE, "", "no route");
    node_fail(&node[1], "connect", EXIT_UNREACHABLE, "", "no route");
    assert_string_equal(phase_name(&run), "stopping");
}

/* Spares have to go, too. */
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
    assert_string_equal(phase_name(&run), "connecting"); /* the other one goes on */
    assert_null(sent(1));
    assert_int_equal(run.phase.awaited, 0);
}

/* Its READY was on the way when it was told to stop. */
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
    static const struct node_job job = { .begin = begin_job, .over = job_over,
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
    node_fail(&node[1], "connect", EXIT_UNREACHABLE, "", "no route");
    expect_told("over te2;");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, phase_fixture_begin, phase_fixture_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_whole),
        TEST(test_fanout),
        TEST(test_fanout_after_failure),
        TEST(test_fanout_once),
        TEST(test_ways),
        TEST(test_dial_again),
        TEST(test_failure_waits),
        TEST(test_bad_hello),
        TEST(test_held),
        TEST(test_held_until_lost),
        TEST(test_held_until_failed),
        TEST(test_too_large),
        TEST(test_ask_again),
        TEST(test_no_address),
        TEST(test_window),
        TEST(test_no_window),
        TEST(test_long_login),
        TEST(test_one_machine),
        TEST(test_one_machine_not_asked),
        TEST(test_spare),
        TEST(test_lost),
        TEST(test_lost_agent),
        TEST(test_lost_after_its_end),
        TEST(test_lost_while_restarting),
        TEST(test_restart),
        TEST(test_restart_early),
        TEST(test_clocks_once),
        TEST(test_leave),
        TEST(test_leave_some),
        TEST(test_make_room),
        TEST(test_stop_while_connecting),
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
