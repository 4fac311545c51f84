/* test_checkpoints.c - checkpoints that agents have seen: what is kept of them, one that is late,
 * and what no agent sends
 *
 * The test plays the costs.
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
#include "course/checkpoints.h"
#include "fake_events.h"
#include "run/costs.h"
#include "run/steps.h"
#include "run_fixture.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

void costs_checkpoint(struct run *of, double age_s)
{
    (void)of;
    told("kept but %.0f s;", age_s);
}

static int setup(void **state)
{
    (void)state;
    run_fixture_begin();
    plan.ckpt_marker = (char *)"save/*";
    outcome_init(&run.outcome, &plan);
    steps_open(&run);
    checkpoints_open(&run);
    last_event[0] = '\0';
    run_fixture_log();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    checkpoints_close(&run);
    steps_free(run.steps);
    outcome_clear(&run.outcome);
    run_fixture_end();
    return 0;
}

static int take(size_t which, const char *text)
{
    json_t      *body = json_loads(text, 0, NULL);
    struct error err;
    int          rc;

    assert_non_null(body);
    rc = checkpoints_take(&run, &node[which], body, &err);
    json_decref(body);
    return rc;
}

/* The file's clock is not ours. */
static void written(int file_s, double age_s)
{
    char text[200];

    snprintf(text, sizeof text,
             "{\"path\":\"save/a\\u001b[2J\", \"says\":\"step%d\", \"file_ns\":%d000000000, "
             "\"age_s\":%g, \"save_s\":2.5}", file_s, file_s, age_s);
    assert_int_equal(take(0, text), 0);
}

static void stepped(int step)
{
    json_t      *body = json_pack("{s:[{s:i, s:s, s:i, s:i, s:f, s:b}]}", "ranks", "rank", 0,
                                  "form", "tqdm", "step", step, "count", 1, "age_s", 0.0, "last",
                                  0);
    struct error err;

    assert_int_equal(steps_take(&run, &node[0], body, &err), 0);
    json_decref(body);
}

static void expect_progress(bool is_known, bool has_progressed)
{
    struct policy_event event = { 0 };

    checkpoints_progress(&run, run.plan, &event);
    assert_int_equal(event.is_progress_known, is_known);
    assert_int_equal(event.has_progressed, has_progressed);
}

static void test_seen(void **state)
{
    const struct checkpoint_log *log = run.checkpoints;

    (void)state;
    assert_null(checkpoints_last(&run, run.plan));
    written(100, 2);
    expect_told("kept but 2 s;");
    assert_int_equal(log->count, 1);
    assert_float_equal(clock_now_s() - log->at_s, 2, 1);
    assert_float_equal(log->save_s, 2.5, 0.001);
    assert_string_equal(log->says, "step100");
    assert_null(strchr(checkpoints_last(&run, run.plan), '\033'));
    written(100, 3); /* after a notice it comes twice */
    expect_told("");
    assert_int_equal(log->count, 1);
    expect_logged("");
}

static void test_progress(void **state)
{
    (void)state;
    expect_progress(false, false);
    stepped(5);
    expect_progress(true, true);
    steps_again(&run, run.plan);
    checkpoints_again(&run, run.plan);
    stepped(5);
    expect_progress(true, false);
    written(100, 0);
    expect_progress(true, true);
    steps_again(&run, run.plan);
    checkpoints_again(&run, run.plan);
    expect_progress(true, false);
    stepped(6);
    expect_progress(true, true);
    stepped(2); /* it goes back: only checkpoints tell */
    expect_progress(true, false);
}

static void look(void)
{
    event_active(run.checkpoints_look, EV_TIMEOUT, 0);
    run_fixture_turn(0.01);
}

static void test_late(void **state)
{
    int i;

    (void)state;
    for (i = 0; i < 4; i++)
        written(100 * (i + 1), 0);
    look();
    expect_logged("");
    run.checkpoints->since_s -= 300;
    run.phase.now = PHASE_STOPPING;
    look();
    expect_logged("");
    run.phase.now = PHASE_RUNNING;
    look();
    expect_logged("test: warning: no checkpoint for * s, though one is usually written every * s "
                  "(save/a^[[2J)\n");
    assert_non_null(strstr(last_event, "checkpoint_late no checkpoint for 30"));
    assert_non_null(strstr(last_event, "\"usual_s\":100.0"));
}

static void test_storage(void **state)
{
    (void)state;
    assert_int_equal(take(0, "{\"path\":\"save/a\", \"unanswered_s\":31.5}"), 0);
    expect_logged("test: warning: te1: the storage does not answer: a look at save/a has not come "
                  "back for * s\n");
    assert_int_equal(take(0, "{\"path\":\"save/a\", \"unanswered_s\":31.5}"), 0);
    expect_logged(""); /* once */
    expect_progress(false, false);
}

static void test_bad(void **state)
{
    static const char *const bad[] = {
        "{}", "{\"path\":7}", "{\"path\":\"\"}", "{\"path\":\"a\"}",
        "{\"path\":\"a\", \"file_ns\":1}", "{\"path\":\"a\", \"file_ns\":0, \"age_s\":1}",
        "{\"path\":\"a\", \"file_ns\":-1, \"age_s\":1}",
        "{\"path\":\"a\", \"file_ns\":1.5, \"age_s\":1}",
        "{\"path\":\"a\", \"file_ns\":1, \"age_s\":-1}",
        "{\"path\":\"a\", \"file_ns\":1, \"age_s\":1e300}",
        "{\"path\":\"a\", \"file_ns\":1, \"age_s\":\"1\"}",
        "{\"path\":\"a\", \"file_ns\":1, \"age_s\":1, \"save_s\":-1}",
        "{\"path\":\"a\", \"file_ns\":1, \"age_s\":1, \"save_s\":null}",
        "{\"path\":\"a\", \"unanswered_s\":-1}", "{\"path\":\"a\", \"unanswered_s\":\"long\"}",
        "{\"unanswered_s\":40}",
    };
    static const char good[] = "{\"path\":\"a\", \"file_ns\":1, \"age_s\":1}";
    size_t            i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        if (take(0, bad[i]) != -1)
            fail_msg("%s was taken", bad[i]);
    assert_int_equal(take(1, good), -1); /* only the first node looks */
    plan.ckpt_marker = NULL;
    assert_int_equal(take(0, good), -1);
    plan.ckpt_marker = (char *)"save/*";
    assert_int_equal(run.checkpoints->count, 0);
    assert_int_equal(take(0, good), 0);
    expect_logged("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_seen), TEST(test_progress), TEST(test_late), TEST(test_storage), TEST(test_bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
