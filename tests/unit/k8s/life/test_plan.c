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
#include "life/elastic.h"
#include "life/lines.h"
#include "life/plan.h"
#include "objects/objects.h"

#define NOW        1000000
#define WORLDS     3000
#define EVENTS_MAX 60
#define STEPS_MAX  400

static void make_job(struct job *job, const char *workers, const char *launcher,
                     const char *cleanup, const char *backoff)
{
    const char *const argv[] = { "--name=j",   "--image=i",           "--workers", workers,
                                 "--launcher", launcher,              "--clean-up", cleanup,
                                 "--job-backoff-limit", backoff, "a.py", NULL };
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

static int64_t now_s;

static void create(struct observed *world, const struct job *job, size_t number)
{
    static unsigned last_uid;

    if (world->object[number].exists)
        return;
    world->object[number] = (struct observed_object){ .exists = true,
                                                      .is_ours = true,
                                                      .created_s = now_s,
                                                      .workers = job_keys(job),
                                                      .attempt = world->attempts.number };
    snprintf(world->object[number].uid, sizeof world->object[number].uid, "%u", ++last_uid);
    if (job_is_elastic(job) && (number == OBJECT_HOSTS || number == object_launcher(job)))
        world->object[number].hosts = world->object[OBJECT_HOSTS].hosts > 0
                                          ? world->object[OBJECT_HOSTS].hosts
                                          : job->workers;
    if (number == OBJECT_HOSTS)
        world->object[number].listed = world->object[number].hosts;
    if (number == OBJECT_ANCHOR) {
        strcpy(world->uid, world->object[number].uid);
        world->created_s = now_s;
    }
}

/* Index 0 is the last of the workers to go. */
static void check_order(const struct observed *world, const struct plan *plan, size_t at)
{
    size_t i;

    if (plan->action[at].number == OBJECT_WORKERS)
        for (i = at + 1; i < plan->count; i++)
            assert_true(plan->action[i].kind != ACTION_DELETE ||
                        plan->action[i].number < OBJECT_WORKERS);
    assert_true(world->object[plan->action[at].number].is_ours);
    assert_false(world->object[plan->action[at].number].is_ending);
    assert_string_equal(world->object[plan->action[at].number].uid, plan->action[at].uid);
}

/* Who comes is ready; who goes has not been deleted before. */
static void check_hosts(const struct observed *world, const struct job *job, int64_t hosts)
{
    int64_t i;

    assert_true(hosts >= job->least && hosts <= job->most);
    if (!elastic_goes_on(job, world))
        return;
    for (i = world->object[OBJECT_HOSTS].hosts; i < hosts; i++)
        assert_true(world->object[OBJECT_WORKERS + (size_t)i].is_ready);
}

/* While the run of an elastic job goes on, a worker in its hostfile is deleted when it has ended, and one
 * that was in it when it was let go, or has waited for that in vain. */
static void check_leave(const struct observed *world, const struct job *job, size_t number)
{
    const struct observed_object *hosts = &world->object[OBJECT_HOSTS];
    int64_t                       index = (int64_t)(number - OBJECT_WORKERS);

    if (number < OBJECT_WORKERS || number == object_launcher(job) ||
        !elastic_goes_on(job, world) || !hosts->exists ||
        observed_is_finished(&world->object[number]))
        return;
    assert_true(index >= hosts->hosts);
    assert_true(index >= hosts->listed || now_s - hosts->since_s > PLAN_LEAVE_S);
}

static void keep(struct observed *world, const char *uid)
{
    json_t *lines = lines_with(world->lines, "pod", uid, world->attempts.number, "a\n", 2);

    json_decref(world->lines);
    world->lines = lines;
    assert_true(lines_count(lines, world->attempts.number) <= LINES_PODS);
}

static void carry_out(struct observed *world, const struct job *job, const struct plan *plan,
                      size_t most)
{
    struct observed_object *object;
    size_t                  i, k, number;

    for (i = 0; i < plan->count && i < most; i++) {
        number = plan->action[i].number;
        object = &world->object[number];
        switch (plan->action[i].kind) {
        case ACTION_CREATE:
            assert_true(plan->outcome == OUTCOME_NONE);
            assert_true(object_is_wanted(job, number));
            assert_false(job->is_paused && number > OBJECT_ANCHOR);
            for (k = OBJECT_PODS; k < world->count; k++) /* no two sizes at a time */
                assert_true(!world->object[k].exists || number < OBJECT_PODS ||
                            world->object[k].workers == job_keys(job));
            create(world, job, number);
            break;
        case ACTION_RECORD:
            assert_true(plan->outcome != OUTCOME_NONE);
            world->outcome = plan->outcome;
            world->exit_code = plan->exit_code;
            world->ended_s = now_s;
            break;
        case ACTION_HOSTS:
            check_hosts(world, job, plan->hosts);
            object->hosts = plan->hosts;
            object->listed = plan->hosts > object->listed ? plan->hosts : object->listed;
            object->since_s = now_s;
            break;
        case ACTION_TELL:
            object->hosts = world->object[OBJECT_HOSTS].hosts;
            break;
        case ACTION_CHANGE:
            assert_true(observed_is_outdated(world));
            free(world->job);
            world->job = json_dumps(world->wanted, 0);
            break;
        case ACTION_LINES:
            assert_true(object->phase == POD_FAILED && object->is_ours);
            keep(world, object->uid);
            break;
        case ACTION_ATTEMPT:
            assert_int_equal(i + 1, plan->count);
            assert_true(plan->attempts.failures <= job->backoff_limit);
            world->attempts = plan->attempts;
            break;
        case ACTION_DELETE:
            check_order(world, plan, i);
            if (plan->outcome == OUTCOME_NONE)
                check_leave(world, job, number);
            if (number >= OBJECT_PODS)
                object->is_ending = true;
            else
                *object = (struct observed_object){ 0 };
        }
    }
}

static void fail_pod(struct observed_object *pod, int exit_code, const char *reason)
{
    pod->phase = POD_FAILED;
    pod->is_ready = false;
    pod->exit_code = exit_code;
    pod->ended_s = now_s;
    strcpy(pod->reason, reason);
}

/* The launcher of an elastic job has read the hostfile, in which that worker is not any more. */
static bool is_let_go(const struct observed *world, const struct job *job, size_t number)
{
    int64_t told = world->object[object_launcher(job)].hosts;

    return job_is_elastic(job) && world->object[object_launcher(job)].phase == POD_RUNNING &&
           number >= OBJECT_WORKERS && (int64_t)(number - OBJECT_WORKERS) >= told &&
           (int64_t)(number - OBJECT_WORKERS) < world->object[OBJECT_HOSTS].listed;
}

/* What a cluster does to one Pod, if all is well: it starts, it ends; and the run succeeds. */
static void proceed(struct observed *world, const struct job *job, size_t number, bool is_friendly)
{
    struct observed_object *pod = &world->object[number];
    size_t                  i, ready = 0;

    for (i = 0; i < (size_t)job->workers; i++)
        ready += world->object[OBJECT_WORKERS + i].is_ready &&
                 world->object[OBJECT_WORKERS + i].workers == job_keys(job);
    if (pod->is_ending) {
        *pod = (struct observed_object){ 0 };
    } else if (pod->phase == POD_PENDING) {
        pod->reason[0] = '\0';
        pod->phase = POD_RUNNING;
        pod->started_s = now_s;
    } else if (pod->phase == POD_RUNNING && !pod->is_ready) {
        pod->is_ready = true;
    } else if (is_let_go(world, job, number)) {
        pod->phase = POD_SUCCEEDED;
        pod->is_ready = false;
        pod->ended_s = now_s;
    } else if (pod->phase == POD_RUNNING && number == object_launcher(job) &&
               pod->workers == job_keys(job) &&
               ready >= (size_t)(job_is_elastic(job) ? job->least : job->workers)) {
        if (is_friendly || chance(3)) {
            pod->phase = POD_SUCCEEDED;
            pod->ended_s = now_s;
        } else if (chance(2))
            fail_pod(pod, chance(4) ? EXIT_WAITED : 7, "Error");
    }
}

/* What somebody in a cluster, or the cluster in despair, does. */
static void disturb(struct observed *world, size_t number)
{
    struct observed_object *pod = &world->object[number];

    if (!pod->exists || observed_is_finished(pod))
        return;
    if (chance(10)) /* deleted, with or without its grace */
        *pod = chance(2) ? (struct observed_object){ 0 } : *pod;
    else if (chance(12))
        pod->is_ending = true;
    else if (chance(12)) /* OOM, eviction */
        fail_pod(pod, 137, "OOMKilled");
    else if (chance(40) && pod->phase == POD_PENDING)
        strcpy(pod->reason, chance(2) ? "CreateContainerConfigError" : "ImagePullBackOff");
    else if (chance(80))
        world->object[OBJECT_LAUNCHER_KEY + random() % 4] = (struct observed_object){ 0 };
}

/* What its owner asks for. */
static void command(struct observed *world, struct job *job)
{
    if (chance(25))
        job->is_paused = !job->is_paused;
    if (!chance(25))
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

    now_s = NOW;
    for (step = 0; step < STEPS_MAX; step++) {
        plan_make(&plan, job, world, now_s);
        if (plan.outcome != OUTCOME_NONE && plan.count == 0 && step > events)
            break;
        carry_out(world, job, &plan, step < events ? (size_t)random() % 4 : SIZE_MAX);
        plan_clear(&plan);
        number = OBJECT_PODS + (size_t)random() % (world->count - OBJECT_PODS);
        if (world->object[number].exists)
            proceed(world, job, number, step >= events);
        if (step < events) {
            disturb(world, number);
            command(world, job);
        } else
            job->is_paused = false;
        if (step > EVENTS_MAX || chance(10))
            now_s += 10;
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
        job = (struct job){ 0 };
        make_job(&job, sizes[random() % 3], launchers[random() % 2], cleanups[random() % 3],
                 backoffs[random() % 3]);
        if (chance(3)) {
            job.least = 1;
            job.most = 5;
        }
        observed_init(&world, &job);
        if (chance(15)) { /* the name of something is taken */
            foreign = 1 + (size_t)random() % (world.count - 1);
            world.object[foreign] = (struct observed_object){ .exists = true };
        }
        live(&world, &job, (size_t)random() % EVENTS_MAX, &seen);
        assert_false(world.object[OBJECT_LAUNCHER_KEY].is_ours);
        assert_false(world.object[OBJECT_WORKER_KEYS].is_ours);
        observed_clear(&world);
        job_clear(&job);
    }
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
    now_s = NOW;
    make_job(&job, "2", "pod", "Unfinished", "0");
    observed_init(&world, &job);
    plan_make(&plan, &job, &world, NOW);
    assert_int_equal(plan.count, 1); /* the owner of all others */
    carry_out(&world, &job, &plan, SIZE_MAX);
    plan_clear(&plan);
    plan_make(&plan, &job, &world, NOW);
    assert_int_equal(plan.count, 2); /* both Secrets, made together */
    carry_out(&world, &job, &plan, 1);
    plan_clear(&plan);
    plan_make(&plan, &job, &world, NOW); /* one of them only: it may be another muster's */
    assert_int_equal(plan.count, 0);
    assert_true(plan.is_unsettled);
    plan_clear(&plan);
    plan_make(&plan, &job, &world, NOW + PLAN_PAIR_S + 1); /* made anew */
    assert_int_equal(plan.count, 1);
    assert_int_equal(plan.action[0].kind, ACTION_DELETE);
    assert_int_equal(plan.action[0].number, OBJECT_LAUNCHER_KEY);
    carry_out(&world, &job, &plan, SIZE_MAX);
    plan_clear(&plan);
    for (i = 0; i < 3; i++) { /* Secrets, Pods, and that there is a launcher */
        plan_make(&plan, &job, &world, NOW);
        assert_true(plan.count > 0);
        carry_out(&world, &job, &plan, SIZE_MAX);
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
    make_job(&job, "2", "pod", "Unfinished", "0");
    observed_init(&world, &job);
    for (i = 0; i < world.count; i++)
        create(&world, &job, i);
    world.attempts.launched = 1;
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
        { 7, "Error", RESTART_ON_FAILURE, 1, 10, true },
        { 7, "Error", RESTART_ON_FAILURE, 2, 10, false },
        { 7, "Error", RESTART_NEVER, 0, 10, false },
        { 7, "Error", RESTART_EXIT_CODE, 0, 10, false },
        { 137, "OOMKilled", RESTART_EXIT_CODE, 0, 10, true },
        { -1, "", RESTART_EXIT_CODE, 0, 10, true },
        { -1, "", RESTART_ON_FAILURE, 2, 10, false },
        { EXIT_TIMEOUT, "Error", RESTART_ON_FAILURE, 0, 10, false },
        { 7, "DeadlineExceeded", RESTART_ON_FAILURE, 0, 10, false },
        { 7, "Error", RESTART_ON_FAILURE, 0, 101, false },
    };
    struct job              job = { 0 };
    struct observed         world;
    struct observed_object *launcher;
    struct plan             plan;
    size_t                  i;

    (void)state;
    now_s = NOW;
    make_job(&job, "2", "pod", "Unfinished", "2");
    job.deadline_s = 100;
    observed_init(&world, &job);
    for (i = 0; i < world.count; i++)
        create(&world, &job, i);
    launcher = &world.object[OBJECT_LAUNCHER];
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world.attempts = (struct attempts){ 1, 1, rows[i].failures, NOW, "" };
        job.restart = rows[i].restart;
        launcher->exists = rows[i].exit_code >= 0;
        fail_pod(launcher, rows[i].exit_code, rows[i].reason);
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

/* plan after plan, with nothing that happens in between; the kinds and numbers of all actions. */
static void plan_until_quiet(struct observed *world, const struct job *job, char *log)
{
    static const char letters[] = "+-RALHTC"; /* of enum action_kind */
    struct plan       plan;
    size_t            i, count, number;

    do {
        plan_make(&plan, job, world, now_s);
        for (i = 0; i < plan.count; i++) {
            number = plan.action[i].number;
            log += sprintf(log, "%c", letters[plan.action[i].kind]);
            log += number < OBJECT_PODS        ? sprintf(log, "%zu ", number)
                   : number == OBJECT_LAUNCHER ? sprintf(log, "l ")
                                               : sprintf(log, "w%zu ", number - OBJECT_WORKERS);
        }
        carry_out(world, job, &plan, SIZE_MAX);
        count = plan.count;
        plan_clear(&plan);
    } while (count > 0);
    *log = '\0';
}

static void all_gone(struct observed *world)
{
    size_t i;

    for (i = OBJECT_PODS; i < world->count; i++)
        if (world->object[i].is_ending)
            world->object[i] = (struct observed_object){ 0 };
}

/* Which Pods are replaced, in which order. 1 to 3 are Secrets and hosts. */
static void test_replacements(void **state)
{
    struct job      job = { 0 };
    struct observed world;
    char            log[400];
    size_t          i;

    (void)state;
    now_s = NOW;
    make_job(&job, "2", "pod", "Unfinished", "1");
    observed_init(&world, &job);
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "+0 +1 +2 +3 +5 +6 +w0 +w1 +l A0 ");
    for (i = OBJECT_PODS; i < world.count; i++)
        world.object[i].phase = POD_RUNNING;

    /* A worker and with it the run: both Pods go, the other worker stays. */
    fail_pod(&world.object[OBJECT_WORKERS + 1], 137, "OOMKilled");
    fail_pod(&world.object[OBJECT_LAUNCHER], 69, "Error");
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "Ll Lw1 A0 -l ");
    all_gone(&world);
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "-w1 ");
    all_gone(&world);
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "+w1 +l A0 ");
    assert_int_equal(world.object[OBJECT_WORKERS].attempt, 1);
    assert_int_equal(world.object[OBJECT_WORKERS + 1].attempt, 2);

    /* One more worker: all Pods, then what they were made from, are made anew. */
    world.object[OBJECT_LAUNCHER].phase = POD_RUNNING;
    job.workers = 3;
    observed_fit(&world, &job);
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "A0 -l ");
    all_gone(&world);
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "-w1 -w0 ");
    all_gone(&world);
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "-3 -2 -1 +1 +2 +3 +w0 +w1 +w2 +l A0 ");

    /* There is no run yet that the launcher would have to end. */
    job.is_paused = true;
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "A0 -w2 -w1 -w0 -l ");
    all_gone(&world);
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "");
    job.is_paused = false;
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "+w0 +w1 +w2 +l A0 ");
    assert_int_equal(world.attempts.failures, 1);
    observed_clear(&world);
    job_clear(&job);
}

/* The run of an elastic job goes on, whatever happens to its workers. */
static void test_elastic(void **state)
{
    struct job      job = { .least = 1, .most = 4 };
    struct observed world;
    char            log[400];
    size_t          i;

    (void)state;
    now_s = NOW;
    make_job(&job, "2", "pod", "Unfinished", "0");
    job.least = 1;
    job.most = 4;
    observed_init(&world, &job);
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "+0 +1 +2 +3 +5 +6 +w0 +w1 +l A0 ");
    for (i = OBJECT_PODS; i < world.count; i++) {
        world.object[i].phase = POD_RUNNING;
        world.object[i].is_ready = true;
    }

    /* A lost worker is replaced under its index, a little later. */
    fail_pod(&world.object[OBJECT_WORKERS + 1], 137, "OOMKilled");
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "");
    now_s += 10 * PLAN_WORKER_S;
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "-w1 ");
    all_gone(&world);
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "+w1 ");
    world.object[OBJECT_WORKERS + 1].phase = POD_RUNNING;
    world.object[OBJECT_WORKERS + 1].is_ready = true;

    /* New workers are in the hostfile when they are ready, in their order. */
    job.workers = 4;
    observed_fit(&world, &job);
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "+w2 +w3 ");
    world.object[OBJECT_WORKERS + 3].is_ready = true;
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "");
    world.object[OBJECT_WORKERS + 2].is_ready = true;
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "H3 Tl ");
    assert_int_equal(world.object[OBJECT_HOSTS].hosts, 4);

    /* Those with the highest indexes go, when the launcher has let them go. */
    for (i = OBJECT_PODS; i < world.count; i++)
        world.object[i].phase = POD_RUNNING;
    job.workers = 2;
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "H3 Tl ");
    proceed(&world, &job, OBJECT_WORKERS + 3, true);
    assert_true(observed_is_finished(&world.object[OBJECT_WORKERS + 3]));
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "-w3 ");
    all_gone(&world);
    now_s += PLAN_LEAVE_S + 1; /* the other one in any case, some time later */
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "-w2 ");
    all_gone(&world);
    assert_int_equal(world.attempts.number, 1);

    /* The launcher has waited too long for workers: that is final. */
    fail_pod(&world.object[OBJECT_LAUNCHER], EXIT_WAITED, "Error");
    plan_until_quiet(&world, &job, log);
    assert_non_null(strstr(log, "R0 -w1 -w0 "));
    assert_int_equal(world.outcome, OUTCOME_MAX_WAIT);
    observed_clear(&world);
    job_clear(&job);
}

/* In a queue there is the anchor alone; once the job has begun, the annotation says nothing. */
static void test_queue(void **state)
{
    struct job      job = { .queue = strdup("q") };
    struct observed world;
    struct plan     plan;
    char            log[400];

    (void)state;
    now_s = NOW;
    make_job(&job, "1", "pod", "Unfinished", "0");
    observed_init(&world, &job);
    world.is_queued = true;
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "+0 ");
    plan_make(&plan, &job, &world, NOW + 10 * JOB_MAX_WAIT_S); /* however long that takes */
    assert_int_equal(plan.outcome, OUTCOME_NONE);
    assert_non_null(strstr(plan.why, "waiting in queue q"));
    plan_clear(&plan);
    world.is_queued = false;
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "+1 +2 +3 +5 +6 +w0 +l A0 ");
    world.is_queued = true;
    world.object[OBJECT_LAUNCHER].phase = POD_SUCCEEDED;
    plan_until_quiet(&world, &job, log);
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
    now_s = NOW;
    make_job(&job, "1", "pod", "Unfinished", "0");
    job.ttl_s = 100;
    observed_init(&world, &job);
    plan_until_quiet(&world, &job, log);
    world.object[OBJECT_LAUNCHER].phase = POD_SUCCEEDED;
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "R0 -w0 -2 -1 ");
    all_gone(&world);
    now_s = NOW + 99;
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "");
    now_s = NOW + 100;
    plan_until_quiet(&world, &job, log);
    assert_string_equal(log, "-0 ");
    observed_clear(&world);
    job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_retries),
        cmocka_unit_test(test_replacements),
        cmocka_unit_test(test_elastic),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_random_worlds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
