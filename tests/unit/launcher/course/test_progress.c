/* test_progress.c - phases: each ends when every node has answered; and what happens in each
 *
 * The other parts of the run are in progress_fixture.c. te1 and te2 are not connected yet.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "clock.h"
#include "exit_code.h"
#include "progress_fixture.h"

#define CONNECTED "ssh te1:0 in 10 s;ssh te2:0 in 10 s;"
#define ASKED "hello te1;ask te1;hello te2;ask te2;"

/* --- connecting --------------------------------------------------------------- */

static void test_whole(void **state)
{
    (void)state;
    phase_connect(&run);
    expect_told(CONNECTED);
    answers(0);
    answers(1);
    expect_told(ASKED "check nodes;" PLANNED);
    assert_int_equal(run.phase.now, PHASE_PREPARING);
    expect_sent(0, FRAME_PLAN);
    expect_sent(1, FRAME_PLAN);
    node_enter(&node[1], NODE_READY, 0);
    expect_told("");
    node_enter(&node[0], NODE_READY, 0);
    expect_told("ask again?;choose;" GOING);
    assert_int_equal(run.phase.now, PHASE_RUNNING);
    expect_sent(0, FRAME_GO);
    expect_sent(1, FRAME_GO);
    assert_int_equal(node[1].state, NODE_RUNNING);
    assert_true(run.outcome.has_begun);
    assert_true(run.phase.go_ns > 0);
}

/* --fanout limits the handshakes at a time, whether they succeed or not. */
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

/* A node that has sent bytes has already ended its handshake. */
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

/* The time limit is twice the duration of the login, within bounds. */
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

/* --- a node fails before the ranks start ---------------------------------------- */

/* muster still waits for the other nodes, so that one table shows all failures. */
static void test_failure_waits(void **state)
{
    (void)state;
    phase_connect(&run);
    node_fail(&node[0], "connect", EXIT_UNREACHABLE, "", "no route");
    assert_int_equal(run.phase.now, PHASE_CONNECTING);
    forget_told();
    answers(1);
    expect_told("hello te2;ask te2;check nodes;deadline stop 30;");
    assert_int_equal(run.phase.now, PHASE_STOPPING);
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

/* A node has a pending question: only its answer ends the phase. */
static void test_held(void **state)
{
    (void)state;
    phase_connect(&run);
    answers(0);
    node_enter(&node[0], NODE_PROBING, 0);
    node_fail(&node[1], "connect", EXIT_UNREACHABLE, "", "no route");
    assert_true(run.phase.is_held);
    assert_int_equal(run.phase.now, PHASE_CONNECTING);
    node_enter(&node[0], NODE_PROBED, 0);
    assert_int_equal(run.phase.now, PHASE_STOPPING);
}

/* PLAN does not wait for answers to questions if no node has failed. */
static void test_not_held(void **state)
{
    (void)state;
    phase_connect(&run);
    answers(0);
    node_enter(&node[0], NODE_PROBING, 0);
    answers(1);
    assert_int_equal(run.phase.now, PHASE_PREPARING);
    expect_sent(0, FRAME_PLAN);
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

/* A third node has answered and runs nothing. */
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
    assert_int_equal(run.phase.now, PHASE_STOPPING);
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
    assert_int_equal(run.phase.now, PHASE_PREPARING);
    phase_await(&run, &node[1]); /* rendezvous.c does that then */
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
    assert_int_equal(run.phase.now, PHASE_STOPPING);
    assert_false(run.outcome.has_begun);
}

/* Between the phases pings show how the clocks differ. */
static void test_pings(void **state)
{
    (void)state;
    phase_connect(&run);
    node_enter(&node[0], NODE_GREETING, 0);
    fake_expect_none(agent(0));
    node_enter(&node[0], NODE_ANSWERED, 0);
    assert_null(fake_expect(agent(0), FRAME_PING));
    fake_expect_none(agent(0));
    plan.command = COMMAND_EXEC;
    node_enter(&node[1], NODE_ANSWERED, 0);
    json_decref(fake_expect(agent(1), FRAME_PLAN));
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
    may_restart = true;
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
    assert_false(terms[1].has_socket); /* a local agent cannot reconnect */
}

static void test_one_machine(void **state)
{
    (void)state;
    is_one_machine = true;
    prepared();
    assert_true(terms[0].is_shared);
    assert_true(terms[1].is_shared);
}

/* A later generation has the same machines. */
static void test_one_machine_again(void **state)
{
    (void)state;
    is_one_machine = true;
    all_stay();
    is_one_machine = false;
    phase_restart(&run);
    phase_prepare(&run);
    assert_true(terms[0].is_shared);
}

/* Either no node has a PID namespace, or all must have one. */
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
    assert_int_equal(compared, 2);
    assert_int_equal(node[2].state, NODE_PREPARING);
}

/* Nodes that have not sent HELLO are not compared. */
static void test_spare_first(void **state)
{
    struct plan alone = plan;

    (void)state;
    alone.nodes = 1;
    alone.node = &plan_node[2];
    is_one_machine = true;
    node[2].hello = json_object();
    phase_check_node(&run, &node[2], &alone);
    assert_int_equal(compared, 1);
    assert_false(terms[2].is_shared);
}

#define TEST(name)                                                                             \
    cmocka_unit_test_setup_teardown(name, progress_fixture_begin, progress_fixture_end)

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
        TEST(test_not_held),
        TEST(test_held_until_lost),
        TEST(test_held_until_failed),
        TEST(test_too_large),
        TEST(test_ask_again),
        TEST(test_no_address),
        TEST(test_pings),
        TEST(test_window),
        TEST(test_no_window),
        TEST(test_long_login),
        TEST(test_one_machine),
        TEST(test_one_machine_again),
        TEST(test_one_machine_not_asked),
        TEST(test_spare),
        TEST(test_spare_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
