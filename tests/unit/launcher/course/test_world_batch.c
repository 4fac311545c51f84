/* test_world_batch.c - the batch of a world, and the hosts of the first world
 *
 * The other parts of the run are in world_fixture.c.
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

#include "course/world.h"
#include "world_fixture.h"
#include "xalloc.h"

static char  folder[] = "/tmp/muster-test-world-XXXXXX";
static char *args[] = { (char *)"--deepspeed_config", (char *)"ds.json",
                        (char *)"--tensor-model-parallel-size", (char *)"2" };

static void write_config(const char *text)
{
    char *path = xasprintf("%s/ds.json", folder);
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    free(path);
    options.cwd = folder;
    options.args.item = args;
    options.args.count = 2;
}

/* --- the batch ---------------------------------------------------------------------- */

static void open_world(const char *config)
{
    write_config(config);
    world_open(&run);
    rules->is_elastic = true;
}

static void test_batch(void **state)
{
    (void)state;
    elastic();
    open_world("{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 3}");
    assert_ptr_equal(rules->batch, &run.batch);
    assert_int_equal(run.batch.first.total, 24);
    assert_int_equal(plan.accumulation_steps, 3);
    no_spare();
    change(0, 0, 1);
    assert_int_equal(plan.accumulation_steps, 6);
    assert_int_equal(run.batch.first.total, 24);
}

/* Only an elastic world needs its batch. */
static void test_batch_of_fixed_world(void **state)
{
    (void)state;
    write_config("{\"train_batch_size\": 8}");
    world_open(&run);
    assert_null(rules->batch);
    assert_int_equal(run.batch.first.total, 0);
    assert_int_equal(plan.accumulation_steps, 0);
}

/* Two ranks share one model. */
static void test_batch_of_parts(void **state)
{
    (void)state;
    elastic();
    write_config("{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 3}");
    options.args.count = 4;
    world_open(&run);
    assert_int_equal(run.batch.first.total, 12);
}

/* A resumed run keeps the batch of its first world of eight ranks, now with four ranks. */
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

/* Three nodes are connected, but six ranks could not have a batch of 8. */
static void test_held(void **state)
{
    (void)state;
    elastic();
    open_world("{\"train_batch_size\": 8}");
    assert_true(world_is_held(&run, rules, 2));
    assert_false(world_is_held(&run, rules, 3));
    change(0, 1, 2);
    expect_told(ROOM "muster: more nodes are available, but a larger world would not keep the "
                     "global batch 8 (--allow-batch-change)\n;");
    rules->batch = NULL;
    assert_false(world_is_held(&run, rules, 2));
}

/* Three ranks cannot keep the batch of four ranks; the file gives another one. */
static void test_batch_may_change(void **state)
{
    (void)state;
    elastic();
    options.members.allow_batch_change = true;
    open_world("{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 1}");
    assert_null(rules->batch);
    assert_int_equal(run.batch.first.total, 8);
    members.item[1].slots = selected[1].slots = host[1].slots = 1;
    change(0, 1, 2);
    expect_told(ROOM "muster: warning: with 3 ranks the global batch changes from 8 to 6 "
                     "(0: not known)\n;");
    assert_int_equal(plan.accumulation_steps, 1);
    assert_int_equal(run.batch.first.total, 8); /* a later world may restore it */
}

static void test_batch_not_known(void **state)
{
    (void)state;
    elastic();
    options.members.allow_batch_change = true;
    open_world("{\"train_batch_size\": 8, \"train_micro_batch_size_per_gpu\": 2}");
    members.item[1].slots = selected[1].slots = host[1].slots = 1;
    change(0, 1, 2);
    expect_told(ROOM "muster: warning: with 3 ranks the global batch changes from 8 to 0 "
                     "(0: not known)\n;");
    assert_int_equal(plan.accumulation_steps, 0);
}

/* muster cannot parse the file, but the script may. */
static void test_no_config(void **state)
{
    (void)state;
    elastic();
    open_world("{");
    assert_null(rules->batch);
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
    expect_none("--spares 3: there are only 3 in the list of hosts");
    hosts.count = 1;
    expect_none("--spares 3: there is only 1 in the list of hosts");
}

static void test_first_size_elastic(void **state)
{
    (void)state;
    options.members.max_ranks = 5;
    expect_first(2);
    options.members.min_ranks = 5;
    expect_none(
        "no world of the first of these 3 nodes has an allowed number of nodes and ranks");
    options.members = (struct options_members){ .worlds = (char *)"2",
                                                .spares = 1,
                                                .max_wait_s = OPTION_AUTO };
    expect_first(1);
}

static void test_first_size_batch(void **state)
{
    (void)state;
    options.members.is_elastic = true;
    write_config("{\"train_batch_size\": 8}");
    expect_first(2);
    expect_told(
        "muster: starting on 2 of 3 nodes: the batch sizes in ds.json suit no larger world "
        "(--allow-batch-change)\n;");
    options.members.allow_batch_change = true;
    expect_first(3);
    options.members.allow_batch_change = false;
    write_config("{\"train_batch_size\": 7, \"train_micro_batch_size_per_gpu\": 7}");
    expect_none(
        "the batch sizes in ds.json do not suit any number of ranks that these nodes can "
        "have");
}

/* The nodes of the last world come first; te2 stays out, because that run's target was two. */
static void test_first_size_again(void **state)
{
    (void)state;
    elastic();
    options.last_world = json_pack("{s:[{s:s, s:i, s:b}, {s:s, s:i, s:b}], s:i}", "nodes",
                                   "host", "te3", "ranks", 2, "is_here", 1, "host", "te1",
                                   "ranks", 2, "is_here", 1, "target", 2);
    expect_first(2);
    assert_string_equal(hosts.node[0].host->name, "te3");
    assert_string_equal(hosts.node[1].host->name, "te1");
    json_decref(options.last_world);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_fixture_begin, world_fixture_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
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
