/* test_requests.c - muster drain, scale, kill and stacks, and new lists of hosts, while a run runs
 *
 * The test plays the generation, the notices and the pool, and notes the calls to them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "course/generation.h"
#include "course/requests.h"
#include "log.h"
#include "run/interrupt.h"
#include "run/notice.h"
#include "run/pool.h"
#include "run/stacks.h"
#include "run_fixture.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static bool goes_on, is_last, is_fixed;
static size_t nodes_running;
static bool   can_write;
static void (*stacks_known)(struct run *run);
static char answer[100];

/* --- the others ------------------------------------------------------------- */

bool run_goes_on(const struct run *of)
{
    (void)of;
    return goes_on;
}

bool generation_is_last(const struct run *of)
{
    (void)of;
    return is_last;
}

int generation_scale(struct run *of, size_t count, double within_s, struct error *err)
{
    (void)of;
    if (is_fixed)
        return err_set(err, "its number of nodes is fixed");
    told("scale %zu within %g;", count, within_s);
    plan.nodes = count; /* the answer has the number before */
    return 0;
}

double notice_save_s(const struct run *of)
{
    (void)of;
    return 77;
}

void notice_depart(struct run *of, const char *host, enum departure_kind kind,
                   const char *reason, double left_s, double margin_s)
{
    (void)of;
    assert_int_equal(kind, DEPARTURE_DRAIN);
    assert_true(margin_s == 0);
    told("%s leaves in %g (%s);", host, left_s, reason);
}

size_t interrupt_pass_on(struct run *of, int signal)
{
    (void)of;
    told("signal %d;", signal);
    return nodes_running;
}

bool stacks_has_ranks(const struct run *of, size_t which)
{
    (void)of;
    return which < nodes_running;
}

void stacks_ask(struct run *of, void (*known)(struct run *run))
{
    assert_ptr_equal(of, &run);
    stacks_known = known;
}

int stacks_write(const struct run *of, const struct strlist *lines, struct error *err)
{
    (void)of;
    assert_null(lines);
    return can_write ? 0 : err_set(err, "stacks.txt: no space");
}

void control_answer(struct control *control, const char *name, int rc, const char *text)
{
    assert_ptr_equal(control, run.control);
    told("%s %d %s;", name, rc, text);
}

struct membership *pool_members(const struct run *of)
{
    (void)of;
    return &members;
}

/* Notes the slots of each host. */
void pool_offer(struct run *of, const struct selection *hosts, double save_s)
{
    size_t i;
    int    slot;

    (void)of;
    for (i = 0; i < hosts->count; i++) {
        told("%s:", hosts->node[i].host->name);
        for (slot = 0; slot < hosts->node[i].slots; slot++)
            told("%d", hosts->node[i].slot[slot]);
        for (; slot < hosts->node[i].slots + hosts->node[i].more; slot++)
            told("+%d", hosts->node[i].slot[slot]);
        told(" ");
    }
    told("save in %g;", save_s);
}

/* --- the run ---------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    run_fixture_begin();
    goes_on = true;
    is_last = is_fixed = false;
    nodes_running = 0;
    stacks_known = NULL;
    options.num_gpus = options.num_nodes = -1;
    answer[0] = '\0';
    run_fixture_log();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    run_fixture_end();
    return 0;
}

/* A client sends these words. */
static int ask(const char *verb, char *const *item, size_t count, struct error *err)
{
    const struct strlist       words = { .item = (char **)item, .count = count };
    const struct control_verb *row = requests_verbs;

    while (row->name != NULL && strcmp(row->name, verb) != 0)
        row++;
    assert_non_null(row->name);
    assert_true(count >= row->words); /* control.c has checked that */
    answer[0] = '\0';
    return row->take(&words, answer, sizeof answer, &run, err);
}

static int drain(const char *seconds, const char *one, const char *other, struct error *err)
{
    char *const item[] = { (char *)seconds, (char *)one, (char *)other };

    return ask("drain", item, other != NULL ? 3 : 2, err);
}

static int scale(const char *count, const char *seconds, struct error *err)
{
    char *const item[] = { (char *)count, (char *)seconds };

    return ask("scale", item, 2, err);
}

static int send_signal(const char *number, struct error *err)
{
    char *const item[] = { (char *)number };

    return ask("signal", item, 1, err);
}

/* These are the hosts now. */
static void list(const char *text)
{
    struct hostlist hosts;
    struct error    err;

    assert_int_equal(hostlist_from_argument(text, 1, &hosts, &err), 0);
    requests_hosts(&hosts, "words", &run);
    hostlist_clear(&hosts);
}

/* --- muster drain -------------------------------------------------------------- */

static void test_drain(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(drain("60", "te2", "te3", &err), 0); /* te3 is a spare */
    expect_told("te2 leaves in 60 (muster drain);te3 leaves in 60 (muster drain);");
    assert_string_equal(answer, "2 nodes will leave within 60 s");
    assert_int_equal(drain("0", "te1", NULL, &err), 0);
    expect_told("te1 leaves in 0 (muster drain);");
    assert_string_equal(answer, "1 node will leave within 0 s");
    assert_int_equal(drain("86400", "te1", NULL, &err), 0);
    expect_told("te1 leaves in 86400 (muster drain);");
}

/* The user may write what muster writes in its messages. */
static void test_drain_by_label(void **state)
{
    struct error err;

    (void)state;
    plan_node[0].label = (char *)"front";
    assert_int_equal(drain("2.2", "front", NULL, &err), 0);
    assert_string_equal(answer, "1 node will leave within 2.2 s");
    assert_int_equal(drain("2.2", "te1", NULL, &err), 0);
    expect_told("te1 leaves in 2.2 (muster drain);te1 leaves in 2.2 (muster drain);");
}

static void test_drain_is_refused(void **state)
{
    static const char *const bad[] = { "-1", "86401", "1x", "" };
    struct error             err;
    size_t                   i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(drain(bad[i], "te2", NULL, &err), -1);
    assert_int_equal(drain("5", "te2", "te9", &err), -1);
    assert_string_equal(err.text, "te9 is not a node of this run");
    assert_int_equal(drain("5", "te", NULL, &err), -1);
    assert_string_equal(err.text, "te is not a node of this run");
    is_last = true;
    assert_int_equal(drain("5", "te2", NULL, &err), -1);
    assert_string_equal(err.text, "this run is ending");
    expect_told(""); /* all or nothing */
    assert_string_equal(answer, "");
}

/* --- muster kill -------------------------------------------------------------- */

static void test_signal(void **state)
{
    static const char *const bad[] = { "0", "-1", "65", "USR1", "10x", "" };
    struct error             err;
    size_t                   i;

    (void)state;
    nodes_running = 2;
    assert_int_equal(send_signal("10", &err), 0);
    expect_told("signal 10;");
    assert_string_equal(answer, "signal 10 was sent to the ranks on 2 nodes");
    nodes_running = 1;
    assert_int_equal(send_signal("64", &err), 0);
    expect_told("signal 64;");
    assert_string_equal(answer, "signal 64 was sent to the ranks on 1 node");
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(send_signal(bad[i], &err), -1);
    expect_told("");
    nodes_running = 0;
    assert_int_equal(send_signal("10", &err), -1);
    assert_string_equal(err.text, "no rank is running now");
}

/* --- muster stacks ------------------------------------------------------------ */

static void test_stacks(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(ask("stacks", NULL, 0, &err), -1);
    assert_string_equal(err.text, "no rank is running now");
    assert_null(stacks_known);
    nodes_running = 1;
    assert_int_equal(ask("stacks", NULL, 0, &err), CONTROL_LATER);
    expect_told("");
    can_write = true;
    stacks_known(&run);
    expect_told("stacks 0 stacks.txt;");
    can_write = false;
    stacks_known(&run);
    expect_told("stacks -1 stacks.txt: no space;");
}

/* --- muster scale ------------------------------------------------------------- */

static void test_scale(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(scale("3", "10.5", &err), 0);
    expect_told("scale 3 within 10.5;");
    assert_string_equal(answer, "from 2 to 3 nodes, after a checkpoint within 10.5 s");
    assert_int_equal(scale("3", "0", &err), 0);
    expect_told("scale 3 within 0;"); /* also if it has that number: it may be growing */
    assert_string_equal(answer, "it has 3 nodes, and keeps that number");
    plan.nodes = 1;
    assert_int_equal(scale("1", "86400", &err), 0);
    assert_string_equal(answer, "it has 1 node, and keeps that number");
}

static void test_scale_is_refused(void **state)
{
    static const char *const bad[][2] = {
        { "0", "5" },     { "-1", "5" }, { "65537", "5" }, { "2x", "5" },
        { "3", "86401" }, { "3", "-1" }, { "3", "" },
    };
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(scale(bad[i][0], bad[i][1], &err), -1);
    is_last = true;
    assert_int_equal(scale("3", "5", &err), -1);
    assert_string_equal(err.text, "it is ending");
    is_last = false;
    is_fixed = true;
    assert_int_equal(scale("3", "5", &err), -1);
    assert_string_equal(err.text, "its number of nodes is fixed");
    assert_string_equal(answer, "");
    expect_told("");
}

static void test_verbs(void **state)
{
    (void)state;
    assert_string_equal(requests_verbs[0].name, "drain");
    assert_string_equal(requests_verbs[0].usage, "drain SECONDS HOST...");
    assert_int_equal(requests_verbs[0].words, 2);
    assert_string_equal(requests_verbs[1].name, "scale");
    assert_string_equal(requests_verbs[1].usage, "scale NODES SECONDS");
    assert_string_equal(requests_verbs[2].name, "signal");
    assert_string_equal(requests_verbs[2].usage, "signal NUMBER");
    assert_int_equal(requests_verbs[1].words, 2);
    assert_int_equal(requests_verbs[2].words, 1);
    assert_string_equal(requests_verbs[3].name, "stacks");
    assert_int_equal(requests_verbs[3].words, 0);
    assert_null(requests_verbs[4].name);
}

/* --- the hosts --------------------------------------------------------------- */

static void test_hosts(void **state)
{
    (void)state;
    list("te2:2,te4");
    expect_told("te2:01 te4:0 save in 77;");
    expect_logged("");
}

/* Without ranks that could save, a node leaves at once. */
static void test_hosts_without_ranks(void **state)
{
    static const enum phase_now idle[] = { PHASE_CONNECTING, PHASE_PREPARING, PHASE_STOPPING,
                                           PHASE_RESTARTING };
    size_t                      i;

    (void)state;
    for (i = 0; i < sizeof idle / sizeof *idle; i++) {
        run.phase.now = idle[i];
        list("te1");
        expect_told("te1:0 save in 0;");
    }
}

/* Its nodes do not change. */
static void test_hosts_of_fixed_run(void **state)
{
    (void)state;
    goes_on = false;
    options.exclude = (char *)"te1";
    list("te1");
    expect_told("");
    expect_logged("");
}

/* A filter may name hosts that are not there now. */
static void test_filters(void **state)
{
    (void)state;
    options.include = (char *)"te2:1@te3@te9";
    list("te1,te2:2,te3:2");
    expect_told("te2:1 te3:01 save in 77;");
    options.include = NULL;
    options.exclude = (char *)"te[8-9]@te1";
    list("te1,te2");
    expect_told("te2:0 save in 77;");
}

/* The number of nodes does not limit how many hosts may take part. */
static void test_numbers(void **state)
{
    (void)state;
    options.num_nodes = 1;
    options.num_gpus = 1;
    list("te1:2,te2:2");
    expect_told("te1:0 te2:0 save in 77;");
    options.num_gpus = -1;
    options.per_node = true; /* new hosts get one rank, too */
    list("te1:2,te2:2");
    expect_told("te1:0+1 te2:0+1 save in 77;");
}

static void test_no_host_is_left(void **state)
{
    (void)state;
    options.exclude = (char *)"te1";
    list("te1");
    expect_told("");
    expect_logged("test: warning: --exclude te1 leaves no slot to run on; "
                  "keeping the old list of hosts\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_drain),
        TEST(test_drain_by_label),
        TEST(test_drain_is_refused),
        TEST(test_scale),
        TEST(test_scale_is_refused),
        TEST(test_signal),
        TEST(test_stacks),
        TEST(test_verbs),
        TEST(test_hosts),
        TEST(test_hosts_without_ranks),
        TEST(test_hosts_of_fixed_run),
        TEST(test_filters),
        TEST(test_numbers),
        TEST(test_no_host_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
