/* test_nodes.c - when the hosts get the nodes of the workers, and what the hostfile has then
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

#include "life/nodes.h"
#include "objects/objects.h"
#include "unit/k8s/life/world.h"

static void begin(struct observed *world, struct job *job, bool sees_nodes)
{
    char log[400];

    world_job(job, "2", "pod", "None", "0");
    observed_init(world, job);
    world_create(world, job, OBJECT_ANCHOR);
    world_settle(world, job, log);
    world->sees_nodes = sees_nodes;
}

static void end(struct observed *world, struct job *job)
{
    observed_clear(world);
    job_clear(job);
}

/* Is it done once, and only once, by what is there now? */
static bool is_kept(struct observed *world, const struct job *job)
{
    char log[400];

    world_settle(world, job, log);
    if (strcmp(log, "") == 0)
        return false;
    assert_string_equal(log, "N3 ");
    return true;
}

static void set_node(struct observed *world, size_t worker, const char *node)
{
    strcpy(world->object[OBJECT_WORKERS + worker].node, node);
}

static void test_moments(void **state)
{
    struct observed world;
    struct job      job = { 0 };

    (void)state;
    begin(&world, &job, true);
    assert_false(is_kept(&world, &job));
    set_node(&world, 0, "a");
    assert_false(is_kept(&world, &job)); /* the other one has none yet */
    set_node(&world, 1, "b");
    assert_true(is_kept(&world, &job));
    assert_false(is_kept(&world, &job));
    set_node(&world, 1, "bb"); /* it was replaced */
    assert_true(is_kept(&world, &job));
    set_node(&world, 1, "b");
    assert_true(is_kept(&world, &job));
    end(&world, &job);
}

static void test_without_right(void **state)
{
    struct observed world;
    struct job      job = { 0 };

    (void)state;
    begin(&world, &job, false);
    set_node(&world, 0, "a");
    set_node(&world, 1, "b");
    assert_false(is_kept(&world, &job));
    end(&world, &job);
}

/* The Pods ask for one class. */
static void test_known(void **state)
{
    struct observed world;
    struct job      job = { 0 };

    (void)state;
    begin(&world, &job, true);
    json_object_set_new(json_object_get(job.template, "spec"), "nodeSelector",
                        json_pack("{ss}", "karpenter.sh/capacity-type", "spot"));
    set_node(&world, 0, "a");
    set_node(&world, 1, "b");
    assert_false(is_kept(&world, &job));
    end(&world, &job);
}

static void test_hostfile(void **state)
{
    struct observed world;
    struct job      job = { 0 };
    json_t         *classes = json_pack("{ssss}", "a", "spot", "b", ""), *hosts, *again;

    (void)state;
    begin(&world, &job, true);
    set_node(&world, 0, "a");
    set_node(&world, 1, "b");
    world.nodes = nodes_list(&job, &world, classes);
    hosts = object_make(&job, OBJECT_HOSTS,
                        &(struct object_for){ .space = "s", .attempt = 1, .nodes = world.nodes });
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(hosts, "data"), "hostfile")),
        "# generation 1\nj-worker-0.j.s.svc slots=1 class=spot\nj-worker-1.j.s.svc slots=1\n");
    again = json_incref(world.nodes);
    observed_take(&world, &job, hosts, false);
    assert_true(json_equal(again, world.nodes));
    json_decref(again);
    json_decref(hosts);
    json_decref(classes);
    end(&world, &job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_without_right),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_hostfile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
