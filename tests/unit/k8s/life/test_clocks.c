/* test_clocks.c - plans while the clocks of nodes are wrong, and while a launcher is to notice that
 * a worker is gone
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "exit_code.h"
#include "life/plan.h"
#include "objects/objects.h"
#include "unit/k8s/life/world.h"

#define NOW 1000000

static const int64_t skews[] = { -3600, 0, 3600 };

/* A job of two workers that runs. */
static void begin(struct observed *world, struct job *job, const char *backoff)
{
    char   log[400];
    size_t i;

    world_now_s = NOW;
    *job = (struct job){ 0 };
    world_job(job, "2", "pod", "Unfinished", backoff);
    observed_init(world, job);
    world_settle(world, job, log);
    for (i = OBJECT_PODS; i < world->count; i++) {
        world->object[i].phase = POD_RUNNING;
        world->object[i].is_ready = true;
    }
    world_settle(world, job, log);
    assert_string_equal(log, "");
}

static void end(struct observed *world, struct job *job)
{
    observed_clear(world);
    job_clear(job);
    world_skew_s = 0;
}

/* How the job has ended `after_s` from now. */
static enum outcome outcome_after(struct observed *world, const struct job *job, int64_t after_s)
{
    struct plan  plan;
    enum outcome outcome;

    observed_see(world, world_now_s);
    plan_make(&plan, job, world, world_now_s);
    assert_int_equal(plan.outcome, OUTCOME_NONE);
    plan_clear(&plan);
    observed_see(world, world_now_s + after_s);
    plan_make(&plan, job, world, world_now_s + after_s);
    outcome = plan.outcome;
    plan_clear(&plan);
    return outcome;
}

/* The launcher tells that it has lost a node; for a while the cluster may say which. */
static void test_tell(void **state)
{
    struct observed world;
    struct job      job;
    size_t          i;

    (void)state;
    for (i = 0; i < sizeof skews / sizeof skews[0]; i++) {
        begin(&world, &job, "0");
        world_skew_s = skews[i];
        world_fail_pod(&world.object[OBJECT_LAUNCHER], EXIT_LOST, "Error");
        assert_int_equal(outcome_after(&world, &job, PLAN_TELL_S), OUTCOME_NONE);
        assert_int_equal(outcome_after(&world, &job, PLAN_TELL_S + 1), OUTCOME_FAILED);
        end(&world, &job);
    }
}

/* A worker ends before the launcher does: at the end of every good run, too. */
static void test_worker(void **state)
{
    struct observed world;
    struct job      job;
    size_t          i;

    (void)state;
    for (i = 0; i < sizeof skews / sizeof skews[0]; i++) {
        begin(&world, &job, "0");
        world_skew_s = skews[i];
        world_fail_pod(&world.object[OBJECT_WORKERS + 1], 137, "OOMKilled");
        assert_int_equal(outcome_after(&world, &job, PLAN_WORKER_S), OUTCOME_NONE);
        assert_int_equal(outcome_after(&world, &job, PLAN_WORKER_S + 1), OUTCOME_FAILED);
        end(&world, &job);
    }
}

static void test_image(void **state)
{
    struct observed_object *pod;
    struct observed         world;
    struct job              job;
    size_t                  i;

    (void)state;
    for (i = 0; i < sizeof skews / sizeof skews[0]; i++) {
        begin(&world, &job, "0");
        pod = &world.object[OBJECT_WORKERS + 1];
        pod->phase = POD_PENDING;
        pod->is_ready = false;
        pod->started_s = world_now_s + skews[i];
        strcpy(pod->reason, "ErrImagePull");
        assert_int_equal(outcome_after(&world, &job, PLAN_IMAGE_S), OUTCOME_NONE);
        assert_int_equal(outcome_after(&world, &job, PLAN_IMAGE_S + 1), OUTCOME_STUCK);
        end(&world, &job);
    }
}

/* A document that comes again, or a list of all of them, is no news. */
static void test_seen(void **state)
{
    struct observed world;
    struct job      job;
    json_t         *pod;

    (void)state;
    begin(&world, &job, "0");
    pod = json_pack("{sss{sssss[{ssss}]}s{sssss[{sss{s{siss}}}]}}", "kind", "Pod", "metadata",
                    "name", "j-worker-1", "uid", "7", "ownerReferences", "kind", "ConfigMap", "uid",
                    world.uid, "status", "phase", "Failed", "startTime", "2026-01-01T00:00:00Z",
                    "containerStatuses", "name", "worker", "state", "terminated", "exitCode", 1,
                    "finishedAt", "2026-01-01T00:00:00Z");
    assert_non_null(pod);
    observed_take(&world, &job, pod, false);
    observed_see(&world, NOW);
    observed_take(&world, &job, pod, false);
    observed_see(&world, NOW + 5);
    observed_forget_pods(&world);
    observed_take(&world, &job, pod, false);
    observed_see(&world, NOW + 10);
    assert_int_equal(world.object[OBJECT_WORKERS + 1].phase, POD_FAILED);
    assert_int_equal(observed_for_s(&world.object[OBJECT_WORKERS + 1], 1, NOW + 11), 11);
    observed_take(&world, &job, pod, true);
    observed_see(&world, NOW + 12);
    assert_int_equal(world.object[OBJECT_WORKERS + 1].seen.state, SEEN_GONE);
    assert_int_equal(observed_for_s(&world.object[OBJECT_WORKERS + 1], 1, NOW + 20), 8);
    json_decref(pod);
    end(&world, &job);
}

/* What becomes of a worker that is gone. */
static void test_gone(void **state)
{
    struct observed world;
    struct job      job;
    char            log[400];

    (void)state;
    /* The run ends of it, and is not tried again: there is no other worker. */
    begin(&world, &job, "0");
    observed_lose(&world.object[OBJECT_WORKERS + 1]);
    world_settle(&world, &job, log);
    assert_string_equal(log, "");
    world_now_s += PLAN_WORKER_S;
    world_settle(&world, &job, log);
    assert_string_equal(log, "");
    world_fail_pod(&world.object[OBJECT_LAUNCHER], EXIT_LOST, "Error");
    world_settle(&world, &job, log);
    assert_string_equal(log, "Ll R0 -w0 -2 -1 ");
    end(&world, &job);

    /* It is, in the next attempt. */
    begin(&world, &job, "1");
    observed_lose(&world.object[OBJECT_WORKERS + 1]);
    world_settle(&world, &job, log);
    world_fail_pod(&world.object[OBJECT_LAUNCHER], EXIT_LOST, "Error");
    world_settle(&world, &job, log);
    assert_string_equal(log, "Ll A0 -l ");
    assert_non_null(strstr(world.attempts.last, "; Pod j-worker-1 was deleted"));
    world_end(&world);
    world_settle(&world, &job, log);
    assert_string_equal(log, "+w1 +l A0 ");
    end(&world, &job);

    /* The run has ended well all the same. */
    begin(&world, &job, "0");
    observed_lose(&world.object[OBJECT_WORKERS + 1]);
    world_settle(&world, &job, log);
    world.object[OBJECT_LAUNCHER].phase = POD_SUCCEEDED;
    world_settle(&world, &job, log);
    assert_string_equal(log, "R0 -w0 -2 -1 ");
    end(&world, &job);

    /* There was no run yet: the launcher waits for a worker. */
    begin(&world, &job, "0");
    observed_lose(&world.object[OBJECT_WORKERS + 1]);
    world_settle(&world, &job, log);
    world_now_s += PLAN_WORKER_S + 1;
    world_settle(&world, &job, log);
    assert_string_equal(log, "+w1 ");
    observed_lose(&world.object[OBJECT_WORKERS + 1]); /* it was not ready */
    world_settle(&world, &job, log);
    assert_string_equal(log, "+w1 ");
    end(&world, &job);
}

/* The run of an elastic job ends just when a worker that had to go has: that goes all the same. */
static void test_last_leaver(void **state)
{
    struct observed world;
    struct job      job;
    char            log[400];

    (void)state;
    begin(&world, &job, "0");
    job.least = 1;
    job.most = 2;
    job.workers = 1;
    world.object[OBJECT_WORKERS + 1].phase = POD_SUCCEEDED;
    world.object[OBJECT_LAUNCHER].phase = POD_SUCCEEDED;
    world_settle(&world, &job, log);
    assert_string_equal(log, "R0 -w1 -w0 -2 -1 ");
    end(&world, &job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tell), cmocka_unit_test(test_worker), cmocka_unit_test(test_image),
        cmocka_unit_test(test_seen), cmocka_unit_test(test_gone),
        cmocka_unit_test(test_last_leaver),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
