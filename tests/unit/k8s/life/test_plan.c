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
#include "life/plan.h"
#include "objects/objects.h"
#include "unit/k8s/life/world.h"

#define NOW        1000000
#define WORLDS     3000
#define EVENTS_MAX 60
#define STEPS_MAX  400

/* What its owner asks for. */
static void command(struct observed *world, struct job *job)
{
    if (world_chance(25))
        job->is_paused = !job->is_paused;
    if (!world_chance(25))
        return;
    job->workers = 1 + random() % 5; /* an elastic job may have just these */
    observed_fit(world, job);
}

struct seen {
    size_t ends[OUTCOMES], retried, scaled, went_on;
};

/* One life, with `events` rounds in which anything happens and whoever acts is killed. */
static void live(struct observed *world, struct job *job, size_t events, struct seen *seen)
{
    int64_t     before = job->workers;
    struct plan plan;
    size_t      step, number;

    world_now_s = NOW;
    world->sees_nodes = world_chance(2);
    for (step = 0; step < STEPS_MAX; step++) {
        observed_see(world, world_now_s);
        plan_make(&plan, job, world, world_now_s);
        if (plan.outcome != OUTCOME_NONE && plan.count == 0 && step > events)
            break;
        world_carry_out(world, job, &plan, step < events ? (size_t)random() % 4 : SIZE_MAX);
        plan_clear(&plan);
        number = OBJECT_PODS + (size_t)random() % (world->count - OBJECT_PODS);
        if (world->object[number].exists)
            world_proceed(world, job, number, step >= events);
        if (step < events) {
            world_disturb(world, number);
            command(world, job);
        } else
            job->is_paused = false;
        if (step > EVENTS_MAX || world_chance(10))
            world_now_s += 10;
    }
    if (step == STEPS_MAX)
        fail_msg("no end: %s", plan.why);
    seen->ends[plan.outcome]++;
    seen->retried += plan.outcome == OUTCOME_SUCCEEDED && world->attempts.failures > 0;
    seen->scaled += plan.outcome == OUTCOME_SUCCEEDED && job->workers != before;
    seen->went_on += plan.outcome == OUTCOME_SUCCEEDED && job_is_elastic(job) &&
                     job->workers != before && world->attempts.number == 1;
    assert_int_equal(world->outcome, plan.outcome);
    plan_clear(&plan);
}

static void test_random_worlds(void **state)
{
    static const char *const launchers[] = { "pod", "worker0" };
    static const char *const cleanups[] = { "Unfinished", "None", "All" };
    static const char *const sizes[] = { "1", "2", "5" };
    static const char *const backoffs[] = { "0", "1", "4" };
    struct seen              seen = { { 0 }, 0, 0, 0 };
    struct observed          world;
    struct job               job;
    size_t                   i, foreign;

    (void)state;
    for (i = 0; i < WORLDS; i++) {
        srandom((unsigned)i);
        world_skew_s = world_chance(2) ? 0 : random() % 2000 - 1000;
        job = (struct job){ 0 };
        world_job(&job, sizes[random() % 3], launchers[random() % 2], cleanups[random() % 3],
                 backoffs[random() % 3]);
        if (world_chance(3)) {
            job.least = 1;
            job.most = 5;
        }
        observed_init(&world, &job);
        if (world_chance(15)) { /* the name of something is taken */
            foreign = 1 + (size_t)random() % (world.count - 1);
            world.object[foreign] = (struct observed_object){ .exists = true };
        }
        live(&world, &job, (size_t)random() % EVENTS_MAX, &seen);
        assert_false(world.object[OBJECT_LAUNCHER_KEY].is_ours);
        assert_false(world.object[OBJECT_WORKER_KEYS].is_ours);
        observed_clear(&world);
        job_clear(&job);
    }
    world_skew_s = 0;
    /* Each of these happens, so each was tried. */
    assert_true(seen.ends[OUTCOME_SUCCEEDED] > 100);
    assert_true(seen.ends[OUTCOME_FAILED] > 100);
    assert_true(seen.ends[OUTCOME_STUCK] > 10);
    assert_true(seen.ends[OUTCOME_FOREIGN] > 10);
    assert_true(seen.retried > 100);
    assert_true(seen.scaled > 100);
    assert_true(seen.went_on > 50);
    assert_true(seen.ends[OUTCOME_MAX_WAIT] > 10);
}

/* The steps of a job that nothing happens to. */
static void test_order(void **state)
{
    struct job      job = { 0 };
    struct observed world;
    struct plan     plan;
    size_t          i;

    (void)state;
    world_now_s = NOW;
    world_job(&job, "2", "pod", "Unfinished", "0");
    observed_init(&world, &job);
    plan_make(&plan, &job, &world, NOW);
    assert_int_equal(plan.count, 1); /* the owner of all others */
    world_carry_out(&world, &job, &plan, SIZE_MAX);
    plan_clear(&plan);
    plan_make(&plan, &job, &world, NOW);
    assert_int_equal(plan.count, 2); /* both Secrets, made together */
    world_carry_out(&world, &job, &plan, 1);
    plan_clear(&plan);
    plan_make(&plan, &job, &world, NOW); /* one of them only: it may be another muster's */
    assert_int_equal(plan.count, 0);
    assert_true(plan.is_unsettled);
    plan_clear(&plan);
    plan_make(&plan, &job, &world, NOW + PLAN_PAIR_S + 1); /* made anew */
    assert_int_equal(plan.count, 1);
    assert_int_equal(plan.action[0].kind, ACTION_DELETE);
    assert_int_equal(plan.action[0].number, OBJECT_LAUNCHER_KEY);
    world_carry_out(&world, &job, &plan, SIZE_MAX);
    plan_clear(&plan);
    for (i = 0; i < 3; i++) { /* Secrets, Pods, and that there is a launcher */
        plan_make(&plan, &job, &world, NOW);
        assert_true(plan.count > 0);
        world_carry_out(&world, &job, &plan, SIZE_MAX);
        plan_clear(&plan);
    }
    assert_int_equal(world.attempts.launched, 1);
    plan_make(&plan, &job, &world, NOW);
    assert_int_equal(plan.count, 0);
    assert_string_equal(plan.why, "waiting for 3 of 3 Pods; j-worker-0: Pending");
    plan_clear(&plan);
    observed_clear(&world);
    job_clear(&job);
}

/* Everything of a job with two workers and a launcher is there, all Pods pending. */
static void create_all(struct observed *world, struct job *job)
{
    size_t i;

    world_job(job, "2", "pod", "Unfinished", "0");
    observed_init(world, job);
    for (i = 0; i < world->count; i++)
        world_create(world, job, i);
    world->attempts.launched = 1;
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
    create_all(&world, &job);
    for (i = OBJECT_PODS; i < world.count; i++)
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

/* The launcher's own wait is over before anybody has acted on the job; it knows no reason. */
static void test_launcher_has_waited(void **state)
{
    struct job              job = { 0 };
    struct observed         world;
    struct observed_object *pod;
    struct plan             plan;

    (void)state;
    create_all(&world, &job);
    strcpy(world.object[OBJECT_WORKERS + 1].reason, "Unschedulable");
    pod = &world.object[object_launcher(&job)];
    pod->phase = POD_FAILED;
    pod->exit_code = EXIT_WAITED;
    pod->ended_s = NOW;
    world.object[OBJECT_WORKERS].phase = POD_RUNNING;
    plan_make(&plan, &job, &world, NOW + JOB_MAX_WAIT_S + 1);
    assert_int_equal(plan.outcome, OUTCOME_MAX_WAIT);
    assert_non_null(strstr(plan.why, "j-worker-1"));
    assert_non_null(strstr(plan.why, "Unschedulable"));
    plan_clear(&plan);
    observed_clear(&world);
    job_clear(&job);
}

/* A launcher that has lost a worker knows no more than that: what the cluster says of the worker is
 * said, too, and waited for. */
static void test_lost_worker(void **state)
{
    struct job      job = { 0 };
    struct observed world;
    struct plan     plan;
    size_t          i;

    (void)state;
    world_now_s = NOW;
    create_all(&world, &job);
    for (i = OBJECT_PODS; i < world.count; i++)
        world.object[i].phase = POD_RUNNING;
    world_fail_pod(&world.object[OBJECT_LAUNCHER], EXIT_LOST, "Error");
    plan_make(&plan, &job, &world, NOW + PLAN_TELL_S);
    assert_int_equal(plan.outcome, OUTCOME_NONE);
    plan_clear(&plan);
    plan_make(&plan, &job, &world, NOW + PLAN_TELL_S + 1);
    assert_string_equal(plan.why, "Pod j-launcher: exit status 69, Error");
    plan_clear(&plan);
    world_fail_pod(&world.object[OBJECT_WORKERS + 1], 137, "OOMKilled");
    plan_make(&plan, &job, &world, NOW);
    assert_int_equal(plan.exit_code, EXIT_LOST);
    assert_string_equal(plan.why, "Pod j-launcher: exit status 69, Error; Pod j-worker-1 has "
                                  "ended, exit status 137, OOMKilled");
    plan_clear(&plan);
    world.object[OBJECT_WORKERS + 1] = (struct observed_object){ 0 };
    plan_make(&plan, &job, &world, NOW);
    assert_string_equal(plan.why, "Pod j-launcher: exit status 69, Error; Pod j-worker-1 was "
                                  "deleted");
    plan_clear(&plan);
    world.object[OBJECT_LAUNCHER].exit_code = 7; /* a rank's: that Pod was not there yet, perhaps */
    plan_make(&plan, &job, &world, NOW);
    assert_string_equal(plan.why, "Pod j-launcher: exit status 7, Error");
    plan_clear(&plan);
    observed_clear(&world);
    job_clear(&job);
}

/* Which failures are followed by another attempt. */
static void test_retries(void **state)
{
    static const struct {
        int              exit_code; /* of the launcher; -1: it is gone */
        const char      *reason;
        enum job_restart restart;
        int64_t          failures, after_s; /* so far; since the first launch */
        bool             is_retried;
    } rows[] = {
        { 7, "Error", RESTART_ON_FAILURE, 0, 10, true },
        { 7, "Error", RESTART_ON_FAILURE, 2, 10, false },
        { 7, "Error", RESTART_NEVER, 0, 10, false },
        { 7, "Error", RESTART_EXIT_CODE, 0, 10, false },
        { 137, "OOMKilled", RESTART_EXIT_CODE, 0, 10, true },
        { -1, "", RESTART_EXIT_CODE, 0, 10, true },
        { -1, "", RESTART_ON_FAILURE, 2, 10, false },
        { EXIT_TIMEOUT, "Error", RESTART_ON_FAILURE, 0, 10, false },
        { EXIT_NO_PROGRESS, "Error", RESTART_ON_FAILURE, 0, 10, false },
        { 7, "DeadlineExceeded", RESTART_ON_FAILURE, 0, 10, false },
        { 7, "Error", RESTART_ON_FAILURE, 0, 101, false },
    };
    struct job              job = { 0 };
    struct observed         world;
    struct observed_object *launcher;
    struct plan             plan;
    size_t                  i;

    (void)state;
    world_now_s = NOW;
    world_job(&job, "2", "pod", "Unfinished", "2");
    job.deadline_s = 100;
    observed_init(&world, &job);
    for (i = 0; i < world.count; i++)
        world_create(&world, &job, i);
    launcher = &world.object[OBJECT_LAUNCHER];
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world.attempts = (struct attempts){
            .number = 1, .launched = 1, .failures = rows[i].failures, .started_s = NOW
        };
        job.restart = rows[i].restart;
        launcher->exists = rows[i].exit_code >= 0;
        world_fail_pod(launcher, rows[i].exit_code, rows[i].reason);
        plan_make(&plan, &job, &world, NOW + rows[i].after_s);
        assert_int_equal(plan.count, 1 + (rows[i].exit_code >= 0)); /* a Pod that is has a log */
        assert_true(plan.count == 1 || plan.action[0].kind == ACTION_LINES);
        assert_int_equal(plan.action[plan.count - 1].kind,
                         rows[i].is_retried ? ACTION_ATTEMPT : ACTION_RECORD);
        assert_int_equal(plan.attempts.number, rows[i].is_retried ? 2 : 1);
        assert_int_equal(plan.attempts.failures, rows[i].failures + rows[i].is_retried);
        assert_non_null(strstr(plan.why, "j-launcher"));
        plan_clear(&plan);
    }
    observed_clear(&world);
    job_clear(&job);
}

/* Which Pods are replaced, in which order. 1 to 3 are Secrets and hosts. */
static void test_replacements(void **state)
{
    struct job      job = { 0 };
    struct observed world;
    char            log[400];
    size_t          i;

    (void)state;
    world_now_s = NOW;
    world_job(&job, "2", "pod", "Unfinished", "1");
    observed_init(&world, &job);
    world_settle(&world, &job, log);
    assert_string_equal(log, "+0 +1 +2 +3 +5 +6 +w0 +w1 +l A0 ");
    for (i = OBJECT_PODS; i < world.count; i++)
        world.object[i].phase = POD_RUNNING;

    /* A worker and with it the run: both Pods go, the other worker stays. */
    world_fail_pod(&world.object[OBJECT_WORKERS + 1], 137, "OOMKilled");
    world_fail_pod(&world.object[OBJECT_LAUNCHER], 69, "Error");
    world_settle(&world, &job, log);
    assert_string_equal(log, "Ll Lw1 A0 -l ");
    world_end(&world);
    world_settle(&world, &job, log);
    assert_string_equal(log, "-w1 ");
    world_end(&world);
    world_settle(&world, &job, log);
    assert_string_equal(log, "+w1 +l A0 ");
    assert_int_equal(world.object[OBJECT_WORKERS].attempt, 1);
    assert_int_equal(world.object[OBJECT_WORKERS + 1].attempt, 2);

    /* One more worker: all Pods, then what they were made from, are made anew. */
    world.object[OBJECT_LAUNCHER].phase = POD_RUNNING;
    job.workers = 3;
    observed_fit(&world, &job);
    world_settle(&world, &job, log);
    assert_string_equal(log, "A0 -l ");
    world_end(&world);
    world_settle(&world, &job, log);
    assert_string_equal(log, "-w1 -w0 ");
    world_end(&world);
    world_settle(&world, &job, log);
    assert_string_equal(log, "-3 -2 -1 +1 +2 +3 +w0 +w1 +w2 +l A0 ");

    /* There is no run yet that the launcher would have to end. */
    job.is_paused = true;
    world_settle(&world, &job, log);
    assert_string_equal(log, "A0 -w2 -w1 -w0 -l ");
    world_end(&world);
    world_settle(&world, &job, log);
    assert_string_equal(log, "");
    job.is_paused = false;
    world_settle(&world, &job, log);
    assert_string_equal(log, "+w0 +w1 +w2 +l A0 ");
    assert_int_equal(world.attempts.failures, 1);
    observed_clear(&world);
    job_clear(&job);
}

/* A run that was paused has a past; one that had not begun has not even its init containers'. */
static void test_resumed(void **state)
{
    struct job      job = { 0 };
    struct observed world;
    char            log[400];
    size_t          i;

    (void)state;
    world_now_s = NOW;
    world_job(&job, "2", "pod", "Unfinished", "0");
    observed_init(&world, &job);
    world_settle(&world, &job, log);
    for (i = OBJECT_PODS; i < world.count - 1; i++)
        world.object[i].phase = POD_RUNNING;
    job.is_paused = true;
    world_settle(&world, &job, log);
    assert_int_equal(world.attempts.number, 2);
    assert_false(world.attempts.is_resumed);
    world_end(&world);
    job.is_paused = false;
    world_settle(&world, &job, log);
    for (i = OBJECT_PODS; i < world.count; i++)
        world.object[i].phase = POD_RUNNING;
    job.is_paused = true;
    world_settle(&world, &job, log);
    assert_int_equal(world.attempts.number, 3);
    assert_true(world.attempts.is_resumed);
    observed_clear(&world);
    job_clear(&job);
}

static void scale_in(struct observed *world, struct job *job);

/* The run of an elastic job goes on, whatever happens to its workers. */
static void test_elastic(void **state)
{
    struct job      job = { .least = 1, .most = 4 };
    struct observed world;
    char            log[400];
    size_t          i;

    (void)state;
    world_now_s = NOW;
    world_job(&job, "2", "pod", "Unfinished", "0");
    job.least = 1;
    job.most = 4;
    observed_init(&world, &job);
    world_settle(&world, &job, log);
    assert_string_equal(log, "+0 +1 +2 +3 +5 +6 +w0 +w1 +l A0 ");
    for (i = OBJECT_PODS; i < world.count; i++) {
        world.object[i].phase = POD_RUNNING;
        world.object[i].is_ready = true;
    }

    /* A lost worker is replaced under its index, a little later. */
    world_fail_pod(&world.object[OBJECT_WORKERS + 1], 137, "OOMKilled");
    world_settle(&world, &job, log);
    assert_string_equal(log, "");
    world_now_s += 10 * PLAN_WORKER_S;
    world_settle(&world, &job, log);
    assert_string_equal(log, "-w1 ");
    world_end(&world);
    world_settle(&world, &job, log);
    assert_string_equal(log, "+w1 ");
    world.object[OBJECT_WORKERS + 1].phase = POD_RUNNING;
    world.object[OBJECT_WORKERS + 1].is_ready = true;

    /* New workers are in the hostfile when they are ready, in their order. */
    job.workers = 4;
    observed_fit(&world, &job);
    world_settle(&world, &job, log);
    assert_string_equal(log, "+w2 +w3 ");
    world.object[OBJECT_WORKERS + 3].is_ready = true;
    world_settle(&world, &job, log);
    assert_string_equal(log, "");
    world.object[OBJECT_WORKERS + 2].is_ready = true;
    world_settle(&world, &job, log);
    assert_string_equal(log, "H3 Tl ");
    assert_int_equal(world.object[OBJECT_HOSTS].hosts, 4);

    scale_in(&world, &job);
    observed_clear(&world);
    job_clear(&job);
}

/* Of a run with four workers. */
static void scale_in(struct observed *world, struct job *job)
{
    char   log[400];
    size_t i;

    /* Those with the highest indexes go, when the launcher has let them go. */
    for (i = OBJECT_PODS; i < world->count; i++)
        world->object[i].phase = POD_RUNNING;
    job->workers = 2;
    world_settle(world, job, log);
    assert_string_equal(log, "H3 Tl ");
    world_proceed(world, job, OBJECT_WORKERS + 3, true);
    assert_true(observed_is_finished(&world->object[OBJECT_WORKERS + 3]));
    world_settle(world, job, log);
    assert_string_equal(log, "-w3 ");
    world_end(world);
    world_now_s += PLAN_LEAVE_S + 1; /* the other one in any case, some time later */
    world_settle(world, job, log);
    assert_string_equal(log, "-w2 ");
    world_end(world);
    assert_int_equal(world->attempts.number, 1);

    /* The launcher has waited too long for workers: that is final. */
    world_fail_pod(&world->object[OBJECT_LAUNCHER], EXIT_WAITED, "Error");
    world_settle(world, job, log);
    assert_non_null(strstr(log, "R0 -w1 -w0 "));
    assert_int_equal(world->outcome, OUTCOME_MAX_WAIT);
}

/* In a queue there is the anchor alone; once the job has begun, the annotation says nothing. */
static void test_queue(void **state)
{
    struct job      job = { .queue = strdup("q") };
    struct observed world;
    struct plan     plan;
    char            log[400];

    (void)state;
    world_now_s = NOW;
    world_job(&job, "1", "pod", "Unfinished", "0");
    observed_init(&world, &job);
    world.is_queued = true;
    world_settle(&world, &job, log);
    assert_string_equal(log, "+0 ");
    plan_make(&plan, &job, &world, NOW + 10 * JOB_MAX_WAIT_S); /* however long that takes */
    assert_int_equal(plan.outcome, OUTCOME_NONE);
    assert_non_null(strstr(plan.why, "waiting in queue q"));
    plan_clear(&plan);
    world.is_queued = false;
    world_settle(&world, &job, log);
    assert_string_equal(log, "+1 +2 +3 +5 +6 +w0 +l A0 ");
    world.is_queued = true;
    world.object[OBJECT_LAUNCHER].phase = POD_SUCCEEDED;
    world_settle(&world, &job, log);
    assert_string_equal(log, "R0 -w0 -2 -1 ");
    observed_clear(&world);
    job_clear(&job);
}

/* The whole job goes when its time to live is over, and not before what has to go first. */
static void test_expiry(void **state)
{
    struct job      job = { 0 };
    struct observed world;
    char            log[400];

    (void)state;
    world_now_s = NOW;
    world_job(&job, "1", "pod", "Unfinished", "0");
    job.ttl_s = 100;
    observed_init(&world, &job);
    world_settle(&world, &job, log);
    world.object[OBJECT_LAUNCHER].phase = POD_SUCCEEDED;
    world_settle(&world, &job, log);
    assert_string_equal(log, "R0 -w0 -2 -1 ");
    world_end(&world);
    world_now_s = NOW + 99;
    world_settle(&world, &job, log);
    assert_string_equal(log, "");
    world_now_s = NOW + 100;
    world_settle(&world, &job, log);
    assert_string_equal(log, "-0 ");
    observed_clear(&world);
    job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_launcher_has_waited),
        cmocka_unit_test(test_lost_worker),
        cmocka_unit_test(test_retries),
        cmocka_unit_test(test_replacements),
        cmocka_unit_test(test_resumed),
        cmocka_unit_test(test_elastic),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_random_worlds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
