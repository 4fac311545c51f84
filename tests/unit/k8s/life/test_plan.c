/* test_plan.c - what plan_make() decides, and that it comes to an end whatever happens
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

#include "exit_code.h"
#include "job/job_argv.h"
#include "life/plan.h"
#include "objects/objects.h"

#define NOW         1000000
#define WORLDS      3000
#define EVENTS_MAX  40
#define STEPS_MAX   200

static void make_job(struct job *job, const char *workers, const char *launcher,
                     const char *cleanup)
{
    const char *const argv[] = { "--name=j", "--image=i",  "--workers", workers, "--launcher",
                                 launcher,   "--clean-up", cleanup,     "a.py",  NULL };
    struct job_argv   reader;
    struct strlist    words = { 0 };
    struct error      err;

    job_argv_begin(&reader, job);
    assert_int_equal(args_read(argv, job_argv_rows, true, &reader, &words, &err), 0);
    job_argv_end(&reader, &words);
    strlist_clear(&words);
}

static bool chance(int of)
{
    return random() % of == 0;
}

/* The cluster, as a struct observed that is true */

static void create(struct observed *world, size_t number)
{
    if (world->object[number].exists)
        return;
    world->object[number] =
        (struct observed_object){ .exists = true, .is_ours = true, .created_s = NOW };
    if (number == OBJECT_ANCHOR) {
        strcpy(world->uid, "uid");
        world->created_s = NOW;
    }
}

static void carry_out(struct observed *world, const struct job *job, const struct plan *plan,
                      size_t most)
{
    struct observed_object *object;
    size_t                  i, number, left;

    for (i = 0; i < plan->count && i < most; i++) {
        number = plan->action[i].number;
        object = &world->object[number];
        switch (plan->action[i].kind) {
        case ACTION_CREATE:
            assert_true(plan->outcome == OUTCOME_NONE);
            create(world, number);
            break;
        case ACTION_RECORD:
            assert_true(plan->outcome != OUTCOME_NONE);
            world->outcome = plan->outcome;
            world->exit_code = plan->exit_code;
            break;
        case ACTION_DELETE:
            assert_true(object->is_ours);
            assert_true(number != OBJECT_ANCHOR);
            /* Index 0 is the last of the workers to go. */
            for (left = OBJECT_WORKERS + 1; number == OBJECT_WORKERS && left < world->count; left++)
                assert_true(!world->object[left].exists || !world->object[left].is_ours ||
                            world->object[left].is_ending || job->cleanup != CLEANUP_ALL);
            if (number >= OBJECT_WORKERS)
                object->is_ending = true;
            else
                *object = (struct observed_object){ 0 };
        }
    }
}

/* What a cluster, or somebody in it, does to one Pod. */
static void happen(struct observed *world, const struct job *job, bool is_friendly)
{
    size_t number = OBJECT_WORKERS + (size_t)random() % (world->count - OBJECT_WORKERS);
    struct observed_object *pod = &world->object[number];
    size_t                  i, ready = 0;

    if (!pod->exists)
        return;
    for (i = 0; i < (size_t)job->workers; i++)
        ready += world->object[OBJECT_WORKERS + i].is_ready;
    if (pod->is_ending) {
        *pod = (struct observed_object){ 0 };
    } else if (pod->phase == POD_PENDING) {
        pod->reason[0] = '\0';
        pod->phase = POD_RUNNING;
        pod->started_s = NOW;
    } else if (pod->phase == POD_RUNNING && !pod->is_ready) {
        pod->is_ready = true;
    } else if (pod->phase == POD_RUNNING && number == object_launcher(job) &&
               ready >= (size_t)job->workers) {
        pod->phase = is_friendly || chance(2) ? POD_SUCCEEDED : POD_FAILED;
        pod->exit_code = pod->phase == POD_FAILED ? 7 : 0;
        pod->ended_s = NOW;
    }
    if (is_friendly || !pod->exists || observed_is_finished(pod))
        return;
    if (chance(6)) { /* deleted by somebody */
        *pod = (struct observed_object){ 0 };
    } else if (chance(8)) { /* OOM, eviction */
        pod->phase = POD_FAILED;
        pod->is_ready = false;
        pod->exit_code = 137;
        pod->ended_s = NOW;
        strcpy(pod->reason, "OOMKilled");
    } else if (chance(10) && pod->phase == POD_PENDING)
        strcpy(pod->reason, chance(2) ? "CreateContainerConfigError" : "ImagePullBackOff");
    else if (chance(20))
        world->object[OBJECT_LAUNCHER_KEY + random() % 4] = (struct observed_object){ 0 };
}

static void test_random_worlds(void **state)
{
    static const char *const launchers[] = { "pod", "worker0" };
    static const char *const cleanups[] = { "Unfinished", "None", "All" };
    static const char *const sizes[] = { "1", "2", "5" };
    struct observed          world;
    struct job               job;
    struct plan              plan;
    size_t                   i, step, events, ends[OUTCOMES] = { 0 };
    int64_t                  now_s;

    (void)state;
    for (i = 0; i < WORLDS; i++) {
        srandom((unsigned)i);
        job = (struct job){ 0 };
        make_job(&job, sizes[random() % 3], launchers[random() % 2], cleanups[random() % 3]);
        observed_init(&world, &job);
        if (chance(15)) { /* the name of something is taken */
            step = 1 + (size_t)random() % (world.count - 1);
            world.object[step] = (struct observed_object){ .exists = true };
        }
        events = (size_t)random() % EVENTS_MAX;
        now_s = NOW;
        for (step = 0; step < STEPS_MAX; step++) {
            plan_make(&plan, &job, &world, now_s);
            if (plan.outcome != OUTCOME_NONE && plan.count == 0 && step > events)
                break;
            /* Killed after any of its actions. */
            carry_out(&world, &job, &plan, step < events ? (size_t)random() % 4 : SIZE_MAX);
            plan_clear(&plan);
            happen(&world, &job, step >= events);
            if (step > EVENTS_MAX)
                now_s += 10;
        }
        if (step == STEPS_MAX)
            fail_msg("world %zu: no end", i);
        ends[plan.outcome]++;
        assert_int_equal(world.outcome, plan.outcome);
        assert_int_equal(plan.count, 0);
        assert_false(world.object[OBJECT_LAUNCHER_KEY].is_ours);
        assert_false(world.object[OBJECT_WORKER_KEYS].is_ours);
        plan_clear(&plan);
        observed_clear(&world);
        job_clear(&job);
    }
    /* Each of these happens, so each was tried. */
    assert_true(ends[OUTCOME_SUCCEEDED] > 100);
    assert_true(ends[OUTCOME_FAILED] > 100);
    assert_true(ends[OUTCOME_STUCK] > 10);
    assert_true(ends[OUTCOME_FOREIGN] > 10);
}

/* The steps of a job that nothing happens to. */
static void test_order(void **state)
{
    struct job      job = { 0 };
    struct observed world;
    struct plan     plan;
    size_t          i;

    (void)state;
    make_job(&job, "2", "pod", "Unfinished");
    observed_init(&world, &job);
    plan_make(&plan, &job, &world, NOW);
    assert_int_equal(plan.count, 1); /* the owner of all others */
    carry_out(&world, &job, &plan, SIZE_MAX);
    plan_clear(&plan);
    plan_make(&plan, &job, &world, NOW);
    assert_int_equal(plan.count, 2); /* both Secrets, made together */
    carry_out(&world, &job, &plan, 1);
    plan_clear(&plan);
    plan_make(&plan, &job, &world, NOW); /* one of them only: made anew */
    assert_int_equal(plan.count, 1);
    assert_int_equal(plan.action[0].kind, ACTION_DELETE);
    assert_int_equal(plan.action[0].number, OBJECT_LAUNCHER_KEY);
    carry_out(&world, &job, &plan, SIZE_MAX);
    plan_clear(&plan);
    for (i = 0; i < 2; i++) {
        plan_make(&plan, &job, &world, NOW);
        carry_out(&world, &job, &plan, SIZE_MAX);
        plan_clear(&plan);
    }
    plan_make(&plan, &job, &world, NOW);
    assert_int_equal(plan.count, 0);
    assert_string_equal(plan.why, "waiting for 3 of 3 Pods; j-worker-0: Pending");
    plan_clear(&plan);
    observed_clear(&world);
    job_clear(&job);
}

static void test_ends(void **state)
{
    static const struct {
        const char    *reason;
        enum pod_phase phase;
        int64_t        after_s;
        enum outcome   outcome;
        int            exit_code;
    } rows[] = {
        { "ContainerCreating", POD_PENDING, 100, OUTCOME_NONE, 0 },
        { "CreateContainerConfigError", POD_PENDING, 0, OUTCOME_STUCK, EXIT_UNREACHABLE },
        { "InvalidImageName", POD_PENDING, 0, OUTCOME_STUCK, EXIT_UNREACHABLE },
        { "ImagePullBackOff", POD_PENDING, PLAN_IMAGE_S, OUTCOME_NONE, 0 },
        { "ImagePullBackOff", POD_PENDING, PLAN_IMAGE_S + 1, OUTCOME_STUCK, EXIT_UNREACHABLE },
        { "Unschedulable", POD_PENDING, JOB_MAX_WAIT_S, OUTCOME_NONE, 0 },
        { "Unschedulable", POD_PENDING, JOB_MAX_WAIT_S + 1, OUTCOME_MAX_WAIT, EXIT_WAITED },
        { "", POD_RUNNING, 10 * JOB_MAX_WAIT_S, OUTCOME_NONE, 0 },
        { "OOMKilled", POD_FAILED, PLAN_WORKER_S, OUTCOME_NONE, 0 },
        { "OOMKilled", POD_FAILED, PLAN_WORKER_S + 1, OUTCOME_FAILED, EXIT_LOST },
    };
    struct job              job = { 0 };
    struct observed         world;
    struct observed_object *pod;
    struct plan             plan;
    size_t                  i;

    (void)state;
    make_job(&job, "2", "pod", "Unfinished");
    observed_init(&world, &job);
    for (i = 0; i < world.count; i++)
        create(&world, i);
    for (i = OBJECT_WORKERS; i < world.count; i++)
        world.object[i].phase = POD_RUNNING;
    pod = &world.object[OBJECT_WORKERS + 1];
    pod->started_s = pod->ended_s = NOW;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod->phase = rows[i].phase;
        strcpy(pod->reason, rows[i].reason);
        plan_make(&plan, &job, &world, NOW + rows[i].after_s);
        assert_int_equal(plan.outcome, rows[i].outcome);
        assert_int_equal(plan.exit_code, rows[i].exit_code);
        if (plan.outcome != OUTCOME_NONE) {
            assert_non_null(strstr(plan.why, "j-worker-1"));
            assert_non_null(strstr(plan.why, rows[i].reason));
        }
        plan_clear(&plan);
    }
    observed_clear(&world);
    job_clear(&job);
}

/* Documents as a cluster sends them. */
static void test_observed(void **state)
{
    static const char anchor[] =
        "{\"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"j\", \"uid\": \"u\","
        " \"creationTimestamp\": \"2026-11-22T15:00:00Z\"}}";
    static const char pod[] = "{\"metadata\": {\"name\": \"j-worker-1\", \"uid\": \"v\", "
                              "\"ownerReferences\": [{\"uid\": \"u\"}]},"
                              " \"spec\": {\"nodeName\": \"n\"}, \"status\": {\"phase\": "
                              "\"Failed\", \"containerStatuses\": ["
                              "{\"name\": \"worker\", \"state\": {\"terminated\": "
                              "{\"exitCode\": 137, \"reason\": \"OOMKilled\","
                              " \"finishedAt\": \"1970-01-01T00:01:00Z\"}}}]}}";
    struct job                    job = { 0 };
    struct observed               world;
    const struct observed_object *seen;
    json_t *one = json_loads(anchor, 0, NULL), *two = json_loads(pod, 0, NULL);

    (void)state;
    make_job(&job, "2", "pod", "Unfinished");
    observed_init(&world, &job);
    observed_take(&world, &job, one, false);
    assert_string_equal(world.uid, "u");
    assert_int_equal(world.created_s, 1795359600);
    observed_take(&world, &job, two, false);
    seen = &world.object[OBJECT_WORKERS + 1];
    assert_true(seen->is_ours);
    assert_int_equal(seen->phase, POD_FAILED);
    assert_int_equal(seen->exit_code, 137);
    assert_int_equal(seen->ended_s, 60);
    assert_string_equal(seen->reason, "OOMKilled");
    assert_string_equal(seen->node, "n");
    observed_take(&world, &job, two, true);
    assert_false(seen->exists);
    json_decref(one);
    json_decref(two);
    observed_clear(&world);
    job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_observed),
        cmocka_unit_test(test_random_worlds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
