/* test_rendezvous_name.c - the questions to nodes about --master_addr and iface=
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "exit_code.h"
#include "rendezvous_fixture.h"
#include "run/rendezvous.h"

/* With --master_addr both say whether it leads to te1. */
static void ask_by_name(void)
{
    json_t     *body;
    const char *name;
    size_t      i, addresses;

    options.master_addr = (char *)"te9";
    plan.master_addr = strdup("te9");
    rendezvous_ask(&run, &node[0]);
    expect_listen();
    expect_port(29500, false);
    rendezvous_ask(&run, &node[1]);
    first_holds(29500);
    first_listens();
    for (i = 0; i < plan.nodes; i++) {
        body = fake_expect(&fakes[i], FRAME_PROBE);
        assert_int_equal(json_unpack(body, "{s:s}", "name", &name), 0);
        assert_string_equal(name, "te9");
        addresses = json_array_size(json_object_get(body, "addresses"));
        assert_int_equal(addresses, i); /* te1 does not try its own */
        json_decref(body);
    }
    assert_int_equal(node[0].state, NODE_PROBING);
}

static void gets_there(size_t which, const char *why)
{
    answer(which, json_pack("{s:s, s:[], s:s}", "op", "connect", "reached", "name", why));
}

static void test_address_is_given(void **state)
{
    (void)state;
    run_fixture_log();
    ask_by_name();
    gets_there(0, "");
    assert_int_equal(node[0].state, NODE_PROBED);
    gets_there(1, "timed out");
    assert_false(rendezvous_ask_again(&run));
    assert_int_equal(rendezvous_choose(&run), 0);
    assert_string_equal(plan.master_addr, "te9");
    assert_int_equal(run.outcome.cause, 0);
    expect_logged("test: warning: te2: --master_addr te9 does not lead to te1, the first node "
                  "(timed out): nor does any address that it has; is there a firewall between the "
                  "nodes?\n");
    gets_there(0, "");
    expect_failure(0, "protocol", EXIT_PROTOCOL, "PROBED frame: muster did not ask for it");
}

/* te2 has tried while te1 was held up. */
static void test_address_is_given_late(void **state)
{
    (void)state;
    ask_by_name();
    gets_there(0, "");
    run.phase.now = PHASE_PREPARING;
    node[0].state = node[1].state = NODE_READY;
    gets_there(1, "timed out");
    assert_true(rendezvous_ask_again(&run));
    expect_told("await te1;await te2;");
    gets_there(0, "");
    gets_there(1, "");
    assert_false(rendezvous_ask_again(&run));
    assert_int_equal(rendezvous_choose(&run), 0);
    assert_false(cautions_any(&run.outcome.cautions));
}

static void test_address_fails_a_check(void **state)
{
    (void)state;
    plan.command = COMMAND_CHECK;
    ask_by_name();
    gets_there(0, "");
    gets_there(1, "not known");
    assert_int_equal(rendezvous_choose(&run), -1);
    assert_int_equal(run.outcome.cause, EXIT_UNREACHABLE);
}

static void test_no_interface(void **state)
{
    (void)state;
    plan_node[1].iface = strdup("none0");
    rendezvous_ask(&run, &node[0]);
    rendezvous_ask(&run, &node[1]);
    first_listens();
    expect_failure(1, "probe", EXIT_UNREACHABLE,
                   "interface none0, given by iface=, has no address");
}

/* A node alone finds itself by it, too. */
static void test_address_for_one(void **state)
{
    (void)state;
    plan.nodes = 1;
    ask_by_name();
    gets_there(0, "the name is not known there");
    assert_int_equal(node[0].state, NODE_PROBED);
    assert_int_equal(rendezvous_choose(&run), 0);
    assert_true(cautions_any(&run.outcome.cautions));
}

/* With --no_ssh, te1's muster asks te1; that of te2 asks nobody. */
static void test_address_without_ssh(void **state)
{
    (void)state;
    plan.nodes = 1;
    options.no_ssh = true;
    options.master_addr = (char *)"te9";
    plan_node[0].node_rank = 1;
    rendezvous_ask(&run, &node[0]);
    fake_expect_none(&fakes[0]);
    plan_node[0].node_rank = 0;
    rendezvous_ask(&run, &node[0]);
    expect_listen();
    first_listens();
    json_decref(fake_expect(&fakes[0], FRAME_PROBE));
    fake_expect_none(&fakes[0]); /* nor is a port held */
    gets_there(0, "");
    assert_int_equal(node[0].state, NODE_PROBED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rendezvous_setup, rendezvous_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_address_is_given),     TEST(test_address_is_given_late),
        TEST(test_address_fails_a_check), TEST(test_address_for_one),
        TEST(test_address_without_ssh),  TEST(test_no_interface),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
