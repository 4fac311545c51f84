/* test_events.c - when a run tells what, and how long it waits at its end
 *
 * The test plays the program of --on-event.
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

#include "clock.h"
#include "hook/event_hook.h"
#include "run/events.h"
#include "run_fixture.h"
#include "xevent.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static bool is_idle, is_hurried, is_idle_if_hurried;

/* --- the program ------------------------------------------------------------- */

struct event_hook *event_hook_new(struct event_base *base, const char *program, const char *dir,
                                  int dir_fd, const struct event_hook_limits *limits)
{
    assert_ptr_equal(base, run.base);
    assert_string_equal(program, "./program");
    assert_null(dir);
    assert_int_equal(dir_fd, -1);
    assert_true(limits->run_s == EVENT_HOOK_S && limits->term_s == EVENT_HOOK_TERM_S);
    return (struct event_hook *)&is_idle;
}

void event_hook_free(struct event_hook *hook)
{
    (void)hook;
}

void event_hook_put(struct event_hook *hook, json_t *event)
{
    const char *role = json_string_value(json_object_get(event, "role"));

    (void)hook;
    told("%s %lld%s%s;", json_string_value(json_object_get(event, "event")),
         (long long)json_integer_value(json_object_get(event, "generation")),
         role != NULL ? " " : "", role != NULL ? role : "");
    json_decref(event);
}

struct event_hook_counts event_hook_counts(const struct event_hook *hook)
{
    (void)hook;
    return (struct event_hook_counts){ .told = 7 };
}

bool event_hook_is_idle(const struct event_hook *hook)
{
    (void)hook;
    return is_idle || (is_hurried && is_idle_if_hurried);
}

void event_hook_hurry(struct event_hook *hook)
{
    (void)hook;
    is_hurried = true;
}

/* --- starts -------------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    run_fixture_begin();
    run_fixture_log();
    plan.run_id = (char *)"1234";
    plan.command = COMMAND_RUN;
    plan.node_count = NODES;
    options.command = COMMAND_RUN;
    options.on_event = (char *)"./program";
    options.script = (char *)"train.py";
    run.outcome.ours = NODES;
    run.events = events_new(&run);
    is_idle = is_hurried = is_idle_if_hurried = false;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    events_free(run.events);
    run_fixture_end();
    return 0;
}

static void rank_starts(void)
{
    run.outcome.started++;
    events_rank_started(&run);
}

static void a_start_is_that_of_all(void **state)
{
    (void)state;
    rank_starts();
    expect_told("");
    rank_starts();
    expect_told("started 0;");
    events_rank_started(&run);
    expect_told("");
    run.outcome.started = 0;
    plan_next_generation(&plan);
    rank_starts();
    rank_starts();
    expect_told("restarted 1;");
    free(plan.stamp);
}

static void what_has_become_of_them(void **state)
{
    struct events           *events = run.events;
    struct event_hook_counts counts;

    (void)state;
    assert_true(events_counts(&run, &counts));
    assert_int_equal(counts.told, 7);
    run.events = NULL;
    assert_false(events_counts(&run, &counts));
    run.events = events;
}

static void a_resumed_run_starts(void **state)
{
    (void)state;
    plan.generation = plan.first_generation = 3;
    rank_starts();
    rank_starts();
    expect_told("started 3;");
}

static void a_generation_that_never_ran(void **state)
{
    (void)state;
    rank_starts();
    run.outcome.started = 0;
    plan.generation = 1;
    rank_starts();
    rank_starts();
    expect_told("restarted 1;");
}

static void roles_start(void **state)
{
    struct plan role[] = { { .role_name = (char *)"train", .world_size = 1 },
                           { .role_name = (char *)"gen", .world_size = 1 } };

    (void)state;
    events_free(run.events);
    plan.role = role;
    plan.roles = 2;
    run.events = events_new(&run);
    run.outcome.started = NODES - 1;
    rank_starts();
    expect_told("started 0;");
    role[1].generation = 1;
    run.outcome.started--;
    rank_starts();
    expect_told("restarted 1 gen;");
    role[1].generation = 2;
    role[0].generation = 1;
    run.outcome.started--;
    rank_starts();
    expect_told("restarted 1 train;restarted 2 gen;");
    plan.generation = 1; /* the whole run */
    role[0].generation = 2;
    role[1].generation = 3;
    run.outcome.started--;
    rank_starts();
    expect_told("restarted 3;");
    role[0].generation = 3;
    run.outcome.started--;
    rank_starts();
    expect_told("restarted 3 train;");
}

static void without_the_option(void **state)
{
    struct event_hook_counts counts;

    (void)state;
    events_free(run.events);
    options.on_event = NULL;
    run.events = events_new(&run);
    events_tell(&run, "hang", json_pack("{s:i}", "a", 1), "%s", "text");
    assert_string_equal(events_past(&run, 0)->name, "hang");
    assert_false(events_counts(&run, &counts));
    events_rank_started(&run);
    events_await(&run);
    options.on_event = (char *)"./program"; /* in muster.conf */
    plan.command = COMMAND_CHECK;
    assert_null(events_new(&run));
    plan.command = COMMAND_EXEC;
    assert_null(events_new(&run));
    expect_told("");
}

/* A text is safe to print, and short. */
static void the_last_ones_are_kept(void **state)
{
    char long_text[2 * EVENTS_SHORT];
    int  i;

    (void)state;
    assert_null(events_past(&run, 0));
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    events_tell(&run, "hang", NULL, "\033[2J%s", long_text);
    assert_int_equal(events_past(&run, 0)->number, 1);
    assert_memory_equal(json_string_value(events_past(&run, 0)->text), "^[[2Jxx", 7);
    assert_true(json_string_length(events_past(&run, 0)->text) < EVENTS_SHORT + 10);
    assert_null(events_past(&run, 1));
    for (i = 0; i < 2 * EVENTS_KEPT; i++)
        events_tell(&run, "notice", NULL, "%d", i);
    assert_string_equal(json_string_value(events_past(&run, 0)->text), "127");
    assert_string_equal(json_string_value(events_past(&run, EVENTS_KEPT - 1)->text), "64");
    assert_null(events_past(&run, EVENTS_KEPT));
    run.events = (events_free(run.events), NULL);
    assert_null(events_past(&run, 0));
    forget_told();
}

/* --- the end ------------------------------------------------------------------- */

static void signal_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what, (void)arg;
    run.reader.signals++;
}

static void idle_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what, (void)arg;
    is_idle = true;
}

static void after(double seconds, event_callback_fn cb)
{
    const struct timeval wait = clock_interval(seconds);

    event_base_once(run.base, -1, EV_TIMEOUT, cb, NULL, &wait);
}

static void the_run_waits_for_the_program(void **state)
{
    (void)state;
    after(0.1, idle_cb);
    events_await(&run);
    assert_true(is_idle && !is_hurried);
    expect_logged("");
}

static void not_for_ever(void **state)
{
    const double begin_s = clock_now_s();

    (void)state;
    events_await(&run);
    assert_true(clock_now_s() - begin_s >= EVENTS_END_S);
    assert_true(is_hurried);
}

static void the_last_event_has_half_of_it(void **state)
{
    const double begin_s = clock_now_s();

    (void)state;
    is_idle_if_hurried = true;
    events_await(&run);
    assert_true(clock_now_s() - begin_s >= EVENTS_BEFORE_S);
}

static void one_signal_does_not_end_it(void **state)
{
    (void)state;
    after(0.1, signal_cb);
    after(0.5, idle_cb);
    events_await(&run);
    assert_true(is_idle && !is_hurried);
    expect_logged("test: waiting for ./program, the program of --on-event (repeat to exit)\n");
}

static void a_second_one_does(void **state)
{
    (void)state;
    run.reader.signals = 1;
    after(0.1, signal_cb);
    events_await(&run);
    assert_false(is_hurried); /* or half of the time has passed */
}

static void after_two_it_is_short(void **state)
{
    const double begin_s = clock_now_s();

    (void)state;
    run.reader.signals = 2;
    events_await(&run);
    assert_true(is_hurried);
    assert_true(clock_now_s() - begin_s >= EVENTS_HURRIED_S);
    run.reader.signals = 2;
    after(0.1, signal_cb);
    events_await(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_start_is_that_of_all),
        TEST(what_has_become_of_them),
        TEST(a_resumed_run_starts),
        TEST(a_generation_that_never_ran),
        TEST(roles_start),
        TEST(without_the_option),
        TEST(the_last_ones_are_kept),
        TEST(the_run_waits_for_the_program),
        TEST(not_for_ever),
        TEST(the_last_event_has_half_of_it),
        TEST(one_signal_does_not_end_it),
        TEST(a_second_one_does),
        TEST(after_two_it_is_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
