/* test_notice.c - notices: which parts and nodes get them, and when the generation ends
 *
 * The test plays the generation, the pool and the phases, and notes the calls to them. The
 * agents of the nodes are fakes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "exit_code.h"
#include "run/costs.h"
#include "run/generation.h"
#include "run/leaving.h"
#include "run/notice.h"
#include "run/pool.h"
#include "run_fixture.h"

#define SIGNAL 10

static bool   is_last;
static double stop_s; /* the grace of the last phase_stop_nodes() */

/* --- the others ------------------------------------------------------------- */

bool generation_is_last(const struct run *of)
{
    (void)of;
    return is_last;
}

void generation_change(struct run *of, const char *text)
{
    (void)of;
    told("change: %s;", text);
}

double generation_now_s(void)
{
    return 1000;
}

/* Notes whole seconds from now; a test takes less than half a second. */
void leaving_add(struct run *of, const char *host, int64_t deadline_ns, const char *reason)
{
    (void)of;
    told("%s leaves in %.0f (%s);", host, (double)(deadline_ns - clock_now_ns()) / NS_PER_S + 0.01,
         reason);
}

void leaving_forget(struct run *of, const char *host)
{
    (void)of;
    told("forget %s;", host);
}

void costs_class(struct run *of, const struct node *about, const char *class)
{
    (void)of;
    told("%s is %s;", about->plan->host, class);
}

void costs_checkpoint(struct run *of)
{
    (void)of;
    told("checkpoint;");
}

void phase_stop(struct run *of)
{
    (void)of;
    told("stop;");
}

void phase_stop_nodes(struct run *of, double grace_s)
{
    (void)of;
    stop_s = grace_s;
    told("stop nodes;");
}

struct members *pool_members(const struct run *of)
{
    (void)of;
    return &members;
}

size_t pool_find(const struct run *of, const char *name)
{
    size_t i;

    (void)of;
    for (i = 0; i < members.count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return MEMBERS_NONE;
}

bool pool_take_notice(struct run *of, struct node *spare, double left_s, const char *reason)
{
    (void)of;
    if (spare != &node[2])
        return false;
    told("spare %s goes in %g (%s);", spare->plan->host, left_s, reason);
    return true;
}

/* --- the run ---------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    run_fixture_begin();
    is_last = false;
    options.notice_signal = SIGNAL;
    plan.ckpt_marker = (char *)"latest";
    run.notice = notice_new(&run);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    notice_free(run.notice);
    run_fixture_end();
    return 0;
}

/* Both nodes with places got a notice, and no other node. */
static void expect_notice(const char *host, double left_s, const char *reason, int signal)
{
    const char *text, *name;
    double      left;
    int         number;
    size_t      i;

    for (i = 0; i < 2; i++) {
        json_t *body = fake_expect(&fakes[i], FRAME_NOTICE);

        assert_int_equal(json_unpack(body, "{s:F, s:s, s:s, s:i}", "left_s", &left, "reason", &text,
                                     "node", &name, "signal", &number), 0);
        assert_string_equal(name, host);
        assert_string_equal(text, reason);
        assert_int_equal(number, signal);
        assert_true(left <= left_s && left > left_s - 5);
        json_decref(body);
    }
    fake_expect_none(&fakes[2]);
}

static void expect_no_notice(void)
{
    size_t i;

    for (i = 0; i < HOSTS; i++)
        fake_expect_none(&fakes[i]);
}

/* The agent sends a NOTICE frame from its cloud. */
static void take(size_t which, json_t *body)
{
    notice_take(&run, &node[which], body);
    json_decref(body);
}

static void is_written(void)
{
    json_t *body = json_pack("{s:s}", "path", "save/latest");

    notice_take_checkpoint(&run, &node[0], body);
    json_decref(body);
}

/* --- a notice ---------------------------------------------------------------- */

static void test_all_are_told(void **state)
{
    (void)state;
    notice_give(&run, &node[1], 100, 20, "spot");
    expect_told("te2 leaves in 80 (spot);");
    expect_notice("te2", 100, "spot", SIGNAL);
    assert_true(notice_was_told(run.notice));
    notice_give(&run, &node[0], 50, 0, "muster drain");
    expect_told("te1 leaves in 50 (muster drain);");
    expect_notice("te1", 50, "muster drain", 0); /* no rank is signalled twice */
}

static void test_again(void **state)
{
    (void)state;
    notice_give(&run, &node[1], 100, 20, "spot");
    expect_notice("te2", 100, "spot", SIGNAL);
    forget_told();
    notice_give(&run, &node[1], 100, 10, "later");
    expect_told("");
    expect_no_notice();
    notice_give(&run, &node[1], 30, 10, "sooner");
    expect_told("te2 leaves in 20 (sooner);");
    expect_notice("te2", 30, "sooner", 0);
}

/* The next ranks get the notice as soon as they run. */
static void test_no_ranks_run(void **state)
{
    (void)state;
    run.phase.now = PHASE_PREPARING;
    notice_give(&run, &node[1], 100, 20, "spot");
    expect_told("te2 leaves in 80 (spot);");
    expect_no_notice();
    assert_false(notice_was_told(run.notice));
    run.phase.now = PHASE_RUNNING;
    notice_begin(&run);
    expect_notice("te2", 100, "spot", SIGNAL);
}

static void test_it_is_gone(void **state)
{
    (void)state;
    run.phase.now = PHASE_PREPARING;
    notice_give(&run, &node[0], 100, 20, "spot");
    notice_give(&run, &node[1], 100, 20, "spot");
    notice_forget(run.notice, "te1");
    notice_forget(run.notice, "te9");
    notice_begin(&run);
    expect_notice("te2", 100, "spot", SIGNAL);
    expect_no_notice();
    nodes[1] = &node[2]; /* another world, without te2 */
    notice_begin(&run);
    nodes[1] = &node[1];
    expect_no_notice();
}

/* The node has no ranks to wait for. */
static void test_it_has_no_place(void **state)
{
    (void)state;
    notice_give(&run, &node[2], 100, 20, "spot");
    expect_told("te3 leaves in 0 (spot);");
    plan_node[2].host = (char *)"te2"; /* te2 comes back while its old place is free */
    notice_give(&run, &node[2], 100, 20, "spot");
    expect_told("te2 leaves in 0 (spot);");
    expect_no_notice();
}

static void test_a_node_without_connection(void **state)
{
    struct conn *conn = node[0].conn;

    (void)state;
    node[0].conn = NULL;
    node[0].state = NODE_FAILED;
    notice_give(&run, &node[1], 100, 20, "spot");
    node[0].conn = conn;
    fake_expect_none(&fakes[0]);
    json_decref(fake_expect(&fakes[1], FRAME_NOTICE));
}

/* --- the frames -------------------------------------------------------------- */

static void test_the_cloud_says_so(void **state)
{
    (void)state;
    take(1, json_pack("{s:f, s:s}", "left_s", 100.0, "reason", "spot"));
    expect_told("te2 is spot;te2 leaves in 80 (spot);"); /* 20 s to end its ranks */
    assert_true(members.item[1].back_s == 1000 + 100 + MEMBERS_COOL_S);
    take(0, json_pack("{s:f, s:s, s:b}", "left_s", 30.0, "reason", "logout", "session", 1));
    expect_told("te1 leaves in 15 (logout);"); /* if short: half; a logout tells no class */
    take(2, json_pack("{s:f, s:s}", "left_s", 30.0, "reason", "spot"));
    expect_told("te3 is spot;spare te3 goes in 30 (spot);");
    take(0, json_pack("{s:s, s:f, s:s}", "class", "on-demand", "left_s", 5.0, "reason", "x"));
    expect_told("te1 is on-demand;"); /* not a notice */
}

static void test_senseless(void **state)
{
    (void)state;
    take(0, json_pack("{s:f, s:s}", "left_s", -1.0, "reason", "spot"));
    take(1, json_pack("{s:f, s:s}", "left_s", 86401.0, "reason", "spot"));
    expect_told("");
    assert_int_equal(node[0].state, NODE_FAILED);
    assert_int_equal(node[1].state, NODE_FAILED);
    assert_int_equal(node[1].failure->exit_code, EXIT_PROTOCOL);
}

/* --- the checkpoint ---------------------------------------------------------- */

static void test_checkpoint(void **state)
{
    (void)state;
    is_written();
    expect_told(""); /* no notice was given: just a checkpoint */
    notice_give(&run, &node[0], 100, 0, "spot");
    notice_give(&run, &node[1], 100, 0, "muster drain");
    forget_told();
    is_written();
    expect_told("checkpoint;te1 leaves in 0 (spot);te2 leaves in 0 (muster drain);");
    is_written();
    expect_told("");
}

static void test_checkpoint_of_the_last_generation(void **state)
{
    (void)state;
    notice_give(&run, &node[0], 100, 0, "spot");
    is_written();
    notice_end(&run);
    assert_false(notice_was_told(run.notice));
    forget_told();
    is_written();
    expect_told("");
    json_decref(fake_expect(&fakes[0], FRAME_NOTICE));
    json_decref(fake_expect(&fakes[1], FRAME_NOTICE));
    notice_begin(&run); /* te1 is still a node, but the ranks are new */
    expect_notice("te1", 100, "spot", SIGNAL);
    is_written();
    expect_told("checkpoint;te1 leaves in 0 (spot);");
}

/* Whatever ended the generation, nodes for which its ranks got notices do not return. */
static void test_over(void **state)
{
    (void)state;
    run.phase.now = PHASE_PREPARING;
    notice_give(&run, &node[1], 100, 0, "spot");
    notice_over(&run);
    assert_false(members.item[1].is_leaving);
    run.phase.now = PHASE_RUNNING;
    notice_begin(&run);
    notice_over(&run);
    assert_true(members.item[1].is_leaving);
    assert_false(members.item[0].is_leaving || members.item[2].is_leaving);
    members.item[1].is_leaving = false;
    nodes[1] = &node[2]; /* a world without te2: the notice is void */
    notice_over(&run);
    nodes[1] = &node[1];
    assert_false(members.item[1].is_leaving);
}

static void test_keep(void **state)
{
    (void)state;
    notice_give(&run, &node[0], 100, 0, "spot");
    notice_give(&run, &node[1], 100, 0, "muster drain");
    notice_forget(run.notice, "te1");
    forget_told();
    notice_keep(&run, "te1");
    expect_told("forget te1;");
    assert_true(notice_was_told(run.notice)); /* the notice about te2 remains */
    notice_forget(run.notice, "te2");
    notice_change(&run, 600, "te2", "muster scale");
    notice_keep(&run, "te2");
    assert_true(notice_was_told(run.notice));
    notice_take_back(&run);
    notice_give(&run, &node[1], 100, 0, "muster drain");
    notice_forget(run.notice, "te2");
    notice_keep(&run, "te2");
    assert_false(notice_was_told(run.notice));
}

/* The ranks are being stopped after a notice, so their end is not a failure. */
static void test_keep_too_late(void **state)
{
    (void)state;
    notice_give(&run, &node[1], 100, 0, "muster drain");
    run.phase.now = PHASE_STOPPING;
    notice_forget(run.notice, "te2");
    notice_keep(&run, "te2");
    assert_true(notice_was_told(run.notice));
    notice_over(&run);
    assert_false(members.item[1].is_leaving);
}

/* --- the end, or another world ------------------------------------------------- */

static void test_save(void **state)
{
    (void)state;
    plan.ckpt_marker = NULL;
    assert_false(notice_save(&run)); /* muster would not see the checkpoint */
    plan.ckpt_marker = (char *)"latest";
    run.phase.now = PHASE_CONNECTING;
    assert_false(notice_save(&run));
    expect_no_notice();
    run.phase.now = PHASE_RUNNING;
    assert_true(notice_save(&run));
    expect_notice("muster", 30, "muster must end", SIGNAL);
    assert_false(notice_save(&run));
    is_written();
    expect_told("checkpoint;stop;stop nodes;");
    assert_true(stop_s > 20 && stop_s <= 30);
}

/* Ranks get two thirds of the grace period to save, and the rest to end. */
static void test_nobody_saves(void **state)
{
    (void)state;
    options.grace_s = 0.9;
    assert_true(notice_save(&run));
    run_fixture_turn(0.1);
    expect_told("");
    run_fixture_turn(0.6);
    expect_told("stop;stop nodes;");
    assert_true(stop_s >= 0 && stop_s < 0.31);
}

/* The run ends for another reason first. */
static void test_save_is_too_late(void **state)
{
    (void)state;
    options.grace_s = 0.03;
    assert_true(notice_save(&run));
    run.phase.now = PHASE_STOPPING;
    run_fixture_turn(0.06);
    expect_told("");
}

static void test_change(void **state)
{
    (void)state;
    notice_change(&run, 600, "te2", "muster scale");
    expect_notice("te2", 600, "muster scale", SIGNAL);
    notice_change(&run, 700, "te1", "later");
    expect_no_notice();
    notice_change(&run, 0.5, "te1", "sooner");
    expect_notice("te1", 0.5, "sooner", 0);
    run_fixture_turn(0.01);
    expect_told("");
    run_fixture_turn(0.6);
    expect_told("change: sooner;");
}

static void test_change_after_a_checkpoint(void **state)
{
    (void)state;
    notice_change(&run, 600, "te2", "muster scale");
    is_written();
    expect_told("checkpoint;change: muster scale;");
}

static void test_no_change(void **state)
{
    (void)state;
    notice_change(&run, 0.02, "te2", "muster scale");
    notice_take_back(&run);
    assert_false(notice_was_told(run.notice));
    run_fixture_turn(0.06);
    expect_told("");
    run.phase.now = PHASE_PREPARING;
    notice_change(&run, 0.02, "te2", "muster scale");
    assert_false(notice_was_told(run.notice));
    run_fixture_turn(0.06);
    expect_told(""); /* muster is preparing a new world already */
}

/* --- muster drain -------------------------------------------------------------- */

static int drain(const char *seconds, const char *one, const char *other, char answer[100],
                 struct error *err)
{
    char          *item[3] = { (char *)seconds, (char *)one, (char *)other };
    struct strlist words = { .item = item, .count = other != NULL ? 3 : 2 };

    answer[0] = '\0';
    return notice_drain(&words, answer, 100, &run, err);
}

static void test_drain(void **state)
{
    char         answer[100];
    struct error err;

    (void)state;
    members.item[1].back_s = 5;
    assert_int_equal(drain("60", "te2", "te3", answer, &err), 0);
    expect_told("te2 leaves in 60 (muster drain);te3 leaves in 0 (muster drain);");
    assert_string_equal(answer, "2 nodes will leave within 60 s");
    assert_true(members.item[1].back_s == 0); /* the user wants it to stay away */
    plan_node[0].label = (char *)"front";
    members.item[0].back_s = 5;
    assert_int_equal(drain("2.2", "front", NULL, answer, &err), 0);
    expect_told("te1 leaves in 2 (muster drain);");
    assert_true(members.item[0].back_s == 0);
    assert_string_equal(answer, "1 node will leave within 2.2 s");
}

static void test_drain_is_refused(void **state)
{
    char         answer[100];
    struct error err;

    (void)state;
    assert_int_equal(drain("-1", "te2", NULL, answer, &err), -1);
    assert_int_equal(drain("86401", "te2", NULL, answer, &err), -1);
    assert_int_equal(drain("5", "te2", "te9", answer, &err), -1);
    assert_string_equal(err.text, "te9 is not a node of this run");
    is_last = true;
    assert_int_equal(drain("5", "te2", NULL, answer, &err), -1);
    assert_string_equal(err.text, "this run is ending");
    expect_told(""); /* all or nothing */
    assert_string_equal(answer, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_ranks_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_it_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_it_has_no_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_node_without_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_cloud_says_so, setup, teardown),
        cmocka_unit_test_setup_teardown(test_senseless, setup, teardown),
        cmocka_unit_test_setup_teardown(test_checkpoint, setup, teardown),
        cmocka_unit_test_setup_teardown(test_checkpoint_of_the_last_generation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_over, setup, teardown),
        cmocka_unit_test_setup_teardown(test_keep, setup, teardown),
        cmocka_unit_test_setup_teardown(test_keep_too_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_save, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nobody_saves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_save_is_too_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_change, setup, teardown),
        cmocka_unit_test_setup_teardown(test_change_after_a_checkpoint, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_change, setup, teardown),
        cmocka_unit_test_setup_teardown(test_drain, setup, teardown),
        cmocka_unit_test_setup_teardown(test_drain_is_refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
