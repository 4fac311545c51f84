/* test_spare.c - nodes without a place: they connect, are checked, and wait
 *
 * The test plays the pool, the phases and the checks. te3 has no place; its agent is a fake.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exit_code.h"
#include "run/costs.h"
#include "run/notice.h"
#include "run/pool.h"
#include "run/spare.h"
#include "run/start_check.h"
#include "run_fixture.h"

#define SPARE 2 /* te3 */
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static bool                    has_plan, hello_is_good, other_is_good, ready_is_good, is_ending;
static struct plan             alone; /* of te3 */
static struct node *const      spare = &node[SPARE];
static orphan_cleanup_over_cb *cleanup_is_over;

/* --- the others ------------------------------------------------------------- */

struct node *pool_make_node(struct run *of, size_t which)
{
    told("make %s;", names[which]);
    if (!has_plan)
        return NULL;
    node_clear(&node[which]);
    node_init(&node[which], which, &plan_node[which], of->base, &spare_node_ops, of);
    return &node[which];
}

const struct plan *pool_plan(const struct run *of, size_t which)
{
    (void)of;
    assert_int_equal(which, SPARE);
    return &alone;
}

struct membership *pool_members(const struct run *of)
{
    (void)of;
    return &members;
}

bool pool_is_ending(const struct run *of)
{
    (void)of;
    return is_ending;
}

void pool_joined(struct run *of, size_t which)
{
    (void)of;
    told("joined %s;", names[which]);
}

void pool_over(struct run *of, size_t which)
{
    (void)of;
    told("over %s;", names[which]);
}

void pool_tidy(struct run *of)
{
    (void)of;
    told("tidy;");
}

void costs_look(struct run *of)
{
    (void)of;
    told("costs;");
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
    (void)of;
    if (!other_is_good)
        node_fail(which, "check", EXIT_CREATE, "", "another system");
    return other_is_good;
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
    (void)of;
    told("notice of %s in %d s;", which->plan->host,
         (int)json_integer_value(json_object_get(body, "left_s")));
}

void phase_check_node(struct run *of, struct node *which, const struct plan *by)
{
    (void)of;
    assert_ptr_equal(by, &alone);
    told("check %s;", which->plan->host);
    node_enter(which, NODE_PREPARING, 0);
}

struct conn *phase_conn(struct run *of, struct node *which, double stage_s,
                        const struct conn_ops *ops, void *arg)
{
    (void)of;
    told("dial %s in %g s;", which->plan->host, stage_s);
    return &fake_make(ops, arg)->conn;
}

struct conn *phase_dial(struct node *which, const struct conn_ops *ops, void *ops_arg,
                        void *arg)
{
    return phase_conn(arg, which, 0, ops, ops_arg);
}

void orphan_cleanup_start(struct node *of, const char *run_id, orphan_cleanup_over_cb *over,
                          void *arg)
{
    assert_ptr_equal(arg, &run);
    told("clean %s of %s;", of->plan->host, run_id);
    cleanup_is_over = over;
}

void orphan_cleanup_end(struct node *of)
{
    (void)of;
}

/* --- the run ---------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    run_fixture_begin();
    options.connect_timeout_s = 7;
    plan.run_id = (char *)"r";
    has_plan = hello_is_good = other_is_good = ready_is_good = true;
    is_ending = false;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    run_fixture_end();
    return 0;
}

static struct fake_conn *agent(void)
{
    return &fakes[fakes_made - 1];
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
    spare_connect(&run, SPARE);
    expect_told("make te3;dial te3 in 7 s;");
    assert_int_equal(spare->state, NODE_CONNECTING);
    assert_true(agent()->is_started);
    node_enter(spare, NODE_ANSWERED, 0);
}

/* te3 has a plan, and prepares ranks. */
static void is_checked(void)
{
    answers();
    expect_told("costs;check te3;");
    expect_pings(2);
}

/* The ranks are prepared: muster knows enough, and its agent stops them. */
static void is_ready(void)
{
    is_checked();
    fake_say(agent(), FRAME_READY, json_object());
    assert_int_equal(spare->state, NODE_READY);
    expect_pings(1);
    expect_stop();
}

static void done(bool stays)
{
    fake_say(agent(), FRAME_DONE, json_pack("{s:b}", "stays", stays));
}

static void becomes_spare(void)
{
    is_ready();
    done(true);
    expect_told("joined te3;");
}

/* --- coming -------------------------------------------------------------------- */

static void test_becomes_spare(void **state)
{
    (void)state;
    is_ready();
    assert_string_equal(spare->awaited, "its final report");
    expect_told("");
    done(true);
    expect_told("joined te3;");
    assert_int_equal(spare->state, NODE_STAYING);
    assert_int_equal(spare->generation, 2);
    fake_expect_none(agent());
}

static void test_no_plan(void **state)
{
    (void)state;
    has_plan = false;
    spare_connect(&run, SPARE);
    expect_told("make te3;");
}

static void test_hello_is_refused(void **state)
{
    (void)state;
    hello_is_good = false;
    answers();
    assert_int_equal(spare->state, NODE_FAILED);
    expect_told("costs;over te3;tidy;");
}

static void test_other_is_refused(void **state)
{
    (void)state;
    other_is_good = false;
    answers();
    assert_int_equal(spare->state, NODE_FAILED);
    expect_told("costs;over te3;tidy;");
}

static void test_ready_is_refused(void **state)
{
    (void)state;
    ready_is_good = false;
    is_checked();
    fake_say(agent(), FRAME_READY, json_object());
    assert_int_equal(spare->state, NODE_FAILED);
    assert_string_equal(spare->failure->text, "its clock is wrong");
    expect_told("over te3;tidy;");
}

static void says_error(const char *text)
{
    fake_say(
        agent(), FRAME_ERROR,
        json_pack("{s:i, s:s, s:s}", "code", EXIT_CREATE, "text", text, "hint", "mount it"));
}

/* The agent says why it cannot take part, and then exits. */
static void test_error(void **state)
{
    (void)state;
    is_checked();
    says_error("no such directory");
    assert_int_equal(spare->state, NODE_PREPARING);
    assert_string_equal(spare->failure->stage, "prepare");
    assert_int_equal(spare->failure->exit_code, EXIT_CREATE);
    assert_string_equal(spare->failure->text, "no such directory");
    assert_string_equal(spare->failure->hint, "mount it");
    done(true);
    assert_int_equal(spare->state, NODE_DONE);
    expect_told("");
    fake_close(agent(), NULL, false);
    expect_told("over te3;tidy;");
}

/* After that, only its DONE may come. The first failure stays. */
static void test_ready_after_error(void **state)
{
    (void)state;
    is_checked();
    says_error("no such directory");
    fake_say(agent(), FRAME_READY, json_object());
    assert_int_equal(spare->state, NODE_FAILED);
    assert_string_equal(spare->failure->text, "no such directory");
    expect_told("over te3;tidy;");
}

static void test_error_twice(void **state)
{
    (void)state;
    is_checked();
    says_error("no such directory");
    says_error("no such user");
    assert_int_equal(spare->state, NODE_FAILED);
    assert_string_equal(spare->failure->text, "no such directory");
}

static void test_ready_twice(void **state)
{
    (void)state;
    is_ready();
    fake_say(agent(), FRAME_READY, json_object());
    fake_expect_none(agent());
    assert_null(spare->failure);
}

static void test_foreign_frame(void **state)
{
    (void)state;
    is_checked();
    fake_say(agent(), FRAME_PROBED, json_object());
    assert_int_equal(spare->state, NODE_FAILED);
    assert_int_equal(spare->failure->exit_code, EXIT_PROTOCOL);
    assert_string_equal(spare->failure->text, "PROBED frame: muster did not ask for it");
    expect_told("over te3;tidy;");
}

static void test_notice_frame(void **state)
{
    (void)state;
    is_checked();
    fake_say(agent(), FRAME_NOTICE, json_pack("{s:i}", "left_s", 30));
    expect_told("notice of te3 in 30 s;");
    assert_null(spare->failure);
}

/* Its frames belong to the next generation now. */
static void test_notice_frame_of_spare(void **state)
{
    (void)state;
    becomes_spare();
    frame_put_json(agent()->to_launcher, FRAME_NOTICE, 2, 0, json_pack("{s:i}", "left_s", 30));
    agent()->conn.ops->input(agent()->to_launcher, agent()->conn.arg);
    expect_told("notice of te3 in 30 s;");
    assert_int_equal(spare->state, NODE_STAYING);
}

/* Frames that cross with STOP are ignored. */
static void test_frame_after_stop(void **state)
{
    (void)state;
    is_checked();
    node_stop(spare, 0);
    fake_say(agent(), FRAME_PROBED, json_object());
    assert_null(spare->failure);
    done(false);
    assert_int_equal(spare->state, NODE_DONE);
    fake_close(agent(), NULL, false);
    assert_int_equal(spare->state, NODE_ENDED);
    expect_told("over te3;tidy;");
}

/* --- leaving ------------------------------------------------------------------- */

/* A notice, or another list of hosts, arrived during the check. */
static void test_leaves_when_checked(void **state)
{
    (void)state;
    is_ready();
    membership_leaving(&members, SPARE);
    done(true);
    expect_stop();
    assert_int_equal(spare->state, NODE_DONE);
    expect_told("");
}

/* The run ends during the check of te3: the check's DONE does not make te3 a spare. */
static void test_end_while_checked(void **state)
{
    (void)state;
    is_ready();
    is_ending = true;
    done(true);
    expect_stop();
    assert_int_equal(spare->state, NODE_DONE);
    expect_told("");
    fake_close(agent(), NULL, false);
    expect_told("over te3;tidy;");
}

static void test_lost(void **state)
{
    (void)state;
    becomes_spare();
    fake_close(agent(), "connection reset", false);
    assert_int_equal(spare->state, NODE_FAILED);
    assert_string_equal(spare->failure->text, "connection reset");
    expect_told("over te3;tidy;");
}

/* The node may be needed until the processes that its agent left are gone. */
static void test_lost_agent(void **state)
{
    const struct orphan_cleanup_result result = { .ended = 1, .text = "1 process ended" };

    (void)state;
    is_checked();
    spare->lost_agent = true;
    node_fail(spare, "prepare", EXIT_LOST, "", "killed");
    expect_told("over te3;clean te3 of r;tidy;");
    cleanup_is_over(spare, &result, &run);
    expect_told("tidy;");
}

static void test_reconnects(void **state)
{
    (void)state;
    becomes_spare();
    reconnect_make_key(spare->reconnect, "r", 0);
    fake_close(agent(), "connection reset", true);
    run_fixture_turn(0.02);
    expect_told("dial te3 in 0 s;");
    assert_int_equal(spare->state, NODE_STAYING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_becomes_spare),     TEST(test_no_plan),
        TEST(test_hello_is_refused),  TEST(test_other_is_refused),
        TEST(test_ready_is_refused),  TEST(test_error),
        TEST(test_ready_after_error), TEST(test_error_twice),
        TEST(test_ready_twice),       TEST(test_foreign_frame),
        TEST(test_notice_frame),      TEST(test_notice_frame_of_spare),
        TEST(test_frame_after_stop),  TEST(test_leaves_when_checked),
        TEST(test_end_while_checked), TEST(test_lost),
        TEST(test_lost_agent),        TEST(test_reconnects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
