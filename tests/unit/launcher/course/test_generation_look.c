/* test_generation_look.c - what follows from a change, in each phase of the run
 *
 * The tests of membership.c and policy.c show the decisions.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>

#include <cmocka.h>

#include "clock.h"
#include "course/generation.h"
#include "exit_code.h"
#include "generation_fixture.h"

#define PHASES 5

static void expect_end(const char *text)
{
    assert_int_equal(run.outcome.cause, EXIT_LOST);
    assert_string_equal(run.outcome.cause_text, text);
}

/* Returns in how many seconds generation.c looks again; negative: it need not. */
static double looks_in_s(void)
{
    struct timeval now, when;

    if (!event_pending(run.look, EV_TIMEOUT, &when))
        return -1;
    gettimeofday(&now, NULL);
    return (double)(when.tv_sec - now.tv_sec) + (double)(when.tv_usec - now.tv_usec) / 1e6;
}

/* --- hosts that leave --------------------------------------------------------- */

/* The ranks are told once, and only while there are some. */
static void test_tell(void **state)
{
    int now;

    (void)state;
    elastic();
    begin();
    departs(1, 1000);
    for (now = 0; now < PHASES; now++) {
        run.phase.now = (enum phase_now)now;
        if (run.phase.now != PHASE_RUNNING)
            look_then("");
    }
    run.phase.now = PHASE_RUNNING;
    look_then("notice: te2 leaves (spot);");
    look_then("");
    departs(0, 500);
    look_then("notice: te1 leaves (spot);");
    assert_int_equal(run.outcome.cause, 0);
}

static void test_take_back(void **state)
{
    int now;

    (void)state;
    elastic();
    begin();
    assert_true(membership_unlisted(&members, 1, clock_now_s(), 1000));
    look_then("notice: te2 leaves (" MEMBERSHIP_UNLISTED ");");
    membership_listed(&members, 1);
    for (now = 0; now < PHASES; now++) {
        run.phase.now = (enum phase_now)now;
        if (run.phase.now != PHASE_RUNNING)
            look_then("");
    }
    run.phase.now = PHASE_RUNNING;
    look_then("notice: none leaves;");
    look_then("");
}

/* No rank of a spare must save. */
static void test_send_away(void **state)
{
    int now;

    (void)state;
    elastic();
    begin();
    departs(2, 1000);
    for (now = 0; now < PHASES; now++) {
        run.phase.now = (enum phase_now)now;
        members.item[2].state = now % 2 == 0 ? MEMBER_SPARE : MEMBER_JOINING;
        look_then("te3 leaves;");
        assert_int_equal(members.item[2].state, MEMBER_LEAVING);
        look_then("");
    }
    assert_int_equal(run.outcome.cause, 0);
}

static void ends_in(enum phase_now now)
{
    elastic();
    begin();
    run.phase.now = now;
    departs(1, 0);
    look_then("stop;");
    expect_end("node te2 leaves (spot)");
    assert_false(generation_is_last(&run));
    look_then("");
}

static void test_end_connecting(void **state)
{
    (void)state;
    ends_in(PHASE_CONNECTING);
    run.outcome.has_begun = false;
    over_then("leave;"); /* no rank was ever started */
    expect_end("node te2 leaves (spot)");
}

static void test_end_preparing(void **state)
{
    (void)state;
    ends_in(PHASE_PREPARING);
    over_then("restart;world te1 te3;new place;prepare;");
}

static void test_end_running(void **state)
{
    (void)state;
    ends_in(PHASE_RUNNING);
    over_then("restart;world te1 te3;new place;prepare;");
    assert_int_equal(run.outcome.cause, 0);
    look_then("te2 leaves;"); /* now it has no place */
    runs();
    look_then("");
}

/* The generation ends anyway, or has ended: the next one does without the node. */
static void test_end_stopping(void **state)
{
    (void)state;
    rules = (struct member_rules){ .goes_on = true };
    options.max_restarts = 1;
    begin();
    rank_ends(0, 3);
    run.phase.now = PHASE_STOPPING;
    departs(1, 0);
    look_then("");
    assert_int_equal(run.outcome.cause, 0);
    over_then("restart;world te1 te3;new place;prepare;");
}

static void test_end_restarting(void **state)
{
    (void)state;
    rules = (struct member_rules){ .goes_on = true };
    begin_restart();
    departs(1, 0);
    look_then("");
    assert_int_equal(run.outcome.cause, 0);
    restart_is_due("world te1 te3;new place;prepare;");
}

/* No other node may take its place. */
static void test_end_of_fixed(void **state)
{
    (void)state;
    options.max_restarts = 3;
    begin();
    departs(1, 0);
    look_then("stop;");
    expect_end("node te2 leaves (spot)");
    assert_true(generation_is_last(&run));
    over_then("leave;");
    expect_end("node te2 leaves (spot)");
}

static void test_end_after_another(void **state)
{
    (void)state;
    elastic();
    begin();
    outcome_cause(&run.outcome, EXIT_TIMEOUT, "too long");
    departs(1, 0);
    look_then("stop;");
    assert_int_equal(run.outcome.cause, EXIT_TIMEOUT);
    over_then("leave;");
}

/* Once the generation ends, its ranks need no other notice. */
static void test_all_leave(void **state)
{
    (void)state;
    elastic();
    begin();
    departs(0, 0);
    departs(1, 1000);
    departs(2, 1000);
    look_then("stop;te3 leaves;");
    expect_end("node te1 leaves (spot)");
}

static void test_told_and_due(void **state)
{
    (void)state;
    elastic();
    begin();
    departs(0, 1000);
    departs(1, 0);
    look_then("notice: te1 leaves (spot);stop;");
    expect_end("node te2 leaves (spot)");
    over_then("restart;world te3;new place;prepare;"); /* te1 does not wait for its time */
}

/* Its ranks did not know it: the next ones are told. */
static void test_not_told(void **state)
{
    (void)state;
    rules = (struct member_rules){ .goes_on = true };
    options.max_restarts = 1;
    begin();
    rank_ends(0, 3);
    run.phase.now = PHASE_STOPPING;
    departs(1, 1000);
    look_then("");
    over_then("restart;same place;prepare;");
    look_then("");
    runs();
    look_then("notice: te2 leaves (spot);");
}

/* --- another world is due ------------------------------------------------------- */

static void test_change(void **state)
{
    int now;

    (void)state;
    elastic();
    begin();
    for (now = 0; now < PHASES; now++) {
        run.phase.now = (enum phase_now)now;
        if (run.phase.now != PHASE_RUNNING)
            change_then("the world grows", "");
    }
    assert_int_equal(run.outcome.cause, 0);
    run.phase.now = PHASE_RUNNING;
    look_then("stop;");
    expect_end("the world grows");
    look_then("");
}

static void test_change_to_the_same(void **state)
{
    int now;

    (void)state;
    rules = (struct member_rules){ .goes_on = true };
    begin();
    for (now = 0; now < PHASES; now++) {
        run.phase.now = (enum phase_now)now;
        change_then("the world grows", run.phase.now == PHASE_RUNNING ? "take back;" : "");
    }
    assert_int_equal(run.outcome.cause, 0);
}

/* The node leaves, so the next world is another one. */
static void test_change_and_departure(void **state)
{
    (void)state;
    rules = (struct member_rules){ .goes_on = true };
    begin();
    departs(1, 0);
    change_then("the world grows", "stop;");
    expect_end("node te2 leaves (spot)");
}

/* A world that could grow grows when its ranks run, not before. */
static void test_grows(void **state)
{
    int now;

    (void)state;
    elastic();
    options.members.grow_s = 0;
    begin();
    for (now = 0; now < PHASE_RUNNING; now++) {
        run.phase.now = (enum phase_now)now;
        look_then("");
    }
    run.phase.now = PHASE_STOPPING;
    look_then("");
    run.phase.now = PHASE_RUNNING;
    look_then("save in 60 s, muster goes: more nodes are available: the world grows;");
}

/* --- connections ------------------------------------------------------------------ */

/* While a generation ends, muster connects no host. */
static void test_connect(void **state)
{
    int now;

    (void)state;
    elastic();
    begin();
    for (now = 0; now < PHASES; now++) {
        run.phase.now = (enum phase_now)now;
        members.item[2].state = MEMBER_AWAY;
        look_then(run.phase.now == PHASE_STOPPING ? "" : "connect te3;");
        look_then("");
    }
}

static void test_surplus(void **state)
{
    int now;

    (void)state;
    elastic();
    rules.max_nodes = 2;
    begin();
    for (now = 0; now < PHASES; now++) {
        run.phase.now = (enum phase_now)now;
        members.item[2].state = MEMBER_SPARE;
        look_then(run.phase.now == PHASE_STOPPING ? "" : "te3 leaves;");
        look_then("");
    }
}

/* --- time -------------------------------------------------------------------------- */

static void becomes_due_in(enum phase_now now)
{
    begin();
    run.phase.now = now;
    departs(1, 0.02);
    run_changed(&run);
    run_fixture_turn(0.1);
    expect_told("stop;");
    expect_end("node te2 leaves (spot)");
}

static void test_due_connecting(void **state)
{
    (void)state;
    elastic();
    becomes_due_in(PHASE_CONNECTING);
}

static void test_due_preparing(void **state)
{
    (void)state;
    elastic();
    becomes_due_in(PHASE_PREPARING);
}

static void test_due_connecting_fixed(void **state)
{
    (void)state;
    becomes_due_in(PHASE_CONNECTING);
}

static void test_due_preparing_fixed(void **state)
{
    (void)state;
    becomes_due_in(PHASE_PREPARING);
}

/* A checkpoint was written: it need not wait any longer. */
static void saved_in(double seconds)
{
    departs(1, 1000);
    look_then("notice: te2 leaves (spot);");
    membership_saved(&members, clock_now_s() + seconds);
    run_changed(&run);
    run_fixture_turn(0.1);
    expect_told("stop;");
}

static void test_due_running(void **state)
{
    (void)state;
    elastic();
    begin();
    saved_in(0.02);
}

static void test_due_running_fixed(void **state)
{
    (void)state;
    begin();
    saved_in(0.02);
}

/* The next event may be in a long time: before it, the host must be known to leave. */
static void test_due_restarting(void **state)
{
    (void)state;
    elastic();
    begin_restart();
    departs(1, 0.02);
    run_changed(&run);
    run_fixture_turn(0.1);
    expect_told("");
    assert_true(membership_is_due(&members, 1));
    restart_is_due("world te1 te3;new place;prepare;");
}

static void test_not_due(void **state)
{
    (void)state;
    begin();
    look_then("");
    assert_true(looks_in_s() < 0);
    departs(1, 1000);
    look_then("notice: te2 leaves (spot);");
    assert_true(looks_in_s() > 900 && looks_in_s() < 1001);
}

/* What is due first counts: the restart, or the host. */
static void test_restart_and_departure(void **state)
{
    (void)state;
    begin_restart();
    assert_true(looks_in_s() > 900 && looks_in_s() < 1001);
    departs(1, 5000);
    look_then("");
    assert_true(looks_in_s() > 900 && looks_in_s() < 1001);
    departs(1, 500);
    look_then("");
    assert_true(looks_in_s() > 400 && looks_in_s() < 501);
    restart_is_due("same place;prepare;");
    assert_true(looks_in_s() < 0.1); /* a node may be due already */
    look_then("");
    assert_true(looks_in_s() > 400 && looks_in_s() < 501);
}

static void grows_now(void)
{
    membership_joined(&members, 2);
    change_due = "the world grows";
    run_changed(&run);
}

/* What has changed while generation.c looked is not put off until a host is due. */
static void test_changed_meanwhile(void **state)
{
    (void)state;
    elastic();
    begin();
    members.item[2].state = MEMBER_AWAY;
    departs(1, 1000);
    on_connect = grows_now;
    run_changed(&run);
    run_fixture_turn(0.1);
    expect_told("notice: te2 leaves (spot);connect te3;stop;");
    expect_end("the world grows");
}

/* --- the end of the run ---------------------------------------------------------------- */

/* Agents leave; all that comes in between changes nothing. */
static void test_over(void **state)
{
    (void)state;
    elastic();
    begin();
    rank_ends(0, 3);
    over_then("leave;");
    departs(0, 0);
    departs(1, 1000);
    departs(2, 1000);
    change_then("the world grows", "");
    assert_true(looks_in_s() < 0);
    assert_int_equal(run.outcome.cause, 0);
    assert_int_equal(members.item[2].state, MEMBER_SPARE);
    members.item[2].state = MEMBER_AWAY;
    memset(members.item[2].departure, 0, sizeof members.item[2].departure);
    look_then("");
}

/* Its agents do not stay, so the policy decides nothing. */
static void test_finished(void **state)
{
    (void)state;
    begin();
    rank_ends(0, 0);
    rank_ends(1, 0);
    node[0].state = node[1].state = NODE_ENDED;
    run.phase.over = NODES;
    departs(0, 0);
    departs(2, 1000);
    look_then("");
    assert_int_equal(run.outcome.cause, 0);
    assert_true(looks_in_s() < 0);
}

static void test_not_finished(void **state)
{
    (void)state;
    begin();
    node[0].state = NODE_ENDED;
    run.phase.over = 1;
    departs(1, 0);
    look_then("stop;");
}

/* The last spare may be gone. */
static void test_pool_ends(void **state)
{
    (void)state;
    begin();
    is_ending = true;
    look_then("maybe end;");
    rank_ends(0, 3);
    over_then("leave;maybe end;");
    look_then("maybe end;");
}

#define TEST(name)                                                                             \
    cmocka_unit_test_setup_teardown(name, generation_fixture_begin, generation_fixture_end)

static void test_no_progress(void **state)
{
    (void)state;
    options.max_restarts = 5;
    options.max_no_progress = 2;
    knows_progress = true;
    begin();
    rank_ends(1, 3);
    over_then("restart;same place;prepare;");
    runs();
    rank_ends(1, 4);
    over_then("leave;");
    generation_end(&run);
    assert_int_equal(outcome_status(&run.outcome), EXIT_NO_PROGRESS);
    assert_string_equal(run.outcome.given_up,
                        "no progress: 2 generations in a row did not get beyond step 5 (found by: "
                        "tqdm), nor to a newer checkpoint than save/latest; find out why before "
                        "you start it again (--max-no-progress, exit status 79)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_tell),
        TEST(test_take_back),
        TEST(test_send_away),
        TEST(test_end_connecting),
        TEST(test_end_preparing),
        TEST(test_end_running),
        TEST(test_end_stopping),
        TEST(test_end_restarting),
        TEST(test_end_of_fixed),
        TEST(test_end_after_another),
        TEST(test_all_leave),
        TEST(test_told_and_due),
        TEST(test_not_told),
        TEST(test_change),
        TEST(test_change_to_the_same),
        TEST(test_change_and_departure),
        TEST(test_grows),
        TEST(test_connect),
        TEST(test_surplus),
        TEST(test_due_connecting),
        TEST(test_due_preparing),
        TEST(test_due_connecting_fixed),
        TEST(test_due_preparing_fixed),
        TEST(test_due_running),
        TEST(test_due_running_fixed),
        TEST(test_due_restarting),
        TEST(test_not_due),
        TEST(test_restart_and_departure),
        TEST(test_changed_meanwhile),
        TEST(test_over),
        TEST(test_finished),
        TEST(test_not_finished),
        TEST(test_pool_ends),
        TEST(test_no_progress),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
