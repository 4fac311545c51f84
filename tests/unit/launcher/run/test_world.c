/* test_world.c - the nodes of the first world and of the next: who stays, who comes, who goes
 *
 * The pool and the other parts of the run are the test itself. te1 and te2 have places, with two
 * ranks each; te3 is a spare.
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
#include <unistd.h>

#include <cmocka.h>

#include "exit_code.h"
#include "log.h"
#include "node/flow.h"
#include "output/rank_labels.h"
#include "rendezvous/kvs.h"
#include "run/deadline.h"
#include "run/generation.h"
#include "run/hang.h"
#include "run/pool.h"
#include "run/run_status.h"
#include "run/world.h"
#include "run_fixture.h"
#include "xalloc.h"

#define ROOM "phase;flow 2;deadline 2;hang;kvs 2;labels;status;"

static struct host         host[HOSTS];
static struct selected     selected[HOSTS];
static int                 slots[2] = { 0, 1 };
static struct selection    hosts = { selected, HOSTS };
static struct program      program;
static char               *here[] = { NULL };
static struct plan_source  source = { &options, &hosts, &program, here };
static struct member_rules rules;
static struct node        *spare; /* the pool's te3 */
static char                folder[] = "/tmp/muster-test-world-XXXXXX";
static char               *args[] = { (char *)"--deepspeed_config", (char *)"ds.json",
                                      (char *)"--tensor-model-parallel-size", (char *)"2" };

/* --- the others ------------------------------------------------------------- */

static void ignore(struct node *of, void *arg)
{
    (void)of, (void)arg;
}

const struct node_ops phase_node_ops = { .changed = ignore, .over = ignore };

struct members *pool_members(const struct run *of)
{
    (void)of;
    return &members;
}

struct selected pool_host(const struct run *of, size_t which, int most)
{
    struct selected found = selected[which];

    (void)of;
    found.slots = most < found.slots ? most : found.slots;
    return found;
}

struct node *pool_take(struct run *of, size_t which)
{
    struct node *taken = spare;

    (void)of;
    told("take %s;", names[which]);
    spare = NULL;
    return taken;
}

void pool_put(struct run *of, size_t which, struct node *put)
{
    (void)of;
    told("put %s;", names[which]);
    assert_null(spare);
    spare = put;
}

const struct member_rules *generation_members(const struct run *of)
{
    (void)of;
    return &rules;
}

void phase_make_room(struct run *of)
{
    (void)of;
    told("phase;");
}

void flow_make_room(struct flow *of, size_t count)
{
    (void)of;
    told("flow %zu;", count);
}

void deadline_make_room(struct deadline *of, size_t count)
{
    (void)of;
    told("deadline %zu;", count);
}

void hang_again(struct run *of)
{
    (void)of;
    told("hang;");
}

void kvs_again(struct kvs *of, size_t count)
{
    (void)of;
    told("kvs %zu;", count);
}

void rank_labels_add(struct output *of, const struct plan *by, const struct options *with,
                     const bool *shown, size_t count)
{
    (void)of, (void)by, (void)with, (void)shown, (void)count;
    told("labels;");
}

void run_status_make_room(struct run *of)
{
    (void)of;
    told("status;");
}

/* --- the run ---------------------------------------------------------------- */

static void line_cb(const char *line, size_t size, void *arg)
{
    (void)arg;
    told("%.*s;", (int)size, line);
}

static struct node *waiting(size_t which)
{
    struct node *made = xcalloc(1, sizeof *made);

    node_init(made, which, &plan_node[which], run.base, &phase_node_ops, &run);
    made->state = NODE_STAYING;
    return made;
}

static int setup(void **state)
{
    struct selection first = { selected, NODES };
    struct error     err;
    struct plan      made;
    size_t           i;

    (void)state;
    run_fixture_begin();
    log_sink(line_cb, NULL);
    options = (struct options){ .num_nodes = -1, .num_gpus = -1, .cwd = folder,
                                .members = { .max_wait_s = OPTION_AUTO } };
    hosts.count = HOSTS;
    for (i = 0; i < HOSTS; i++) {
        host[i] = (struct host){ .name = (char *)names[i], .slots = 2 };
        selected[i] = (struct selected){ &host[i], slots, 2 };
        members.item[i].slots = 2;
    }
    members.ranks[0] = members.ranks[1] = 2;
    rules = (struct member_rules){ .goes_on = true };
    plan = (struct plan){ .source = &source, .run_id = (char *)"r", .stamp = (char *)"r-1",
                          .generation = 1, .master_port = 7 };
    assert_int_equal(plan_make_like(&made, &plan, &first, &err), 0);
    plan = made;
    outcome_init(&run.outcome, &plan);
    world_make_nodes(&run);
    for (i = 0; i < NODES; i++)
        run.node[i]->state = NODE_STAYING;
    spare = waiting(2);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    log_sink(NULL, NULL);
    world_free_nodes(&run);
    world_close(&run);
    if (spare != NULL)
        node_clear(spare);
    free(spare);
    outcome_clear(&run.outcome);
    plan_clear(&plan);
    run_fixture_end();
    return 0;
}

static void no_spare(void)
{
    node_clear(spare);
    free(spare);
    spare = NULL;
}

static void elastic(void)
{
    options.members.is_elastic = true;
    rules.is_elastic = true;
}

static void write_config(const char *text)
{
    char *path = xasprintf("%s/ds.json", folder);
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    free(path);
    options.args.item = args;
    options.args.count = 2;
}

static void change(size_t first, size_t second, size_t places)
{
    const size_t world[NODES] = { first, second };
    struct error err;

    forget_told();
    assert_int_equal(world_change(&run, &rules, world, places, &err), 0);
}

static void expect_world(const char *text)
{
    char   got[200] = "";
    size_t i;

    for (i = 0; i < plan.nodes; i++) {
        const struct node *of = run.node[i];

        assert_ptr_equal(of->plan, &plan.node[i]);
        assert_int_equal(of->index, i);
        sprintf(got + strlen(got), "%s %d+%d ", plan.node[i].host, plan.node[i].rank[0].rank,
                plan.node[i].ranks);
    }
    assert_string_equal(got, text);
}

/* --- the next world ----------------------------------------------------------- */

static void test_first(void **state)
{
    (void)state;
    world_free_nodes(&run);
    world_make_nodes(&run);
    expect_world("te1 0+2 te2 2+2 ");
    assert_int_equal(run.node[1]->state, NODE_WAITING);
    assert_ptr_equal(run.node[1]->ops, &phase_node_ops);
}

/* The spare gets the place of the lost node, and all keep theirs. */
static void test_replaced(void **state)
{
    struct node *stays = run.node[0], *comes = spare;

    (void)state;
    node_fail(run.node[1], "running", EXIT_LOST, "", "silent");
    change(0, 2, 2);
    expect_told("take te3;" ROOM);
    expect_world("te1 0+2 te3 2+2 ");
    assert_ptr_equal(run.node[0], stays);
    assert_ptr_equal(run.node[1], comes);
    assert_int_equal(members.place[1], 2);
    assert_int_equal(members.item[2].state, MEMBER_IN);
    assert_string_equal(plan.stamp, "r-1");
    assert_int_equal(plan.generation, 1);
    assert_int_equal(plan.master_port, 7);
}

/* An elastic world closes up. */
static void test_closes_up(void **state)
{
    struct node *second = run.node[1];

    (void)state;
    elastic();
    node_fail(run.node[0], "running", EXIT_LOST, "", "silent");
    change(1, 2, 2);
    expect_told("take te3;" ROOM);
    expect_world("te2 0+2 te3 2+2 ");
    assert_ptr_equal(run.node[0], second);
}

/* A node that stays without a place is the pool's. */
static void test_smaller(void **state)
{
    struct node *second = run.node[1];

    (void)state;
    elastic();
    no_spare();
    change(0, 0, 1);
    expect_told("put te2;phase;flow 1;deadline 1;hang;kvs 1;labels;status;");
    expect_world("te1 0+2 ");
    assert_ptr_equal(spare, second);
    assert_int_equal(members.item[1].state, MEMBER_SPARE);
    assert_int_equal(run.outcome.nodes, 1);
}

/* It was lost, and its host is here again with another agent. */
static void test_back(void **state)
{
    (void)state;
    node_fail(run.node[1], "running", EXIT_LOST, "", "silent");
    no_spare();
    spare = waiting(1);
    change(0, 1, 2);
    expect_told("take te2;" ROOM);
    expect_world("te1 0+2 te2 2+2 ");
    assert_int_equal(run.node[1]->state, NODE_STAYING);
}

static void test_impossible(void **state)
{
    const size_t world[NODES] = { 0, 2 };
    struct node *second = run.node[1];
    struct error err;

    (void)state;
    options.no_ssh = true; /* such a plan has one node */
    options.node_rank = 9;
    assert_int_equal(world_change(&run, &rules, world, 2, &err), -1);
    assert_non_null(strstr(err.text, "--node_rank 9"));
    expect_told("");
    expect_world("te1 0+2 te2 2+2 ");
    assert_ptr_equal(run.node[1], second);
    assert_int_equal(members.place[1], 1);
}

/* --- what the options say -------------------------------------------------------- */

static void test_rules(void **state)
{
    struct member_rules made;

    (void)state;
    options.members = (struct options_members){
        .spares = 1, .min_nodes = 2, .max_nodes = 5, .min_ranks = 3, .max_ranks = 9,
        .worlds = (char *)"8,4", .max_wait_s = OPTION_AUTO,
    };
    world_open(&run, &made);
    assert_true(made.goes_on);
    assert_true(made.is_elastic);
    assert_int_equal(made.min_nodes, 2);
    assert_int_equal(made.max_nodes, 5);
    assert_int_equal(made.min_ranks, 3);
    assert_int_equal(made.max_ranks, 9);
    assert_int_equal(made.spares, 1);
    assert_int_equal(made.target, 0);
    assert_int_equal(made.worlds_count, 2);
    assert_int_equal(made.worlds[1], 4);
    assert_null(made.batch);
}

static void test_target(void **state)
{
    struct member_rules made;

    (void)state;
    options.num_nodes = 3;
    world_open(&run, &made);
    assert_int_equal(made.target, 3);
    assert_false(made.goes_on);
    options.last_world = json_pack("{s:i}", "target", 2);
    world_open(&run, &made);
    assert_int_equal(made.target, 2);
    json_decref(options.last_world);
}

/* --- the batch ---------------------------------------------------------------------- */

static void open_world(const char *config)
{
    write_config(config);
    world_open(&run, &rules);
    rules.is_elastic = true;
}

static void test_batch(void **state)
{
    (void)state;
    elastic();
    open_world("{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 3}");
    assert_ptr_equal(rules.batch, &run.batch);
    assert_int_equal(run.batch.first.total, 24);
    assert_int_equal(plan.accumulation_steps, 3);
    no_spare();
    change(0, 0, 1);
    assert_int_equal(plan.accumulation_steps, 6);
    assert_int_equal(run.batch.first.total, 24);
}

/* Only an elastic world needs to know it. */
static void test_batch_of_fixed_world(void **state)
{
    (void)state;
    write_config("{\"train_batch_size\": 8}");
    world_open(&run, &rules);
    assert_null(rules.batch);
    assert_int_equal(run.batch.first.total, 0);
    assert_int_equal(plan.accumulation_steps, 0);
}

/* Two ranks have parts of one model. */
static void test_batch_of_parts(void **state)
{
    (void)state;
    elastic();
    write_config("{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 3}");
    options.args.count = 4;
    world_open(&run, &rules);
    assert_int_equal(run.batch.first.total, 12);
}

/* A run that goes on keeps the batch of its first world, of eight ranks, with four. */
static void test_batch_of_last_world(void **state)
{
    (void)state;
    elastic();
    options.last_world = json_pack("{s:[{s:s, s:i, s:b}], s:[i, i, i]}", "nodes", "host", "te1",
                                   "ranks", 2, "is_here", 1, "batch", 16, 2, 1);
    open_world("{\"train_micro_batch_size_per_gpu\": 2}");
    assert_int_equal(run.batch.first.total, 16);
    assert_int_equal(plan.accumulation_steps, 2);
    json_decref(options.last_world);
}

/* Three nodes are here, but six ranks would not have a batch of 8. */
static void test_held(void **state)
{
    (void)state;
    elastic();
    open_world("{\"train_batch_size\": 8}");
    assert_true(world_is_held(&run, &rules, 2));
    assert_false(world_is_held(&run, &rules, 3));
    change(0, 1, 2);
    expect_told(ROOM "muster: more nodes are here, but would not keep the global batch 8 "
                "(--allow-batch-change)\n;");
    rules.batch = NULL;
    assert_false(world_is_held(&run, &rules, 2));
}

/* Three ranks do not have the batch of four, with what the file says or with nothing that fits. */
static void test_batch_may_change(void **state)
{
    (void)state;
    elastic();
    options.members.allow_batch_change = true;
    open_world("{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 1}");
    assert_null(rules.batch);
    assert_int_equal(run.batch.first.total, 8);
    members.item[1].slots = selected[1].slots = host[1].slots = 1;
    change(0, 1, 2);
    expect_told(ROOM "muster: warning: 3 ranks do not keep the global batch 8: it becomes 6 "
                "(0: not known)\n;");
    assert_int_equal(plan.accumulation_steps, 1);
    assert_int_equal(run.batch.first.total, 8); /* a later world may have it again */
}

static void test_batch_not_known(void **state)
{
    (void)state;
    elastic();
    options.members.allow_batch_change = true;
    open_world("{\"train_batch_size\": 8, \"train_micro_batch_size_per_gpu\": 2}");
    members.item[1].slots = selected[1].slots = host[1].slots = 1;
    change(0, 1, 2);
    expect_told(ROOM "muster: warning: 3 ranks do not keep the global batch 8: it becomes 0 "
                "(0: not known)\n;");
    assert_int_equal(plan.accumulation_steps, 0);
}

/* muster cannot read it: the script may. */
static void test_no_config(void **state)
{
    (void)state;
    elastic();
    open_world("{");
    assert_null(rules.batch);
    assert_int_equal(run.batch.first.total, 0);
    change(0, 1, 2);
    assert_int_equal(plan.accumulation_steps, 0);
}

/* --- the first world ------------------------------------------------------------------ */

static void expect_first(size_t expected)
{
    size_t       count = 99;
    struct error err = { 0 };

    if (world_first_size(&options, &hosts, &count, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(count, expected);
}

static void expect_none(const char *words)
{
    size_t       count;
    struct error err = { 0 };

    assert_int_equal(world_first_size(&options, &hosts, &count, &err), -1);
    if (strstr(err.text, words) == NULL)
        fail_msg("%s", err.text);
}

static void test_first_size(void **state)
{
    (void)state;
    expect_first(3);
    options.members.spares = 1;
    expect_first(2);
    options.num_nodes = 1;
    expect_first(1);
    options.num_nodes = 3;
    expect_none("--num_nodes 3 and --spares 1: there are only 3 hosts");
    options.num_nodes = -1;
    options.members.spares = 3;
    expect_none("--spares 3: there are only 3");
    hosts.count = 1;
    expect_none("--spares 3: there is only 1");
}

static void test_first_size_elastic(void **state)
{
    (void)state;
    options.members.max_ranks = 5;
    expect_first(2);
    options.members.min_ranks = 5;
    expect_none("no first nodes of the 3 have a number of nodes or ranks that is allowed");
    options.members = (struct options_members){ .worlds = (char *)"2", .spares = 1,
                                                .max_wait_s = OPTION_AUTO };
    expect_first(1);
}

static void test_first_size_batch(void **state)
{
    (void)state;
    options.members.is_elastic = true;
    write_config("{\"train_batch_size\": 8}");
    expect_first(2);
    expect_told("muster: 2 of 3 nodes: the batch sizes of ds.json suit no more "
                "(--allow-batch-change)\n;");
    options.members.allow_batch_change = true;
    expect_first(3);
    options.members.allow_batch_change = false;
    write_config("{\"train_batch_size\": 7, \"train_micro_batch_size_per_gpu\": 7}");
    expect_none("the batch sizes of ds.json suit no number of ranks that these nodes can have");
}

/* Its nodes come first; te2 is to stay out, since two were asked for then. */
static void test_first_size_again(void **state)
{
    (void)state;
    elastic();
    options.last_world = json_pack(
        "{s:[{s:s, s:i, s:b}, {s:s, s:i, s:b}], s:i}", "nodes", "host", "te3", "ranks", 2,
        "is_here", 1, "host", "te1", "ranks", 2, "is_here", 1, "target", 2);
    expect_first(2);
    assert_string_equal(hosts.node[0].host->name, "te3");
    assert_string_equal(hosts.node[1].host->name, "te1");
    json_decref(options.last_world);
}

/* --- for muster resume -------------------------------------------------------------------- */

static void expect_json(const char *expected)
{
    json_t *made = world_json(&run);
    char   *text = json_dumps(made, JSON_COMPACT | JSON_SORT_KEYS);

    assert_string_equal(text, expected);
    free(text);
    json_decref(made);
}

static void test_json(void **state)
{
    (void)state;
    rules.target = 2;
    run.batch.first = (struct batch){ 24, 2, 3 };
    expect_json("{\"batch\":[24,2,3],\"nodes\":[{\"host\":\"te1\",\"is_here\":true,\"ranks\":2},"
                "{\"host\":\"te2\",\"is_here\":true,\"ranks\":2}],\"target\":2}");
    node_fail(run.node[0], "running", EXIT_LOST, "", "silent");
    members_leave(&members, 1);
    expect_json("{\"batch\":[24,2,3],\"nodes\":[{\"host\":\"te1\",\"is_here\":false,\"ranks\":2},"
                "{\"host\":\"te2\",\"is_here\":false,\"ranks\":2}],\"target\":2}");
    rules.goes_on = false;
    assert_null(world_json(&run));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_first),
        TEST(test_replaced),
        TEST(test_closes_up),
        TEST(test_smaller),
        TEST(test_back),
        TEST(test_impossible),
        TEST(test_rules),
        TEST(test_target),
        TEST(test_batch),
        TEST(test_batch_of_fixed_world),
        TEST(test_batch_of_parts),
        TEST(test_batch_of_last_world),
        TEST(test_held),
        TEST(test_batch_may_change),
        TEST(test_batch_not_known),
        TEST(test_no_config),
        TEST(test_first_size),
        TEST(test_first_size_elastic),
        TEST(test_first_size_batch),
        TEST(test_first_size_again),
        TEST(test_json),
    };
    char *path;
    int   failed;

    if (mkdtemp(folder) == NULL)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    path = xasprintf("%s/ds.json", folder);
    unlink(path);
    rmdir(folder);
    free(path);
    return failed;
}
