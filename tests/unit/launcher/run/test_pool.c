/* test_pool.c - hosts without a place: they connect, are checked, wait, get a place, and leave
 *
 * The test plays the generation, the phases and the checks. te1 and te2 have places, te3 has
 * none. All agents are fakes.
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

#include "exit_code.h"
#include "run/costs.h"
#include "run/generation.h"
#include "run/leaving.h"
#include "run/notice.h"
#include "run/pool.h"
#include "run/start_check.h"
#include "run_fixture.h"

#define SPARE 2 /* te3 */

static bool               hello_is_good, ready_is_good;
static struct host        host[HOSTS + 1];
static struct selected    selected[HOSTS + 1];
static int                slots[2] = { 0, 1 };
static struct selection   hosts = { selected, HOSTS };
static struct program     program;
static char              *here[] = { NULL };
static struct plan_source source = { &options, &hosts, &program, here };

/* --- the others ------------------------------------------------------------- */

void generation_changed(struct run *of)
{
    (void)of;
    told("changed;");
}

double generation_now_s(void)
{
    return 1000;
}

void leaving_forget(struct run *of, const char *name)
{
    (void)of;
    told("forget %s;", name);
}

void leaving_back(struct run *of, const char *name)
{
    (void)of;
    told("back %s;", name);
}

void costs_look(struct run *of)
{
    (void)of;
}

bool start_check_hello(const struct run *of, struct node *which)
{
    (void)of;
    if (!hello_is_good)
        node_fail(which, "check", EXIT_CREATE, "update it", "too old");
    return hello_is_good;
}

bool start_check_other(const struct run *of, struct node *which)
{
    (void)of, (void)which;
    return true;
}

bool start_check_ready(struct run *of, struct node *which, const json_t *ready)
{
    (void)of, (void)ready;
    if (!ready_is_good)
        node_fail(which, "check", EXIT_CREATE, "", "its clock is wrong");
    return ready_is_good;
}

void notice_take(struct run *of, struct node *which, const json_t *body)
{
    (void)of, (void)body;
    told("notice of %s;", which->plan->host);
}

void phase_check_node(struct run *of, struct node *which, const struct plan *alone)
{
    (void)of;
    told("check %s with %d ranks;", which->plan->host, alone->world_size);
    node_enter(which, NODE_PREPARING, 0);
}

struct conn *phase_conn(struct run *of, struct node *which, double stage_s,
                        const struct conn_ops *ops, void *arg)
{
    (void)of, (void)which, (void)stage_s;
    return &fake_make(ops, arg)->conn;
}

struct conn *phase_dial(struct node *which, const struct conn_ops *ops, void *ops_arg, void *arg)
{
    return phase_conn(arg, which, 0, ops, ops_arg);
}

void phase_maybe_end(struct run *of)
{
    (void)of;
    told("end?");
}

/* --- the run ---------------------------------------------------------------- */

static int setup(void **state)
{
    static const struct member_rules rules = { .goes_on = true };
    size_t                           i;

    (void)state;
    run_fixture_begin();
    options = (struct options){ .cwd = (char *)"/tmp" };
    hello_is_good = ready_is_good = true;
    for (i = 0; i < HOSTS + 1; i++) {
        host[i] = (struct host){ .name = i < HOSTS ? (char *)names[i] : (char *)"te4", .slots = 2 };
        selected[i] = (struct selected){ &host[i], slots, 2 };
    }
    hosts = (struct selection){ selected, HOSTS };
    plan.source = &source;
    plan.run_id = (char *)"r";
    plan.stamp = (char *)"r";
    run.pool = pool_new(&run, &rules);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pool_free(run.pool);
    run_fixture_end();
    return 0;
}

static struct node *spare(void)
{
    return pool_node(&run, NODES + SPARE);
}

static struct fake_conn *agent(void)
{
    return &fakes[fakes_made - 1];
}

static struct member *member(void)
{
    return &pool_members(&run)->item[SPARE];
}

static void expect_pings(int count)
{
    while (count-- > 0)
        assert_null(fake_expect(agent(), FRAME_PING));
}

static void expect_stop(void)
{
    json_t *body = fake_expect(agent(), FRAME_STOP);

    assert_true(json_number_value(json_object_get(body, "grace_s")) == 0);
    json_decref(body);
}

/* te3 connects, up to its HELLO. */
static void answers(void)
{
    pool_connect(&run, SPARE);
    expect_told("forget te3;");
    assert_int_equal(spare()->state, NODE_CONNECTING);
    assert_true(agent()->is_started);
    node_enter(spare(), NODE_ANSWERED, 0);
}

static void becomes_spare(void)
{
    answers();
    expect_told("check te3 with 2 ranks;");
    fake_say(agent(), FRAME_READY, json_object());
    expect_pings(3);
    expect_stop();
    fake_say(agent(), FRAME_DONE, json_pack("{s:b}", "stays", 1));
    assert_int_equal(spare()->state, NODE_STAYING);
}

/* The agent exits after STOP; the event loop frees the node. */
static void is_gone(void)
{
    fake_close(agent(), NULL, false);
    assert_non_null(spare()); /* callers may still use it */
    assert_int_equal(member()->state, MEMBER_GOING);
    run_fixture_turn(0);
    assert_null(spare());
    assert_int_equal(member()->state, MEMBER_AWAY);
}

/* --- the hosts ---------------------------------------------------------------- */

static void test_hosts(void **state)
{
    (void)state;
    assert_int_equal(pool_count(&run), HOSTS);
    assert_int_equal(pool_members(&run)->item[0].state, MEMBER_IN);
    assert_int_equal(pool_members(&run)->item[1].state, MEMBER_IN);
    assert_int_equal(member()->state, MEMBER_AWAY);
    assert_string_equal(pool_name(&run, 1), "te2");
    assert_int_equal(pool_find(&run, "te3"), SPARE);
    assert_int_equal(pool_find(&run, "te"), MEMBERS_NONE);
    assert_int_equal(pool_host(&run, SPARE, 1).slots, 1);
    assert_int_equal(pool_host(&run, SPARE, 9).slots, 2);
    assert_int_equal(pool_nodes(&run), NODES + HOSTS);
    assert_ptr_equal(pool_node(&run, 1), &node[1]);
    assert_null(spare());
}

/* A run that does not continue without nodes needs only the hosts of its plan. */
static void test_no_pool(void **state)
{
    static const struct member_rules rules = { 0 };

    (void)state;
    pool_free(run.pool);
    run.pool = pool_new(&run, &rules);
    assert_int_equal(pool_count(&run), 0);
    assert_int_equal(pool_nodes(&run), NODES);
    assert_true(pool_end(&run));
}

static void test_offer(void **state)
{
    (void)state;
    members_leave(pool_members(&run), 0);
    hosts = (struct selection){ selected + 1, HOSTS }; /* te2 te3 te4 */
    pool_offer(&run, &hosts);
    assert_int_equal(pool_count(&run), HOSTS + 1);
    assert_string_equal(pool_name(&run, HOSTS), "te4");
    assert_int_equal(pool_host(&run, HOSTS, 9).slots, 2);
    assert_false(pool_members(&run)->item[0].is_offered);
    assert_true(pool_members(&run)->item[1].is_offered);
    assert_true(pool_members(&run)->item[0].is_leaving);
    host[HOSTS].name = (char *)"another one"; /* the pool has its own te4 */
    pool_offer(&run, &hosts);
    assert_int_equal(pool_count(&run), HOSTS + 2);
    assert_string_equal(pool_name(&run, HOSTS), "te4");
    assert_string_equal(pool_name(&run, HOSTS + 1), "another one");
    hosts = (struct selection){ selected, HOSTS };
    pool_offer(&run, &hosts);
    assert_int_equal(pool_count(&run), HOSTS + 2);
    assert_true(pool_members(&run)->item[0].is_offered);
    assert_false(pool_members(&run)->item[0].is_leaving);
    expect_told("back te1;");
}

/* --- coming -------------------------------------------------------------------- */

static void test_becomes_spare(void **state)
{
    (void)state;
    becomes_spare();
    assert_int_equal(member()->state, MEMBER_SPARE);
    assert_int_equal(spare()->generation, 2);
    expect_told("changed;");
}

static void test_hello_is_refused(void **state)
{
    (void)state;
    hello_is_good = false;
    answers();
    assert_int_equal(spare()->state, NODE_FAILED);
    assert_true(member()->is_told);
    assert_true(member()->free_s > 1000); /* no retry at once */
    expect_told("");
    run_fixture_turn(0);
    assert_null(spare());
    assert_int_equal(member()->state, MEMBER_AWAY);
    expect_told("changed;");
}

static void test_ready_is_refused(void **state)
{
    (void)state;
    ready_is_good = false;
    answers();
    fake_say(agent(), FRAME_READY, json_object());
    assert_int_equal(spare()->state, NODE_FAILED);
    assert_string_equal(spare()->failure->text, "its clock is wrong");
}

/* The agent says why it cannot take part, and then exits. */
static void test_error(void **state)
{
    (void)state;
    answers();
    fake_say(agent(), FRAME_ERROR, json_pack("{s:i, s:s, s:s}", "code", EXIT_CREATE, "text",
                                             "no such directory", "hint", "mount it"));
    assert_int_equal(spare()->state, NODE_PREPARING);
    assert_int_equal(spare()->failure->exit_code, EXIT_CREATE);
    assert_string_equal(spare()->failure->text, "no such directory");
    assert_string_equal(spare()->failure->hint, "mount it");
    fake_say(agent(), FRAME_DONE, json_pack("{s:b}", "stays", 1));
    assert_int_equal(spare()->state, NODE_DONE);
    is_gone();
    assert_true(member()->free_s > 1000);
}

static void test_foreign_frame(void **state)
{
    (void)state;
    answers();
    fake_say(agent(), FRAME_PROBED, json_object());
    assert_int_equal(spare()->state, NODE_FAILED);
    assert_int_equal(spare()->failure->exit_code, EXIT_PROTOCOL);
}

static void test_notice_frame(void **state)
{
    (void)state;
    answers();
    forget_told();
    fake_say(agent(), FRAME_NOTICE, json_object());
    expect_told("notice of te3;");
    assert_null(spare()->failure);
}

/* Frames that cross with STOP are ignored. */
static void test_frame_after_stop(void **state)
{
    (void)state;
    answers();
    pool_leave(&run, SPARE);
    expect_pings(2);
    expect_stop();
    assert_int_equal(member()->state, MEMBER_GOING);
    fake_say(agent(), FRAME_PROBED, json_object());
    assert_null(spare()->failure);
    fake_say(agent(), FRAME_DONE, json_pack("{s:b}", "stays", 0));
    assert_int_equal(spare()->state, NODE_DONE);
    is_gone();
}

/* --- a place, and none ----------------------------------------------------------- */

static void test_place(void **state)
{
    struct node *taken;

    (void)state;
    becomes_spare();
    taken = pool_take(&run, SPARE);
    assert_null(spare());
    assert_null(pool_take(&run, SPARE));
    node_place(taken, 1, &plan_node[1], node[1].ops);
    forget_told();
    pool_put(&run, SPARE, taken);
    assert_ptr_equal(spare(), taken);
    assert_int_equal(taken->index, SPARE);
    assert_string_equal(taken->plan->host, "te3");
    assert_int_equal(taken->state, NODE_STAYING);
    fake_expect_none(agent());
}

/* The node loses its place because it will leave. */
static void test_place_of_leaving(void **state)
{
    struct node *taken;

    (void)state;
    becomes_spare();
    taken = pool_take(&run, SPARE);
    members_leave(pool_members(&run), SPARE);
    pool_put(&run, SPARE, taken);
    expect_stop();
    assert_int_equal(taken->state, NODE_DONE);
    is_gone();
}

static void test_place_of_host_not_offered(void **state)
{
    struct node *taken;

    (void)state;
    becomes_spare();
    taken = pool_take(&run, SPARE);
    member()->is_offered = false;
    pool_put(&run, SPARE, taken);
    expect_stop();
    assert_int_equal(taken->state, NODE_DONE);
}

/* --- leaving ------------------------------------------------------------------- */

static void test_leave(void **state)
{
    (void)state;
    becomes_spare();
    forget_told();
    pool_leave(&run, SPARE);
    expect_stop();
    assert_int_equal(spare()->state, NODE_DONE);
    pool_leave(&run, SPARE); /* once is enough */
    fake_expect_none(agent());
    is_gone();
    expect_told("changed;");
}

static void test_leave_while_connecting(void **state)
{
    (void)state;
    pool_connect(&run, SPARE);
    pool_leave(&run, SPARE);
    assert_int_equal(spare()->state, NODE_ENDED);
    run_fixture_turn(0);
    assert_null(spare());
    assert_int_equal(member()->state, MEMBER_AWAY);
}

/* A notice, or a new list of hosts, arrives during the check. */
static void test_leave_when_checked(void **state)
{
    (void)state;
    answers();
    members_leave(pool_members(&run), SPARE);
    fake_say(agent(), FRAME_READY, json_object());
    expect_pings(3);
    expect_stop();
    forget_told();
    fake_say(agent(), FRAME_DONE, json_pack("{s:b}", "stays", 1));
    expect_stop();
    assert_int_equal(spare()->state, NODE_DONE);
    assert_int_not_equal(member()->state, MEMBER_SPARE);
    expect_told("");
}

static void test_notice(void **state)
{
    (void)state;
    becomes_spare();
    forget_told();
    assert_false(pool_take_notice(&run, &node[1], 30, "spot"));
    assert_true(pool_take_notice(&run, spare(), 30, "spot"));
    expect_told("changed;"); /* another one may be needed */
    expect_stop();
    assert_true(member()->is_leaving);
}

static void test_lost(void **state)
{
    (void)state;
    becomes_spare();
    forget_told();
    fake_close(agent(), "connection reset", false);
    assert_int_equal(spare()->state, NODE_FAILED);
    assert_true(member()->free_s > 1000);
    run_fixture_turn(0);
    assert_null(spare());
    expect_told("changed;");
}

/* A silent node gets no place. */
static void test_silent(void **state)
{
    (void)state;
    becomes_spare();
    forget_told();
    pool_look(&run);
    expect_told("");
    spare()->liveness.is_suspect = true;
    pool_look(&run);
    pool_look(&run);
    expect_told("changed;");
    assert_true(member()->is_silent);
    spare()->liveness.is_suspect = false;
    pool_look(&run);
    expect_told("changed;");
    assert_false(member()->is_silent);
}

static void test_end(void **state)
{
    (void)state;
    hosts.count = HOSTS + 1;
    pool_offer(&run, &hosts); /* te4 is not connected */
    becomes_spare();
    forget_told();
    assert_false(pool_end(&run));
    expect_stop();
    is_gone();
    expect_told("end?");
    assert_true(pool_end(&run));
}

/* The run ends during the check of te3: the check's DONE does not make te3 a spare. */
static void test_end_while_checked(void **state)
{
    (void)state;
    answers();
    forget_told();
    assert_false(pool_end(&run));
    expect_pings(2);
    expect_stop();
    fake_say(agent(), FRAME_DONE, json_pack("{s:b}", "stays", 1));
    expect_stop();
    is_gone();
    expect_told("end?");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_hosts),
        TEST(test_no_pool),
        TEST(test_offer),
        TEST(test_becomes_spare),
        TEST(test_hello_is_refused),
        TEST(test_ready_is_refused),
        TEST(test_error),
        TEST(test_foreign_frame),
        TEST(test_notice_frame),
        TEST(test_frame_after_stop),
        TEST(test_place),
        TEST(test_place_of_leaving),
        TEST(test_place_of_host_not_offered),
        TEST(test_leave),
        TEST(test_leave_while_connecting),
        TEST(test_leave_when_checked),
        TEST(test_notice),
        TEST(test_lost),
        TEST(test_silent),
        TEST(test_end),
        TEST(test_end_while_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
