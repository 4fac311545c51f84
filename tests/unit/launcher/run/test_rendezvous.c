/* test_rendezvous.c - the questions to nodes, until all know MASTER_ADDR and MASTER_PORT
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "exit_code.h"
#include "rendezvous_fixture.h"
#include "run/rendezvous.h"
#include "xalloc.h"

/* The first start, until te2's answer. */
static void ask_both(void)
{
    rendezvous_ask(&run, &node[0]);
    expect_listen();
    expect_port(29500, false);
    rendezvous_ask(&run, &node[1]);
    first_listens();
    expect_connect();
    first_holds(29500);
}

/* --- the first start ---------------------------------------------------------- */

static void test_first_start(void **state)
{
    (void)state;
    rendezvous_ask(&run, &node[1]);
    fake_expect_none(&fakes[1]); /* te1 does not listen yet */
    rendezvous_ask(&run, &node[0]);
    assert_int_equal(node[0].state, NODE_PROBING);
    expect_listen();
    expect_port(29500, false);
    first_listens();
    expect_connect();
    assert_int_equal(node[0].state, NODE_PROBING); /* its answer about the port is pending */
    assert_int_equal(node[1].state, NODE_PROBING);
    first_holds(29500);
    assert_int_equal(node[0].state, NODE_PROBED);
    second_reaches("10.0.0.1");
    assert_int_equal(node[1].state, NODE_PROBED);
    assert_int_equal(rendezvous_choose(&run), 0);
    assert_string_equal(plan.master_addr, "10.0.0.1");
    assert_int_equal(plan.master_port, 29500);
    assert_string_equal(plan_node[1].iface, "ens5");
    fake_expect_none(&fakes[0]);
    fake_expect_none(&fakes[1]);
}

/* expect_horovod("address", "10.0.0.1"): node 0 is asked this */
static void expect_horovod(const char *key, const char *value)
{
    json_t *body = fake_expect(&fakes[0], FRAME_PROBE);

    assert_string_equal(json_string_value(json_object_get(body, "op")), "horovod");
    assert_int_equal(json_object_size(body), key != NULL ? 2 : 1);
    if (key != NULL)
        assert_string_equal(json_string_value(json_object_get(body, key)), value);
    json_decref(body);
}

static void first_serves(int port)
{
    answer(0, json_pack("{s:s, s:i}", "op", "horovod", "port", port));
}

/* GO waits for the port of each generation; node 0 answers the ranks from GO on. */
static void test_horovod(void **state)
{
    (void)state;
    plan.uses_horovod = true;
    rendezvous_ask(&run, &node[0]);
    expect_listen();
    expect_horovod(NULL, NULL);
    expect_port(29500, false);
    first_listens();
    first_holds(29500);
    assert_int_equal(node[0].state, NODE_PROBING); /* it owes the other port */
    first_serves(40001);
    assert_int_equal(node[0].state, NODE_PROBED);
    rendezvous_ask(&run, &node[1]);
    expect_connect();
    second_reaches("10.0.0.1");
    assert_int_equal(plan.horovod_port, 40001);
    assert_int_equal(rendezvous_choose(&run), 0);
    expect_horovod("address", "10.0.0.1");

    node[0].state = node[1].state = NODE_STAYING;
    rendezvous_again(&run, &plan);
    expect_horovod(NULL, NULL);
    expect_port(29501, false);
    first_holds(29501);
    assert_false(rendezvous_take_ready(&run, &node[0]));
    first_serves(40002);
    assert_int_equal(plan.horovod_port, 40002);
    assert_int_equal(rendezvous_choose(&run), 0);
    expect_horovod("address", "10.0.0.1");
}

/* Its ranks have no IPv6: they are not answered anywhere. */
static void test_horovod_v6(void **state)
{
    (void)state;
    plan.uses_horovod = true;
    plan.nodes = 1;
    plan.master_addr = xstrdup("fd00::1");
    rendezvous_ask(&run, &node[0]);
    expect_horovod(NULL, NULL);
    expect_port(29500, false);
    first_serves(40001);
    first_holds(29500);
    assert_int_equal(rendezvous_choose(&run), 0);
    fake_expect_none(&fakes[0]);
    assert_true(cautions_any(&run.outcome.cautions));
}

static void test_horovod_fails(void **state)
{
    (void)state;
    plan.uses_horovod = true;
    rendezvous_ask(&run, &node[0]);
    answer(0, json_pack("{s:s, s:s}", "op", "horovod", "error", "cannot listen: no ports"));
    assert_string_equal(node[0].failure->text, "cannot listen: no ports");
}

/* muster does not wait for te2: te1 listens before te2 is connected. */
static void test_late_node(void **state)
{
    (void)state;
    rendezvous_ask(&run, &node[0]);
    expect_listen();
    expect_port(29500, false);
    first_holds(29501); /* 29500 was taken */
    first_listens();
    assert_int_equal(node[0].state, NODE_PROBED);
    fake_expect_none(&fakes[1]);
    rendezvous_ask(&run, &node[1]);
    expect_connect();
    second_reaches("10.0.0.1");
    assert_int_equal(rendezvous_choose(&run), 0);
    assert_int_equal(plan.master_port, 29501);
}

static void test_alone(void **state)
{
    (void)state;
    plan.nodes = 1;
    rendezvous_ask(&run, &node[0]);
    expect_port(29500, false);
    first_holds(29500);
    assert_int_equal(node[0].state, NODE_PROBED);
    assert_int_equal(rendezvous_choose(&run), 0);
    assert_string_equal(plan.master_addr, "127.0.0.1");
}

/* --master_port allows no other port. */
static void test_port_is_given(void **state)
{
    (void)state;
    options.master_port = 1234;
    rendezvous_ask(&run, &node[0]);
    expect_listen();
    expect_port(1234, true);
    answer(0, json_pack("{s:s, s:s, s:s}", "op", "port", "error", "port 1234 is in use", "holder",
                        "sshd (pid 7)"));
    expect_failure(0, "master port", EXIT_CREATE, "port 1234 is in use, held by sshd (pid 7)");
}

static void test_nobody_is_asked(void **state)
{
    (void)state;
    options.no_ssh = true;
    rendezvous_ask(&run, &node[0]);
    rendezvous_ask(&run, &node[1]);
    fake_expect_none(&fakes[0]);
    fake_expect_none(&fakes[1]);
    assert_true(rendezvous_take_ready(&run, &node[0]));
    assert_int_equal(rendezvous_choose(&run), 0);
    assert_string_equal(plan.master_addr, "127.0.0.1");
    assert_int_equal(plan.master_port, 29500);
}

/* --- READY and the answer, in either order ------------------------------------ */

static void test_ready_first(void **state)
{
    (void)state;
    ask_both();
    run.phase.now = PHASE_PREPARING;
    node[0].state = node[1].state = NODE_PREPARING;
    assert_true(rendezvous_take_ready(&run, &node[0]));
    assert_false(rendezvous_take_ready(&run, &node[1]));
    assert_int_equal(node[1].state, NODE_PREPARING);
    second_reaches("10.0.0.1");
    assert_int_equal(node[1].state, NODE_READY);
}

static void test_ready_last(void **state)
{
    (void)state;
    ask_both();
    run.phase.now = PHASE_PREPARING;
    node[1].state = NODE_PREPARING;
    second_reaches("10.0.0.1");
    assert_int_equal(node[1].state, NODE_PREPARING);
    assert_true(rendezvous_take_ready(&run, &node[1]));
}

/* te1 is gone, so muster cannot ask te2, and must not wait for it. */
static void test_without_first(void **state)
{
    struct conn_failure why = { .stage = "prepare", .text = "no space" };

    (void)state;
    rendezvous_ask(&run, &node[0]);
    rendezvous_ask(&run, &node[1]);
    node[1].state = NODE_PREPARING;
    assert_false(rendezvous_take_ready(&run, &node[1]));
    node_give_up(&node[0], &why, 0);
    rendezvous_without(&run, run.node[0]);
    assert_int_equal(node[1].state, NODE_READY);
    node[1].state = NODE_PREPARING;
    assert_true(rendezvous_take_ready(&run, &node[1]));
}

/* The same if te2 comes after te1 has listened and then failed. */
static void test_first_is_gone(void **state)
{
    struct conn_failure why = { .stage = "prepare", .text = "no space" };

    (void)state;
    rendezvous_ask(&run, &node[0]);
    first_listens();
    node_give_up(&node[0], &why, 0);
    rendezvous_ask(&run, &node[1]);
    fake_expect_none(&fakes[1]);
    assert_true(rendezvous_take_ready(&run, &node[1]));
}

static void test_stopped(void **state)
{
    (void)state;
    ask_both();
    node_stop(&node[1], 0);
    second_reaches("10.0.0.1");
    assert_int_equal(node[1].state, NODE_PROBING);
    assert_null(node[1].failure);
}

/* --- errors ------------------------------------------------------------------- */

static void test_nobody_asked(void **state)
{
    (void)state;
    second_reaches("10.0.0.1");
    expect_failure(1, "protocol", EXIT_PROTOCOL, "PROBED frame: muster did not ask for it");
}

static void test_answer_of_another(void **state)
{
    (void)state;
    ask_both();
    answer(1, json_pack("{s:s, s:i}", "op", "port", "port", 1));
    expect_failure(1, "protocol", EXIT_PROTOCOL, "PROBED frame: muster did not ask for it");
}

static void test_no_port(void **state)
{
    (void)state;
    rendezvous_ask(&run, &node[0]);
    answer(0, json_pack("{s:s}", "op", "listen"));
    expect_failure(0, "protocol", EXIT_PROTOCOL, "PROBED frame without a port");
}

static void test_no_address(void **state)
{
    (void)state;
    json_decref(node[0].hello);
    node[0].hello = json_pack("{s:[]}", "addresses");
    rendezvous_ask(&run, &node[0]);
    assert_string_equal(node[0].failure->stage, "probe");
    assert_int_equal(node[0].failure->exit_code, EXIT_UNREACHABLE);
}

static void test_not_reached(void **state)
{
    (void)state;
    ask_both();
    second_reaches_none();
    assert_false(rendezvous_ask_again(&run)); /* te1 was not busy */
    assert_int_equal(rendezvous_choose(&run), -1);
    assert_int_equal(run.outcome.cause, EXIT_UNREACHABLE);
    assert_non_null(strstr(run.outcome.cause_text, "--master_addr overrides"));
    assert_null(node[1].failure);
}

/* te1 was busy with its PLAN: muster asks once more, but only once. */
static void test_first_was_busy(void **state)
{
    (void)state;
    ask_both();
    run.phase.now = PHASE_PREPARING;
    node[1].state = NODE_READY;
    second_reaches_none();
    assert_true(rendezvous_ask_again(&run));
    expect_told("await te2;");
    expect_connect();
    second_reaches("10.0.0.1");
    assert_int_equal(node[1].state, NODE_READY);
    assert_false(evtimer_pending(node[1].late, NULL)); /* its time limit is off */
    assert_false(rendezvous_ask_again(&run));
    assert_int_equal(rendezvous_choose(&run), 0);
    assert_string_equal(plan.master_addr, "10.0.0.1");
}

static void test_busy_for_ever(void **state)
{
    (void)state;
    ask_both();
    run.phase.now = PHASE_PREPARING;
    node[1].state = NODE_READY;
    second_reaches_none();
    assert_true(rendezvous_ask_again(&run));
    second_reaches_none();
    assert_false(rendezvous_ask_again(&run));
    assert_int_equal(rendezvous_choose(&run), -1);
}

/* --- the next generations ----------------------------------------------------- */

/* Both nodes have run a generation, and stay. */
static void run_once(void)
{
    rendezvous_ask(&run, &node[0]);
    assert_false(rendezvous_take_ready(&run, &node[0]));
    expect_listen();
    expect_port(29500, false);
    rendezvous_ask(&run, &node[1]);
    first_listens();
    expect_connect();
    first_holds(29500);
    second_reaches("10.0.0.1");
    assert_int_equal(rendezvous_choose(&run), 0);
    node_stay(&node[0]);
    node_stay(&node[1]);
    plan.generation++;
    run.phase.now = PHASE_PREPARING;
}

/* On the same nodes, muster asks only for another port. */
static void test_again(void **state)
{
    size_t where;

    (void)state;
    run_once();
    rendezvous_take_holder(&run, &node[0], "sshd (pid 7)");
    rendezvous_again(&run, &plan);
    assert_null(rendezvous_port_holder(run.rendezvous, &where));
    expect_port(29501, false);
    assert_false(rendezvous_take_ready(&run, &node[0]));
    assert_true(rendezvous_take_ready(&run, &node[1]));
    node[0].state = NODE_PREPARING;
    first_holds(29501);
    assert_int_equal(node[0].state, NODE_READY);
    assert_int_equal(rendezvous_choose(&run), 0);
    assert_string_equal(plan.master_addr, "10.0.0.1");
    assert_int_equal(plan.master_port, 29501);
    fake_expect_none(&fakes[0]);
    fake_expect_none(&fakes[1]);
}

static void test_again_port_first(void **state)
{
    (void)state;
    run_once();
    rendezvous_again(&run, &plan);
    node[0].state = NODE_PREPARING;
    first_holds(29501);
    assert_int_equal(node[0].state, NODE_PREPARING);
    assert_true(rendezvous_take_ready(&run, &node[0]));
}

static void test_ports_in_turn(void **state)
{
    (void)state;
    run_once();
    plan.master_port = 29599;
    rendezvous_again(&run, &plan);
    expect_port(29500, false);
    options.master_port = 1234;
    rendezvous_again(&run, &plan);
    expect_port(1234, true);
}

/* As world_change() does: in it no address has been found. */
static void make_another_plan(void)
{
    size_t i;

    free(plan.master_addr);
    plan.master_addr = NULL;
    for (i = 0; i < NODES; i++) {
        free(plan_node[i].iface);
        plan_node[i].iface = NULL;
    }
}

static void test_anew(void **state)
{
    (void)state;
    run_once();
    make_another_plan();
    rendezvous_anew(&run);
    expect_listen();
    expect_port(29501, false);
    assert_int_equal(node[0].state, NODE_STAYING);
    first_listens();
    expect_connect();
    first_holds(29501);
    second_reaches("10.0.0.1");
    assert_int_equal(node[1].state, NODE_STAYING);
    assert_int_equal(rendezvous_choose(&run), 0);
    assert_string_equal(plan.master_addr, "10.0.0.1");
}

/* A run that can continue without nodes gives up the node that came last, after five tries. */
static void test_apart(void **state)
{
    int i;

    (void)state;
    run_once();
    node[1].generation = 1; /* te2 has just come */
    make_another_plan();
    goes_on = true;
    rendezvous_anew(&run);
    expect_listen();
    expect_port(29501, false);
    first_listens();
    first_holds(29501);
    for (i = 0; i < 5; i++) {
        expect_connect();
        second_reaches_none();
        assert_true(rendezvous_ask_again(&run));
    }
    expect_connect();
    second_reaches_none();
    assert_false(rendezvous_ask_again(&run));
    assert_int_equal(rendezvous_choose(&run), -1);
    assert_null(node[0].failure);
    assert_int_equal(node[1].failure->exit_code, EXIT_UNREACHABLE);
    assert_int_equal(run.outcome.cause, 0); /* the run continues */
}

static void test_port_holder(void **state)
{
    size_t where;

    (void)state;
    rendezvous_take_holder(&run, &node[1], "not where rank 0 is");
    rendezvous_take_holder(&run, &node[0], "");
    assert_null(rendezvous_port_holder(run.rendezvous, &where));
    rendezvous_take_holder(&run, &node[0], "sshd (pid 7)");
    rendezvous_take_holder(&run, &node[0], "another one, later");
    assert_string_equal(rendezvous_port_holder(run.rendezvous, &where), "sshd (pid 7)");
    assert_int_equal(where, 0);
}

/* Muster asks one node for something, which one word says. */
static void expect_op(size_t which, const char *op)
{
    json_t *body = fake_expect(&fakes[which], FRAME_PROBE);

    assert_string_equal(json_string_value(json_object_get(body, "op")), op);
    json_decref(body);
}

/* With roles a, on te1, and b, on te2: when all are ready, te1 must reach te2. */
static void test_roles(void **state)
{
    struct plan role[] = {
        { .role_name = (char *)"a", .options = &options, .nodes = 1 },
        { .role_name = (char *)"b", .options = &options, .nodes = 1, .first_node = 1,
          .first_rank = 1 },
    };
    size_t where;

    (void)state;
    plan.role = role;
    plan.roles = 2;
    plan_node[1].role = 1;
    node[1].hello = json_pack("{s:[{s:s, s:s, s:b}]}", "addresses", "if", "eth2", "addr",
                              "10.0.0.2", "loopback", 0);
    ask_both();
    second_reaches("10.0.0.1");
    node[0].state = node[1].state = NODE_READY;
    assert_int_equal(rendezvous_choose(&run), 0);
    assert_string_equal(role[0].master_addr, "10.0.0.1");
    assert_int_equal(role[0].master_port, 29500);
    assert_null(plan_node[1].iface); /* that of another role may be of another network */

    assert_true(rendezvous_ask_next(&run));
    expect_told("await te1;await te2;");
    expect_op(1, "listen");
    expect_op(1, "port");
    fake_expect_none(&fakes[0]);
    answer(1, json_pack("{s:s, s:i}", "op", "listen", "port", LISTENS));
    expect_op(0, "connect");
    assert_false(rendezvous_take_ready(&run, &node[1]));
    answer(1, json_pack("{s:s, s:i}", "op", "port", "port", 29500));
    assert_true(rendezvous_take_ready(&run, &node[1]));
    answer(0, json_pack("{s:s, s:[{s:s, s:s}]}", "op", "connect", "reached", "addr", "10.0.0.2",
                        "if", "eth1"));
    assert_int_equal(rendezvous_choose(&run), 0);
    assert_string_equal(role[1].master_addr, "10.0.0.2");
    assert_int_equal(role[1].master_port, 29500);
    assert_string_equal(plan_node[1].iface, "eth2");
    assert_false(rendezvous_ask_next(&run));

    rendezvous_take_holder(&run, &node[1], "sshd (pid 7)");
    assert_string_equal(rendezvous_port_holder(run.rendezvous, &where), "sshd (pid 7)");
    assert_int_equal(where, 1);

    /* Again: both hold other ports, and nobody need reach anybody. */
    node_stay(&node[0]);
    node_stay(&node[1]);
    run.phase.now = PHASE_PREPARING;
    rendezvous_again(&run, &plan);
    expect_port(29501, false);
    expect_op(1, "port");
    answer(1, json_pack("{s:s, s:i}", "op", "port", "port", 29502));
    first_holds(29501);
    assert_int_equal(role[0].master_port, 29501);
    assert_int_equal(role[1].master_port, 29502);
    assert_int_equal(rendezvous_choose(&run), 0);
    assert_false(rendezvous_ask_next(&run));
    free(role[0].master_addr);
    free(role[1].master_addr);
}

/* te2 is lost while te1 waits for it to listen: te1 owes no answer any more. */
static void test_roles_lost(void **state)
{
    struct plan role[] = {
        { .role_name = (char *)"a", .options = &options, .nodes = 1 },
        { .role_name = (char *)"b", .options = &options, .nodes = 1, .first_node = 1 },
    };

    (void)state;
    plan.role = role;
    plan.roles = 2;
    plan_node[1].role = 1;
    node[1].hello = json_incref(node[0].hello);
    ask_both();
    second_reaches("10.0.0.1");
    node[0].state = node[1].state = NODE_READY;
    assert_int_equal(rendezvous_choose(&run), 0);
    assert_true(rendezvous_ask_next(&run));
    assert_false(rendezvous_take_ready(&run, &node[0]));
    node_fail(&node[1], "run", EXIT_LOST, NULL, "lost");
    rendezvous_without(&run, &node[1]);
    assert_true(rendezvous_take_ready(&run, &node[0]));
    free(role[0].master_addr);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rendezvous_setup, rendezvous_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_first_start),    TEST(test_horovod),
        TEST(test_horovod_v6),     TEST(test_horovod_fails),
        TEST(test_late_node),      TEST(test_alone),
        TEST(test_port_is_given),   TEST(test_nobody_is_asked), TEST(test_ready_first),
        TEST(test_ready_last),      TEST(test_without_first),  TEST(test_first_is_gone),
        TEST(test_stopped),         TEST(test_nobody_asked),   TEST(test_answer_of_another),
        TEST(test_no_port),         TEST(test_no_address),     TEST(test_not_reached),
        TEST(test_first_was_busy), TEST(test_busy_for_ever),
        TEST(test_again),           TEST(test_again_port_first), TEST(test_ports_in_turn),
        TEST(test_anew),            TEST(test_apart),          TEST(test_port_holder),
        TEST(test_roles),
        TEST(test_roles_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
