/* test_leaving.c - nodes that will leave: when, and what that means for the generation
 *
 * The test plays the generation, the notice and the pool, and notes the calls to them.
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
#include "run/generation.h"
#include "run/leaving.h"
#include "run/notice.h"
#include "run/pool.h"
#include "run_fixture.h"

static bool has_pool, goes_on, is_last, is_fixed;
static bool comes_back[3]; /* by host */

/* --- the others ------------------------------------------------------------- */

bool generation_goes_on(const struct run *of)
{
    (void)of;
    return goes_on;
}

bool generation_is_last(const struct run *of)
{
    (void)of;
    return is_last;
}

void generation_changed(struct run *of)
{
    (void)of;
    told("changed;");
}

void generation_end_for_change(struct run *of, const char *text)
{
    (void)of;
    told("end: %s;", text);
}

int generation_scale(struct run *of, size_t count, double within_s, struct error *err)
{
    (void)of;
    if (is_fixed)
        return err_set(err, "its number of nodes is fixed");
    told("scale %zu within %g;", count, within_s);
    members.places = count; /* the answer has the number before */
    return 0;
}

void notice_give(struct run *of, struct node *leaver, double left_s, double margin_s,
                 const char *reason)
{
    told("notice %s %g %g %s;", leaver->plan->host, left_s, margin_s, reason);
    leaving_add(of, leaver->plan->host, clock_now_ns() + (int64_t)(left_s * NS_PER_S), reason);
}

void notice_keep(struct run *of, const char *host)
{
    (void)of;
    told("keep %s;", host);
}

void notice_forget(struct notice *notice, const char *host)
{
    (void)notice;
    told("forget %s;", host);
}

struct members *pool_members(const struct run *of)
{
    (void)of;
    return &members;
}

const char *pool_name(const struct run *of, size_t which)
{
    (void)of;
    return names[which];
}

size_t pool_count(const struct run *of)
{
    (void)of;
    return members.count;
}

size_t pool_find(const struct run *of, const char *name)
{
    size_t i;

    for (i = 0; has_pool && i < pool_count(of); i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return MEMBERS_NONE;
}

void pool_leave(struct run *of, size_t which)
{
    (void)of;
    told("spare %s leaves;", names[which]);
}

void pool_offer(struct run *of, const struct selection *hosts)
{
    size_t i;

    assert_null(hosts); /* is_offered() has noted the offered hosts */
    told("offer;");
    for (i = 0; i < members.count; i++) {
        if (comes_back[i])
            leaving_back(of, names[i]);
        comes_back[i] = false;
    }
}

/* --- the run ---------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    run_fixture_begin();
    has_pool = goes_on = true;
    is_last = is_fixed = false;
    options.grace_s = 7;
    run.leavings = leaving_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    leaving_free(run.leavings);
    run_fixture_end();
    return 0;
}

/* The host leaves in in_s seconds. */
static void leave(const char *host, double in_s, const char *reason)
{
    leaving_add(&run, host, clock_now_ns() + (int64_t)(in_s * NS_PER_S), reason);
}

static void is_offered(bool te1, bool te2, bool te3)
{
    const bool now[3] = { te1, te2, te3 };
    size_t     i;

    for (i = 0; i < 3; i++) {
        comes_back[i] = now[i] && !members.item[i].is_offered;
        members.item[i].is_offered = now[i];
    }
}

/* --- one node ---------------------------------------------------------------- */

static void test_it_has_ranks(void **state)
{
    static const enum phase_now busy[] = { PHASE_CONNECTING, PHASE_PREPARING, PHASE_RUNNING };
    size_t                      i;

    (void)state;
    for (i = 0; i < sizeof busy / sizeof *busy; i++) {
        run.phase.now = busy[i];
        members.item[1].is_leaving = false;
        leave("te2", 0, "spot");
        expect_told(""); /* from the event loop only */
        run_fixture_turn(0.02);
        expect_told("end: node te2 leaves (spot);");
        assert_true(members.item[1].is_leaving);
        assert_false(members.item[0].is_leaving || members.item[2].is_leaving);
    }
}

/* The generation is ending or over: the choice of the next world considers the node. */
static void test_nothing_to_end(void **state)
{
    (void)state;
    run.phase.now = PHASE_STOPPING;
    leave("te1", 0, "spot");
    run_fixture_turn(0.02);
    expect_told("changed;");
    run.phase.now = PHASE_RESTARTING;
    leave("te2", 0, "spot");
    run_fixture_turn(0.02);
    expect_told("changed;");
    assert_true(members.item[0].is_leaving && members.item[1].is_leaving);
}

static void test_spare(void **state)
{
    (void)state;
    leave("te3", 0, "muster drain");
    run_fixture_turn(0.02);
    expect_told("spare te3 leaves;");
    assert_true(members.item[2].is_leaving);
}

/* te2 was lost, and is joining again; no other node has its place yet. */
static void test_no_longer_in_its_place(void **state)
{
    (void)state;
    members.item[1].state = MEMBER_JOINING;
    leave("te2", 0, "spot");
    run_fixture_turn(0.02);
    expect_told("spare te2 leaves;");
}

/* The order of places and nodes differs from that of the hosts. */
static void test_other_order(void **state)
{
    static const struct member_rules rules = { .goes_on = true };
    const size_t                     world[2] = { 2, 0 };

    (void)state;
    members_take(&members, &rules, world, 2);
    leave("te3", 0, "spot");
    run_fixture_turn(0.02);
    expect_told("end: node te3 leaves (spot);");
    leave("te2", 0, "spot");
    run_fixture_turn(0.02);
    expect_told("spare te2 leaves;");
}

/* A run that does not continue without nodes has no pool: it ends. */
static void test_fixed_run(void **state)
{
    (void)state;
    has_pool = false;
    leave("te1", 0, "spot");
    run_fixture_turn(0.02);
    expect_told("end: node te1 leaves (spot);");
}

static void test_deadline(void **state)
{
    (void)state;
    leave("te1", 600, "spot");
    leave("te2", 0.5, "muster drain");
    run_fixture_turn(0.01);
    expect_told("");
    run_fixture_turn(0.6);
    expect_told("end: node te2 leaves (muster drain);");
    leave("te1", -5, "a checkpoint was written"); /* sooner, and for another reason */
    run_fixture_turn(0.02);
    expect_told("end: node te1 leaves (a checkpoint was written);");
    run_fixture_turn(0.02);
    expect_told(""); /* once */
    leave("te1", 0, "spot");
    leave("te1", 600, "spot");
    run_fixture_turn(0.02);
    expect_told(""); /* the last call counts; notice.c knows which is sooner */
}

static void test_forget(void **state)
{
    (void)state;
    leave("te1", 0, "spot");
    leave("te2", 0, "spot");
    leaving_forget(&run, "te2");
    leaving_forget(&run, "te9");
    expect_told("forget te2;forget te9;");
    run_fixture_turn(0.02);
    expect_told("end: node te1 leaves (spot);");
}

/* Notices from nodes may still arrive. */
static void test_run_is_over(void **state)
{
    (void)state;
    leaving_free(run.leavings);
    run.leavings = NULL;
    leave("te1", 0, "spot");
    leaving_forget(&run, "te1");
    run_fixture_turn(0.02);
    expect_told("forget te1;");
    is_offered(true, true, true);
    leaving_offer(&run, NULL);
    expect_told("offer;changed;");
}

/* --- the hosts --------------------------------------------------------------- */

static void test_offer_while_running(void **state)
{
    (void)state;
    plan.ckpt_marker = (char *)"latest";
    is_offered(true, false, false);
    leaving_offer(&run, NULL);
    expect_told("offer;notice te2 300 0 its host is no longer on the list;"
                "forget te3;spare te3 leaves;changed;");
    run_fixture_turn(0.02);
    expect_told(""); /* te2's ranks save */
}

/* No ranks run that could save: the node leaves at once. */
static void test_offer_without_ranks(void **state)
{
    (void)state;
    run.phase.now = PHASE_PREPARING;
    is_offered(false, true, true);
    leaving_offer(&run, NULL);
    expect_told("offer;forget te1;changed;");
    run_fixture_turn(0.02);
    expect_told("end: node te1 leaves (its host is no longer on the list);");
}

static void test_back_in_time(void **state)
{
    (void)state;
    is_offered(true, false, true);
    leaving_offer(&run, NULL);
    forget_told();
    is_offered(true, true, true);
    leaving_offer(&run, NULL);
    expect_told("offer;keep te2;changed;");
}

/* The generation ended because te2 left the list. No other host came, so te2 still has its
 * place: the next ranks must not get a notice about it. */
static void test_back_too_late(void **state)
{
    (void)state;
    is_offered(true, false, true);
    options.grace_s = 0;
    leaving_offer(&run, NULL);
    run_fixture_turn(0.02);
    forget_told();
    run.phase.now = PHASE_RESTARTING;
    is_offered(true, true, true);
    leaving_offer(&run, NULL);
    expect_told("offer;keep te2;changed;");
}

/* te2 was drained, then removed from the list. The first reason counts, and is over, too. */
static void test_back_after_drain(void **state)
{
    (void)state;
    leave("te2", 0, "muster drain");
    run_fixture_turn(0.02);
    run.phase.now = PHASE_RESTARTING;
    members.item[1].is_offered = false;
    is_offered(true, true, true);
    forget_told();
    leaving_offer(&run, NULL);
    expect_told("offer;keep te2;changed;");
}

/* A host that was on the list all the time does not keep a node. A host that is back does not
 * keep a node that must still leave for another reason. */
static void test_not_kept(void **state)
{
    (void)state;
    leave("te1", 0, "spot");
    run_fixture_turn(0.02);
    leave("te2", 600, "spot");
    members.item[1].is_offered = false;
    is_offered(true, true, true);
    forget_told();
    leaving_offer(&run, NULL);
    expect_told("offer;changed;");
}

static void test_offer_to_fixed_run(void **state)
{
    (void)state;
    goes_on = false;
    is_offered(false, false, false);
    leaving_offer(&run, NULL);
    expect_told("");
}

static void test_time_to_save(void **state)
{
    (void)state;
    assert_true(leaving_save_s(&run) == 7); /* --grace */
    plan.ckpt_marker = (char *)"latest";
    assert_true(leaving_save_s(&run) == 300);
}

/* --- muster scale ------------------------------------------------------------- */

static int scale(const char *count, const char *seconds, char answer[100], struct error *err)
{
    char          *item[2] = { (char *)count, (char *)seconds };
    struct strlist words = { .item = item, .count = 2 };

    answer[0] = '\0';
    return leaving_scale(&words, answer, 100, &run, err);
}

static void test_scale(void **state)
{
    char         answer[100];
    struct error err;

    (void)state;
    assert_int_equal(scale("3", "10.5", answer, &err), 0);
    expect_told("scale 3 within 10.5;");
    assert_string_equal(answer, "from 2 to 3 nodes, after a checkpoint within 10.5 s");
    assert_int_equal(scale("3", "0", answer, &err), 0);
    expect_told("scale 3 within 0;"); /* also if it has that number: it may be growing */
    assert_string_equal(answer, "it has 3 nodes, and keeps that number");
    members.places = 1;
    assert_int_equal(scale("1", "0", answer, &err), 0);
    assert_string_equal(answer, "it has 1 node, and keeps that number");
}

static void test_scale_is_refused(void **state)
{
    static const char *const bad[][2] = {
        { "0", "5" }, { "-1", "5" }, { "65537", "5" }, { "2x", "5" }, { "3", "86401" },
        { "3", "-1" }, { "3", "" },
    };
    char         answer[100];
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(scale(bad[i][0], bad[i][1], answer, &err), -1);
    is_last = true;
    assert_int_equal(scale("3", "5", answer, &err), -1);
    assert_string_equal(err.text, "it is ending");
    is_last = false;
    is_fixed = true;
    assert_int_equal(scale("3", "5", answer, &err), -1);
    assert_string_equal(err.text, "its number of nodes is fixed");
    assert_string_equal(answer, "");
    expect_told("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_has_ranks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_to_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_spare, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_longer_in_its_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fixed_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forget, setup, teardown),
        cmocka_unit_test_setup_teardown(test_run_is_over, setup, teardown),
        cmocka_unit_test_setup_teardown(test_offer_while_running, setup, teardown),
        cmocka_unit_test_setup_teardown(test_offer_without_ranks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_back_in_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_back_too_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_back_after_drain, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_offer_to_fixed_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_time_to_save, setup, teardown),
        cmocka_unit_test_setup_teardown(test_scale, setup, teardown),
        cmocka_unit_test_setup_teardown(test_scale_is_refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
