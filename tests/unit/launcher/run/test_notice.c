/* test_notice.c - notices: who gets them, and what a checkpoint or a deadline leads to
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "exit_code.h"
#include "fake_events.h"
#include "log.h"
#include "run/costs.h"
#include "run/events.h"
#include "run/notice.h"
#include "run/pool.h"
#include "run_fixture.h"

#define SIGNAL 10
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static double stop_s; /* the grace of the last phase_stop_nodes() */

void run_changed(struct run *of)
{
    (void)of;
    told("changed;");
}

void costs_class(struct run *of, const struct node *about, const char *class)
{
    (void)of;
    told("%s is %s;", about->plan->host, class);
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

struct membership *pool_members(const struct run *of)
{
    (void)of;
    return &members;
}

const char *pool_name(const struct run *of, size_t which)
{
    (void)of;
    return names[which];
}

static int setup(void **state)
{
    (void)state;
    run_fixture_begin();
    options.notice_signal = SIGNAL;
    plan.ckpt_marker = (char *)"latest";
    run.notice = notice_new(&run);
    run_fixture_log();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    notice_free(run.notice);
    run_fixture_end();
    return 0;
}

/* Both are seconds from now; a test takes less than five. */
static void expect_departure(size_t which, enum departure_kind kind, const char *reason,
                             double gone_in_s, double due_in_s)
{
    const struct departure *departure = &members.item[which].departure[kind];
    const double            now_s = clock_now_s();

    assert_true(departure->is_set);
    assert_string_equal(departure->reason, reason);
    assert_float_equal(departure->gone_s - now_s, gone_in_s, 5);
    assert_float_equal(departure->due_s - now_s, due_in_s, 5);
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

        assert_int_equal(json_unpack(body, "{s:F, s:s, s:s, s:i}", "left_s", &left, "reason",
                                     &text, "node", &name, "signal", &number),
                         0);
        assert_string_equal(name, host);
        assert_string_equal(text, reason);
        assert_int_equal(number, signal);
        assert_true(left >= 0 && left <= left_s && left > left_s - 5);
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

/* The cloud takes the host away, and generation.c looks what follows. */
static void leave(const char *host, double left_s, const char *reason)
{
    struct membership_action action;

    notice_depart(&run, host, DEPARTURE_CLOUD, reason, left_s, 20);
    while ((action = membership_next(&members, MEMBERSHIP_RUNNING, clock_now_s())).what ==
           MEMBERSHIP_DO_TELL)
        notice_leaves(&run, action.which, action.departure);
}

static void forget_notices(void)
{
    size_t i;

    for (i = 0; i < 2; i++)
        json_decref(fake_expect(&fakes[i], FRAME_NOTICE));
    forget_told();
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

static void test_it_has_ranks(void **state)
{
    (void)state;
    notice_depart(&run, "te2", DEPARTURE_CLOUD, "spot", 100, 20);
    expect_told("changed;");
    expect_departure(1, DEPARTURE_CLOUD, "spot", 100, 80);
    assert_false(membership_is_due(&members, 1));
    expect_logged("test: warning: te2 leaves in 100 s (spot)\n");
    plan_node[0].label = (char *)"front";
    notice_depart(&run, "te1", DEPARTURE_DRAIN, "muster drain", 50, 0);
    expect_told("changed;");
    expect_departure(0, DEPARTURE_DRAIN, "muster drain", 50, 50);
    expect_logged("test: warning: front leaves in 50 s (muster drain)\n");
    assert_string_equal(last_event, "notice front leaves in 50 s (muster drain) {\"node\":\"te1\","
                                    "\"left_s\":50.0,\"reason\":\"muster drain\"}");
    expect_no_notice(); /* elastic/membership.h decides when */
    assert_false(notice_was_given(run.notice));
}

static void test_again(void **state)
{
    (void)state;
    leave("te2", 100, "spot");
    expect_told("changed;");
    expect_notice("te2", 100, "spot", SIGNAL);
    expect_logged("test: warning: te2 leaves in 100 s (spot)\n");
    leave("te2", 100, "later");
    expect_told("changed;");
    expect_logged("");
    expect_no_notice();
    leave("te2", 30, "sooner");
    expect_told("changed;");
    expect_notice("te2", 30, "sooner", 0);
    expect_logged("test: warning: te2 leaves in 30 s (sooner)\n");
}

/* The node has no ranks to wait for. */
static void test_it_has_no_place(void **state)
{
    (void)state;
    notice_depart(&run, "te3", DEPARTURE_CLOUD, "spot", 100, 20);
    expect_logged("test: warning: te3 leaves now: no rank runs there (spot)\n");
    assert_string_equal(last_event, "notice te3 leaves now: no rank runs there (spot) "
                                    "{\"node\":\"te3\","
                                    "\"left_s\":100.0,\"reason\":\"spot\"}");
    assert_true(membership_is_due(&members, 2));
    members.item[1].state = MEMBER_JOINING; /* te2 comes back while its old place is free */
    notice_depart(&run, "te2", DEPARTURE_CLOUD, "spot", 100, 20);
    expect_logged("test: warning: te2 leaves now: no rank runs there (spot)\n");
    assert_true(membership_is_due(&members, 1));
    expect_told("changed;changed;");
    notice_depart(&run, "te9", DEPARTURE_CLOUD, "spot", 100, 20); /* no host of this run */
    expect_told("");
    expect_logged("");
}

static void test_all_are_told(void **state)
{
    (void)state;
    leave("te2", 100, "spot");
    expect_notice("te2", 100, "spot", SIGNAL);
    assert_true(notice_was_given(run.notice));
    leave("te1", 50, "logout");
    expect_notice("te1", 50, "logout", 0); /* no rank is signalled twice */
}

static void test_its_time_has_passed(void **state)
{
    const struct departure late = { .gone_s = clock_now_s() - 100, .reason = "spot" };

    (void)state;
    notice_leaves(&run, 1, &late);
    expect_notice("te2", 0, "spot", SIGNAL);
}

static void test_nodes_without_ranks(void **state)
{
    static const enum node_state without[] = { NODE_STAYING, NODE_FAILED };
    struct conn                 *conn = node[0].conn;
    size_t                       i;

    (void)state;
    node[0].conn = NULL;
    notice_change(&run, 600, "te2", "muster scale");
    node[0].conn = conn;
    for (i = 0; i < 2; i++) {
        node[0].state = without[i];
        notice_change(&run, 500 - (double)i, "te2", "sooner");
    }
    fake_expect_none(&fakes[0]);
    for (i = 0; i < 3; i++)
        json_decref(fake_expect(&fakes[1], FRAME_NOTICE));
}

static void test_time_to_save(void **state)
{
    (void)state;
    options.grace_s = 7;
    assert_true(notice_save_s(&run) == 300);
    plan.ckpt_marker = NULL;
    assert_true(notice_save_s(&run) == 7); /* --grace */
}

/* --- the frames -------------------------------------------------------------- */

static void test_the_cloud_says_so(void **state)
{
    (void)state;
    take(1, json_pack("{s:f, s:s}", "left_s", 100.0, "reason", "spot"));
    expect_told("te2 is spot;changed;");
    expect_departure(1, DEPARTURE_CLOUD, "spot", 100, 80); /* 20 s to end its ranks */
    take(1, json_pack("{s:f, s:s}", "left_s", 100.0, "reason", "spot"));
    expect_told("te2 is spot;changed;");
    take(0, json_pack("{s:f, s:s, s:b}", "left_s", 10.0, "reason", "logout", "session", 1));
    expect_told("changed;");                               /* a logout tells no class */
    expect_departure(0, DEPARTURE_CLOUD, "logout", 10, 5); /* if short: half */
    take(2, json_pack("{s:f, s:s}", "left_s", 86400.0, "reason", "spot"));
    expect_told("te3 is spot;changed;");
    assert_true(membership_is_due(&members, 2)); /* a spare */
    take(0, json_pack("{s:s, s:f, s:s}", "class", "on-demand", "left_s", 5.0, "reason", "x"));
    expect_told("te1 is on-demand;"); /* not a notice */
    expect_departure(0, DEPARTURE_CLOUD, "logout", 10, 5);
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

/* An agent has told its ranks. */
static void test_noticed(void **state)
{
    json_t *body = json_pack("{s:i}", "signalled", 2);

    (void)state;
    notice_take_noticed(&run, &node[1], body);
    expect_logged("");
    json_object_set_new(body, "error", json_string("disk full"));
    notice_take_noticed(&run, &node[1], body);
    expect_logged("test: warning: te2: the ranks there get no notice file: disk full\n");
    json_decref(body);
}

/* --- the checkpoint ---------------------------------------------------------- */

static void test_checkpoint(void **state)
{
    (void)state;
    is_written();
    expect_told(""); /* no notice was given: just a checkpoint */
    leave("te1", 100, "spot");
    leave("te2", 100, "logout");
    forget_told();
    is_written();
    expect_told("changed;");
    expect_departure(0, DEPARTURE_CLOUD, "spot", 100, 0);
    expect_departure(1, DEPARTURE_CLOUD, "logout", 100, 0);
    is_written();
    expect_told("");
}

/* The time allowed is that of the earliest notice. */
static void test_checkpoint_is_reported(void **state)
{
    json_t *body = json_pack("{s:s, s:s}", "path", "save/latest", "says", "step 7");

    (void)state;
    leave("te1", 9000, "spot");
    leave("te2", 4005, "spot");
    notice_change(&run, 6000, "te2", "muster scale");
    forget_logged();
    notice_take_checkpoint(&run, &node[0], body);
    expect_logged("test: checkpoint written after * s of 400* s: save/latest (step 7)\n");
    json_decref(body);
    notice_end(&run);
    expect_logged(""); /* there was one */
    notice_change(&run, 605, "te2", "muster scale");
    is_written();
    expect_logged("test: checkpoint written after * s of 60* s: save/latest\n");
}

static void test_checkpoint_of_the_last_generation(void **state)
{
    (void)state;
    leave("te1", 100, "spot");
    is_written();
    notice_end(&run);
    assert_false(notice_was_given(run.notice));
    forget_notices();
    is_written();
    expect_told("");
    notice_change(&run, 600, "te2", "muster scale"); /* the ranks are new */
    expect_notice("te2", 600, "muster scale", SIGNAL);
    is_written();
    expect_told("changed;");
}

static void test_no_checkpoint(void **state)
{
    (void)state;
    notice_end(&run);
    expect_logged(""); /* there was no notice */
    notice_change(&run, 600, "te2", "muster scale");
    notice_end(&run);
    expect_logged("test: error: NO CHECKPOINT was written in the * s since the notice: no file "
                  "that matches latest is newer\n");
    plan.ckpt_marker = NULL;
    notice_change(&run, 600, "te2", "muster scale");
    notice_end(&run);
    expect_logged("test: warning: it is not known whether a checkpoint was written in the * s "
                  "since the notice; see --ckpt-marker\n");
    notice_end(&run);
    expect_logged("");
}

/* --- it stays after all --------------------------------------------------------- */

static void test_none_leaves(void **state)
{
    (void)state;
    leave("te2", 100, "spot");
    is_written();
    forget_notices();
    notice_none_leaves(&run);
    assert_false(notice_was_given(run.notice));
    expect_no_notice();
    is_written();
    notice_end(&run);
    expect_told(""); /* as if there had been no notice */
    notice_change(&run, 600, "te2", "muster scale");
    expect_notice("te2", 600, "muster scale", SIGNAL); /* the first again */
    is_written();
    expect_told("changed;");
}

/* For another world, or for the end of the run. */
static void test_the_ranks_must_still_save(void **state)
{
    (void)state;
    notice_change(&run, 600, "te2", "muster scale");
    notice_none_leaves(&run);
    assert_true(notice_was_given(run.notice));
    notice_take_back(&run);
    assert_true(notice_save(&run));
    notice_none_leaves(&run);
    assert_true(notice_was_given(run.notice));
    notice_change(&run, 600, "te2", "muster scale");
    is_written();
    expect_told("stop;stop nodes;changed;");
    assert_null(notice_change_due(run.notice)); /* there will be no other world */
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
    expect_told("stop;stop nodes;changed;");
    assert_true(stop_s > 20 && stop_s <= 30);
}

/* Ranks get two thirds of the grace period to save, and the rest to end. */
static void test_no_rank_saves(void **state)
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

/* No rank of that generation is left. */
static void test_over_before_it_saves(void **state)
{
    (void)state;
    options.grace_s = 0.03;
    assert_true(notice_save(&run));
    notice_change(&run, 0.02, "te2", "muster scale");
    notice_end(&run);
    run_fixture_turn(0.06);
    expect_told("");
    assert_null(notice_change_due(run.notice));
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
    assert_null(notice_change_due(run.notice));
    run_fixture_turn(0.6);
    expect_told("changed;");
    assert_string_equal(notice_change_due(run.notice), "sooner");
}

static void test_change_after_a_checkpoint(void **state)
{
    (void)state;
    notice_change(&run, 600, "te2", "muster scale");
    is_written();
    expect_told("changed;");
    assert_string_equal(notice_change_due(run.notice), "muster scale");
    notice_end(&run);
    assert_null(notice_change_due(run.notice));
}

static void test_no_change(void **state)
{
    (void)state;
    notice_change(&run, 0.02, "te2", "muster scale");
    notice_take_back(&run);
    assert_false(notice_was_given(run.notice));
    run_fixture_turn(0.06);
    expect_told("");
    assert_null(notice_change_due(run.notice));
    forget_notices();
    notice_change(&run, 600, "te1", "more nodes"); /* it is not later than none */
    expect_notice("te1", 600, "more nodes", SIGNAL);
    notice_take_back(&run);
    run.phase.now = PHASE_PREPARING;
    notice_change(&run, 600, "te2", "muster scale");
    expect_no_notice(); /* muster is preparing a new world already */
    assert_false(notice_was_given(run.notice));
}

/* The world need not change after all, but te2 still leaves: its ranks must save. */
static void test_a_node_still_leaves(void **state)
{
    (void)state;
    leave("te2", 100, "spot");
    notice_change(&run, 600, "te1", "muster scale");
    forget_notices();
    notice_take_back(&run);
    assert_true(notice_was_given(run.notice));
    is_written();
    expect_told("changed;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_it_has_ranks),
        TEST(test_again),
        TEST(test_it_has_no_place),
        TEST(test_all_are_told),
        TEST(test_its_time_has_passed),
        TEST(test_nodes_without_ranks),
        TEST(test_time_to_save),
        TEST(test_the_cloud_says_so),
        TEST(test_senseless),
        TEST(test_noticed),
        TEST(test_checkpoint),
        TEST(test_checkpoint_is_reported),
        TEST(test_checkpoint_of_the_last_generation),
        TEST(test_no_checkpoint),
        TEST(test_none_leaves),
        TEST(test_a_node_still_leaves),
        TEST(test_the_ranks_must_still_save),
        TEST(test_save),
        TEST(test_no_rank_saves),
        TEST(test_save_is_too_late),
        TEST(test_over_before_it_saves),
        TEST(test_change),
        TEST(test_change_after_a_checkpoint),
        TEST(test_no_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
