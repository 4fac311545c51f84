/* test_run_figures.c - which figures a run has, and what is added up over its generations
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
#include "course/run_figures.h"
#include "hook/event_hook.h"
#include "run/costs.h"
#include "run/events.h"
#include "run/hang.h"
#include "run/pool.h"
#include "run/steps.h"
#include "run_fixture.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static struct run_figures       figures;
static struct event_hook_counts events;
static struct step_pace         pace;
static int64_t                  lowest_step, highest_step;
static double                   step_s;
static bool                     is_hanging, has_events;

/* --- the others ------------------------------------------------------------- */

void costs_look(struct run *of)
{
    (void)of;
}

bool events_counts(const struct run *of, struct event_hook_counts *counts)
{
    (void)of;
    *counts = events;
    return has_events;
}

bool hang_is_seen(const struct run *of)
{
    (void)of;
    return is_hanging;
}

struct membership *pool_members(const struct run *of)
{
    (void)of;
    return &members;
}

size_t pool_nodes(const struct run *of)
{
    (void)of;
    return HOSTS;
}

struct node *pool_node(const struct run *of, size_t number)
{
    (void)of;
    return &node[number];
}

bool steps_range(const struct run *of, const struct plan *world, int64_t *lowest,
                 int64_t *highest)
{
    assert_ptr_equal(of, &run);
    assert_ptr_equal(world, &plan);
    *lowest = lowest_step;
    *highest = highest_step;
    return highest_step >= 0;
}

void steps_signs(const struct run *of, int64_t now_ns, struct hang_signs *signs)
{
    (void)of, (void)now_ns;
    signs->step_s = step_s;
    signs->pace = &pace;
}

/* --- the run ------------------------------------------------------------------ */

static int setup(void **state)
{
    (void)state;
    run_fixture_begin();
    plan.run_id = (char *)"1234";
    plan.command = COMMAND_RUN;
    plan.node_count = NODES;
    options.script = (char *)"train.py";
    options.name = (char *)"night";
    outcome_init(&run.outcome, &plan);
    run_figures_init(&figures, &run);
    pace = (struct step_pace){ 0 };
    lowest_step = highest_step = -1;
    step_s = -1;
    is_hanging = has_events = false;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    run_figures_clear(&figures);
    outcome_clear(&run.outcome);
    run_fixture_end();
    return 0;
}

/* Expects these samples, without the label that all have, in the text. */
static void expect_samples(const char *expected)
{
    char *text = run_figures_text(&figures, &run, METRICS_PROMETHEUS), *line, *rest, *at;
    char  sample[200];

    for (line = strdup(expected), rest = line; (at = strsep(&rest, ";")) != NULL;) {
        size_t name = strcspn(at, "{ ");

        snprintf(sample, sizeof sample, at[name] == '{' ? "\n%.*s{run_id=\"1234\",%s\n"
                                                        : "\n%.*s{run_id=\"1234\"}%s\n",
                 (int)name, at, at[name] == '{' ? at + name + 1 : at + name);
        if (at[0] != '\0' && strstr(text, sample) == NULL)
            fail_msg("no%s in:\n%s", sample, text);
    }
    free(line);
    free(text);
}

static void expect_none(const char *name)
{
    char *text = run_figures_text(&figures, &run, METRICS_PROMETHEUS);

    if (strstr(text, name) != NULL)
        fail_msg("%s in:\n%s", name, text);
    free(text);
}

static void says(size_t which, const char *severity, int count)
{
    json_t *body = json_pack("{s:[{s:s, s:s, s:s, s:i}]}", "items", "kind", severity, "device", "",
                             "severity", severity, "count", count);

    outcome_evidence(&run.outcome, which, body);
    json_decref(body);
}

static void a_run(void **state)
{
    (void)state;
    run.output_bytes = 1234567;
    expect_samples("muster_generation 0;muster_nodes 2;muster_spares 1;muster_run_hangs 0;"
                   "muster_run_state{state=\"running\"} 1;muster_run_state{state=\"ended\"} 0;"
                   "muster_ranks{state=\"starting\"} 2;muster_ranks{state=\"running\"} 0;"
                   "muster_restarts_total{cause=\"rank\"} 0;muster_output_bytes_total 1234567");
    expect_none("muster_step");
    expect_none("muster_events");
    expect_none("muster_exit_status");
    is_hanging = true;
    expect_samples("muster_run_hangs 1");
}

static void ranks_by_state(void **state)
{
    struct rank_end well = { .ended = true }, killed = { .ended = true, .signal = 9 };

    (void)state;
    outcome_rank_started(&run.outcome, 0, 7, 1);
    outcome_rank_started(&run.outcome, 1, 8, 1);
    expect_samples("muster_ranks{state=\"starting\"} 0;muster_ranks{state=\"running\"} 2");
    node[1].liveness.is_suspect = true;
    expect_samples("muster_ranks{state=\"running\"} 1;muster_ranks{state=\"silent\"} 1");
    outcome_rank_ended(&run.outcome, 0, &well);
    outcome_rank_ended(&run.outcome, 1, &killed);
    expect_samples("muster_ranks{state=\"done\"} 1;muster_ranks{state=\"failed\"} 1;"
                   "muster_ranks{state=\"silent\"} 0");
}

static void a_rank_that_was_stopped_has_not_failed(void **state)
{
    struct rank_end killed = { .ended = true, .signal = 15, .after_stop = true };

    (void)state;
    outcome_rank_started(&run.outcome, 0, 7, 1);
    outcome_rank_ended(&run.outcome, 0, &killed);
    node[1].state = NODE_FAILED;
    expect_samples("muster_ranks{state=\"stopped\"} 1;muster_ranks{state=\"failed\"} 0;"
                   "muster_ranks{state=\"lost\"} 1");
}

static void steps(void **state)
{
    (void)state;
    lowest_step = 90;
    highest_step = 100;
    step_s = 2.5;
    expect_samples("muster_step_highest 100;muster_step_lowest 90;muster_step_age_seconds 2.5");
    expect_none("muster_step_interval");
    step_pace_note(&pace, 1);
    step_pace_note(&pace, 2);
    step_pace_note(&pace, 4);
    step_pace_note(&pace, 6);
    expect_samples("muster_step_interval_seconds 2");
}

static void checkpoints_and_suspects(void **state)
{
    const struct checkpoint first = { (char *)"latest", (char *)"", 1000, 10, 1.5 };
    const struct checkpoint second = { (char *)"latest", (char *)"", 2000, 20, -1 };
    struct checkpoint_log   log = { 0 };

    (void)state;
    run.checkpoints = &log;
    expect_none("muster_checkpoint");
    expect_samples("muster_suspects 0");
    checkpoint_log_add(&log, &first);
    expect_samples("muster_checkpoints_total 1;muster_checkpoint_save_seconds 1.5");
    checkpoint_log_add(&log, &second);
    expect_samples("muster_checkpoints_total 2");
    expect_none("muster_checkpoint_save_seconds");
    log.at_s = clock_now_s() + 1; /* the clock of the file server is ahead */
    expect_none("muster_checkpoint_age_seconds{run_id=\"1234\"} -");
    checkpoint_log_clear(&log);
    run.checkpoints = NULL;
    outcome_suspect(&run.outcome, "te1", "kernel: Xid 79", true);
    outcome_suspect(&run.outcome, "te2", "kernel: Xid 79", false);
    outcome_trust(&run.outcome, "te1");
    expect_samples("muster_suspects 1");
}

static void evidence_of_all_generations(void **state)
{
    (void)state;
    says(0, "broken", 3);
    says(1, "notice", 1);
    expect_samples("muster_kernel_evidence_total{severity=\"broken\"} 3;"
                   "muster_kernel_evidence_total{severity=\"notice\"} 1;"
                   "muster_kernel_evidence_total{severity=\"error\"} 0");
    run_figures_restart(&figures, &run, &plan, POLICY_END_RANK);
    outcome_restart(&run.outcome, "rank 0 on te1: exit 1");
    expect_samples("muster_kernel_evidence_total{severity=\"broken\"} 3;"
                   "muster_restarts_total{cause=\"rank\"} 1;"
                   "muster_restarts_total{cause=\"hang\"} 0");
    says(0, "broken", 2);
    run_figures_restart(&figures, &run, &plan, POLICY_END_HANG);
    outcome_restart(&run.outcome, "hang");
    expect_samples("muster_kernel_evidence_total{severity=\"broken\"} 5;"
                   "muster_restarts_total{cause=\"rank\"} 1;"
                   "muster_restarts_total{cause=\"hang\"} 1");
}

static void heartbeats(void **state)
{
    (void)state;
    node[2].state = NODE_STAYING;
    roundtrips_take(&node[0].trips, 1000000, 1, 3000000);
    roundtrips_take(&node[1].trips, 1000000, 1, 5000000);
    roundtrips_take(&node[2].trips, 1000000, 1, 9000000);
    expect_samples("muster_node_round_trip_seconds{node=\"te1\"} 0.002;"
                   "muster_node_round_trip_seconds{node=\"te2\"} 0.004;"
                   "muster_node_round_trip_seconds{node=\"te3\"} 0.008;"
                   "muster_heartbeat_round_trip_seconds 0.004;"
                   "muster_heartbeat_round_trip_longest_seconds 0.008");
    node[2].state = NODE_ENDED;
    expect_samples("muster_heartbeat_round_trip_longest_seconds 0.004");
    expect_none("te3");
    expect_none("muster_node_silent_seconds{");
}

static void events_and_the_end(void **state)
{
    (void)state;
    has_events = true;
    events = (struct event_hook_counts){ .told = 5, .failed = 1, .dropped = 3 };
    figures.is_over = true;
    figures.status = 124;
    expect_samples("muster_events_total{result=\"told\"} 5;"
                   "muster_events_total{result=\"failed\"} 1;"
                   "muster_events_total{result=\"dropped\"} 3;muster_exit_status 124;"
                   "muster_run_state{state=\"ended\"} 1;muster_run_state{state=\"running\"} 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run),
        TEST(ranks_by_state),
        TEST(a_rank_that_was_stopped_has_not_failed),
        TEST(steps),
        TEST(checkpoints_and_suspects),
        TEST(evidence_of_all_generations),
        TEST(heartbeats),
        TEST(events_and_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
