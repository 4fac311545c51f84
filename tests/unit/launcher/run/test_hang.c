/* test_hang.c - --hang-timeout: which runs hang, and what muster reports about one
 *
 * The test plays the phases, the peers and the run directory.
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
#include "node/flow.h"
#include "node/peers.h"
#include "run/events.h"
#include "run/hang.h"
#include "run/rendezvous.h"
#include "run/stacks.h"
#include "run/steps.h"
#include "run_fixture.h"
#include "xalloc.h"

static bool           are_known, is_away; /* all peers have answered */
static void           (*peers_done)(void *arg);
static void          *peers_arg;
static struct strlist lines;
static struct checkpoint_log checkpoints;
static struct collectives    collectives;
static char          *stacks; /* contents of stacks.txt */

/* --- the others ------------------------------------------------------------- */

const char *rendezvous_token(const struct rendezvous *rendezvous)
{
    (void)rendezvous;
    return "secret";
}

struct peers *peers_begin(struct event_base *base, const struct peers_question *question,
                          void (*done)(void *arg), void *arg)
{
    size_t i;

    assert_ptr_equal(base, run.base);
    peers_done = done;
    peers_arg = arg;
    told("peers %s %s", question->token, question->master_addr);
    for (i = 0; i < question->nodes; i++)
        told(" %s", question->node[i]->plan->host);
    told(";");
    return (struct peers *)&lines;
}

void peers_free(struct peers *peers)
{
    (void)peers;
}

void peers_take(struct peers *peers, struct node *from, const json_t *body)
{
    (void)peers, (void)body;
    told("probed %s;", from->plan->host);
}

bool peers_are_known(const struct peers *peers)
{
    (void)peers;
    return are_known;
}

const struct strlist *peers_lines(const struct peers *peers)
{
    (void)peers;
    return &lines;
}

json_t *peers_json(const struct peers *peers)
{
    (void)peers;
    return json_array();
}

void phase_stop(struct run *of)
{
    (void)of;
    told("stop;");
}

bool phase_any_away(const struct run *of)
{
    (void)of;
    return is_away;
}

int run_dir_stacks(const struct run_dir *dir, const char *text, size_t size, const json_t *json,
                   struct error *err)
{
    (void)dir, (void)json, (void)err, free(stacks);
    stacks = xstrndup(text, size);
    return 0;
}

/* --- the run ---------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    run_fixture_begin();
    are_known = true;
    is_away = false;
    options.hang_timeout_s = 60;
    plan.master_addr = (char *)"10.0.0.1";
    outcome_init(&run.outcome, &plan);
    run.flow = flow_new(NODES);
    flow_begin(run.flow, 0);
    flow_begin(run.flow, 1);
    run.checkpoints = &checkpoints;
    run.collectives = &collectives;
    hang_open(&run);
    steps_open(&run);
    stacks_open(&run);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    hang_free(run.hang);
    steps_free(run.steps);
    stacks_free(run.stacks);
    flow_free(run.flow);
    outcome_clear(&run.outcome);
    checkpoint_log_clear(&checkpoints);
    collectives_again(&collectives);
    strlist_clear(&lines);
    free(stacks);
    stacks = NULL;
    run_fixture_end();
    return 0;
}

/* The node's ranks have been idle for idle_s. */
static void is_idle(size_t which, double idle_s)
{
    json_t *body = json_pack("{s:f}", "idle_s", idle_s);

    hang_take_idle(&run, &node[which], body);
    json_decref(body);
}

/* The rank, the only one on its node, has reported a step. */
static void stepped(int rank, int step, double age_s, bool is_last)
{
    json_t      *body = json_pack("{s:[{s:i, s:s, s:i, s:i, s:f, s:b}]}", "ranks", "rank", rank,
                                  "form", "tqdm", "step", step, "count", 1, "age_s", age_s, "last",
                                  (int)is_last);
    struct error err;

    assert_int_equal(steps_take(&run, &node[rank], body, &err), 0);
    json_decref(body);
}

static void expect_no_hang(void)
{
    hang_look(&run);
    expect_told("");
    assert_int_equal(run.outcome.cause, 0);
    fake_expect_none(&fakes[0]);
    fake_expect_none(&fakes[1]);
}

/* Both nodes hang, and get a request for their stacks. */
static void begin(void)
{
    is_idle(0, 60);
    is_idle(1, 61);
    hang_look(&run);
    expect_told("peers secret 10.0.0.1 te1 te2;");
    fake_expect(&fakes[0], FRAME_STACKS);
    fake_expect(&fakes[1], FRAME_STACKS);
}

static void stack(size_t which, const char *text, bool is_end)
{
    json_t *body = json_pack("{s:s, s:b}", "text", text, "end", (int)is_end);

    stacks_take(&run, &node[which], (uint32_t)which, body);
    json_decref(body);
}

/* What the user sees; caller frees. */
static char *report(void)
{
    char  *text;
    size_t size;
    FILE  *out = open_memstream(&text, &size);

    hang_report(&run, out);
    fclose(out);
    return text;
}

/* --- does it hang? ------------------------------------------------------------ */

static void test_it_works(void **state)
{
    char *text;

    (void)state;
    expect_no_hang();
    is_idle(0, 1000);
    is_idle(1, 59.9); /* one working node is enough */
    expect_no_hang();
    assert_false(hang_is_over(&run));
    text = report();
    assert_string_equal(text, "");
    free(text);
}

static void test_it_hangs(void **state)
{
    (void)state;
    begin();
    assert_int_equal(run.outcome.cause, EXIT_TIMEOUT);
    assert_string_equal(last_event, "hang no output and no CPU time from any rank for 60 s "
                                    "(--hang-timeout) ");
    last_event[0] = '\0';
    hang_look(&run); /* once */
    assert_string_equal(last_event, "");
    expect_told("");
    fake_expect_none(&fakes[0]);
}

static void test_other_phases(void **state)
{
    (void)state;
    is_idle(0, 60);
    is_idle(1, 60);
    options.hang_timeout_s = 0;
    expect_no_hang();
    options.hang_timeout_s = 60;
    run.phase.now = PHASE_STOPPING;
    expect_no_hang();
}

/* A node whose ranks have ended has nothing to do. */
static void test_ranks_have_ended(void **state)
{
    (void)state;
    is_idle(1, 60);
    run.outcome.ranks_left[0] = 0;
    hang_look(&run);
    expect_told("peers secret 10.0.0.1 te2;");
    fake_expect_none(&fakes[0]);
    fake_expect(&fakes[1], FRAME_STACKS);
}

static void test_no_ranks_are_left(void **state)
{
    (void)state;
    is_idle(0, 60);
    is_idle(1, 60);
    node[0].state = NODE_STAYING;
    run.outcome.ranks_left[1] = 0;
    expect_no_hang();
}

/* The reader of the output has stalled: the ranks wait for it. Once it reads, the ranks get the
 * whole timeout again, which they may need to continue. */
static void test_held_up(void **state)
{
    (void)state;
    options.hang_timeout_s = 0.5;
    is_idle(0, 60);
    is_idle(1, 60);
    flow_take(run.flow, 0, FLOW_FIRST, clock_now_ns());
    expect_no_hang();
    run.outcome.ranks_left[0] = 0; /* no rank waits there any more */
    expect_no_hang();
    run_fixture_turn(0.6);
    hang_look(&run);
    expect_told("peers secret 10.0.0.1 te2;");
}

/* A role starts again, and the others wait for it. */
static void test_role_is_away(void **state)
{
    (void)state;
    options.hang_timeout_s = 0.5;
    is_idle(0, 60);
    is_idle(1, 60);
    is_away = true;
    expect_no_hang();
    is_away = false;
    expect_no_hang();
    run_fixture_turn(0.6);
    hang_look(&run);
    expect_told("peers secret 10.0.0.1 te1 te2;");
}

/* Ranks that work, and print, but make no progress. */
static void test_no_step(void **state)
{
    char *text;

    (void)state;
    stepped(0, 12, 60.5, false);
    stepped(1, 11, 10, false);
    expect_no_hang();
    stepped(1, 11, 60.1, false);
    hang_look(&run);
    expect_told("peers secret 10.0.0.1 te1 te2;");
    assert_int_equal(run.outcome.cause, EXIT_TIMEOUT);
    assert_non_null(strstr(run.outcome.cause_text,
                           "no step from any rank for 60 s (--hang-timeout)"));
    text = report();
    assert_non_null(strstr(text, "muster: last step: 11, of rank 1 60 s ago (found by: tqdm); they "
                                 "differ: step 11: rank 1, step 12: rank 0\n"));
    free(text);
}

/* The world has written that many checkpoints, every pause_s one, the last age_s ago. */
static void saved(int count, double pause_s, double age_s)
{
    int i;

    for (i = count - 1; i >= 0; i--) {
        const double            at_s = clock_now_s() - age_s - i * pause_s;
        const struct checkpoint checkpoint = { .path = "save", .says = "", .at_s = at_s,
                                               .file_ns = (int64_t)(at_s * NS_PER_S) };

        assert_true(checkpoint_log_add(&checkpoints, &checkpoint));
    }
}

static void test_checkpoint_is_progress(void **state)
{
    (void)state;
    stepped(0, 12, 1000, false);
    saved(1, 0, 30);
    expect_no_hang();
    checkpoint_log_again(&checkpoints, 0); /* that was another generation */
    hang_look(&run);
    expect_told("peers secret 10.0.0.1 te1 te2;");
}

/* Ranks that report no steps, but write checkpoints. */
static void test_no_checkpoint(void **state)
{
    (void)state;
    saved(4, 100, 990);
    expect_no_hang();
    checkpoints.at_s -= 20;
    hang_look(&run);
    expect_told("peers secret 10.0.0.1 te1 te2;");
    assert_non_null(strstr(run.outcome.cause_text, "no checkpoint from any rank for"));
}

/* NCCL's counts differ, and have not changed since. */
static void counted(double since_s)
{
    collectives_again(&collectives);
    collectives.last = json_pack("{s:[{s:[i]}]}", "list", "ops", 1);
    collectives.looks = COLLECTIVES_LOOKS;
    collectives.moved_s = clock_now_s() - since_s;
}

/* Ranks that wait for each other in NCCL, and look busy. */
static void test_collectives(void **state)
{
    (void)state;
    counted(61);
    stepped(0, 12, 30, false); /* a step came since */
    expect_no_hang();
    steps_again(&run, &plan);
    hang_look(&run);
    expect_told("peers secret 10.0.0.1 te1 te2;");
    assert_non_null(strstr(run.outcome.cause_text, "no further collective in NCCL from any rank"));
}

/* Ranks may save a model after their last step, but not all night. */
static void test_last_step(void **state)
{
    (void)state;
    stepped(0, 100, 1700, true);
    expect_no_hang();
    stepped(0, 100, 1801, true);
    hang_look(&run);
    expect_told("peers secret 10.0.0.1 te1 te2;");
}

/* muster does not hear of steps that a node cannot send. */
static void test_silent_node(void **state)
{
    (void)state;
    stepped(0, 12, 60, false);
    node[0].liveness.is_suspect = true;
    expect_no_hang();
    node[0].liveness.is_suspect = false;
    expect_no_hang();
    is_idle(0, 60); /* as it has said itself */
    is_idle(1, 60);
    hang_look(&run);
    expect_told("peers secret 10.0.0.1 te1 te2;");
}

/* Only ranks that run could report another step. */
static void test_rank_with_steps_has_ended(void **state)
{
    (void)state;
    stepped(0, 12, 100, false);
    run.outcome.rank[0].ended = true;
    expect_no_hang();
}

/* What no agent sends: the node must not reach ranks that are not its own. */
static void test_wrong_steps(void **state)
{
    static const char *const entries[] = {
        "", "{}", "[]", "{\"rank\":0}",
        "{\"rank\":1, \"form\":\"tqdm\", \"step\":1, \"count\":1, \"age_s\":0}",
        "{\"rank\":-1, \"form\":\"tqdm\", \"step\":1, \"count\":1, \"age_s\":0}",
        "{\"rank\":4294967296, \"form\":\"tqdm\", \"step\":1, \"count\":1, \"age_s\":0}",
        "{\"rank\":0, \"form\":\"tqdm\", \"step\":-2, \"count\":1, \"age_s\":0}",
        "{\"rank\":0, \"form\":\"tqdm\", \"step\":1, \"count\":0, \"age_s\":0}",
        "{\"rank\":0, \"form\":\"tqdm\", \"step\":1, \"count\":1, \"age_s\":-1}",
        "{\"rank\":0, \"form\":\"tqdm\", \"step\":1, \"count\":1, \"age_s\":1e300}",
        "{\"rank\":0, \"form\":7, \"step\":1, \"count\":1, \"age_s\":0}",
    };
    struct error err;
    json_t      *body, *known;
    char        *text;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof entries / sizeof *entries; i++) {
        text = xasprintf("{\"ranks\":[%s]}", entries[i]);
        body = json_loads(text, 0, NULL);
        assert_non_null(body);
        assert_int_equal(steps_take(&run, &node[0], body, &err), -1);
        json_decref(body);
        free(text);
    }
    known = steps_json(&run);
    assert_true(json_is_null(known));
    json_decref(known);
}

/* With auto nothing is known before the third pause. */
static void test_auto(void **state)
{
    int i;

    (void)state;
    options.hang_timeout_s = OPTION_AUTO;
    run_fixture_log();
    for (i = 0; i < 4; i++) {
        stepped(0, i, 330 - 5 * i, false);
        if (i < 3)
            expect_no_hang();
    }
    expect_logged("test: --hang-timeout=auto: ranks report a step about every * s (tqdm); without "
                  "one for * s the run hangs\n");
    stepped(1, i, 299.9, false); /* its pace does not count */
    stepped(0, i, 15, false); /* a pause of 300 s, for a checkpoint */
    is_idle(0, 599);
    is_idle(1, 599);
    expect_no_hang();
    is_idle(0, 601);
    is_idle(1, 601);
    hang_look(&run);
    expect_told("peers secret 10.0.0.1 te1 te2;");
    assert_non_null(strstr(run.outcome.cause_text, "no output and no CPU time"));
}

/* --- the report ----------------------------------------------------------------- */

static void test_stacks(void **state)
{
    char *text;

    (void)state;
    begin();
    stack(0, "main\nwait\n", false);
    stack(0, "", true);
    expect_told("");
    stack(1, "loop \033[2J", true);
    expect_told("stop;");
    assert_true(hang_is_over(&run));
    assert_non_null(run.outcome.unreached);
    assert_null(stacks); /* there is no run directory */
    text = report();
    assert_non_null(strstr(text, "  | rank 0 on te1:\n  | main\n  | wait\n"));
    assert_non_null(strstr(text, "  | rank 1 on te2:\n  | loop "));
    assert_null(strchr(text, '\033'));
    free(text);
}

/* The peers answer after the stacks. */
static void test_peers_last(void **state)
{
    char *text;

    (void)state;
    are_known = false;
    run.dir.path = (char *)"/run";
    begin();
    stack(0, "main", true);
    stack(1, "main", true);
    expect_told("");
    strlist_addf(&lines, "te1 cannot reach te2");
    are_known = true;
    peers_done(peers_arg);
    expect_told("stop;");
    assert_string_equal(stacks, "te1 cannot reach te2\nranks 0-1 on te[1-2]:\nmain\n");
    text = report();
    assert_non_null(strstr(text, "muster: all stacks are in /run/stacks.txt\n"
                                 "muster: te1 cannot reach te2\n"));
    free(text);
    peers_done(peers_arg); /* the time limit calls it, too */
    expect_told("");
}

static void test_probed(void **state)
{
    (void)state;
    hang_take_probed(&run, &node[1], NULL); /* a probe of the start, not of the hang */
    expect_told("");
    begin();
    hang_take_probed(&run, &node[1], NULL);
    expect_told("probed te2;");
}

static void test_nobody_has_asked(void **state)
{
    (void)state;
    stack(0, "main", true);
    assert_int_equal(node[0].state, NODE_FAILED);
    assert_int_equal(node[0].failure->exit_code, EXIT_PROTOCOL);
    run.outcome.ranks_left[0] = 0;
    is_idle(1, 60);
    hang_look(&run);
    forget_told();
    stack(1, "main", true);
    expect_told("stop;");
    stack(1, "main", true); /* its stack was complete */
    assert_int_equal(node[1].state, NODE_FAILED);
    expect_told("");
}

static void test_another_generation(void **state)
{
    (void)state;
    begin();
    stack(0, "main", true);
    stack(1, "main", true);
    expect_told("stop;");
    hang_again(&run);
    stacks_again(&run);
    assert_false(hang_is_over(&run));
    hang_look(&run); /* its ranks are not idle: they have just started */
    expect_told("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_works, setup, teardown),
        cmocka_unit_test_setup_teardown(test_it_hangs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_phases, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ranks_have_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_ranks_are_left, setup, teardown),
        cmocka_unit_test_setup_teardown(test_held_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_role_is_away, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_step, setup, teardown),
        cmocka_unit_test_setup_teardown(test_checkpoint_is_progress, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_checkpoint, setup, teardown),
        cmocka_unit_test_setup_teardown(test_collectives, setup, teardown),
        cmocka_unit_test_setup_teardown(test_last_step, setup, teardown),
        cmocka_unit_test_setup_teardown(test_silent_node, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rank_with_steps_has_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_steps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_auto, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stacks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_peers_last, setup, teardown),
        cmocka_unit_test_setup_teardown(test_probed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nobody_has_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_generation, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
