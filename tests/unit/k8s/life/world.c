/* world.c - see world.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "unit/k8s/life/world.h"

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
#include "life/nodes.h"
#include "objects/objects.h"

void world_job(struct job *job, const char *workers, const char *launcher, const char *cleanup,
               const char *backoff)
{
    const char *const argv[] = { "--name=j",   "--image=i",  "--workers",
                                 workers,      "--launcher", launcher,
                                 "--clean-up", cleanup,      "--job-backoff-limit",
                                 backoff,      "a.py",       NULL };
    struct job_argv   reader;
    struct strlist    words = { 0 };
    struct error      err;

    job_argv_begin(&reader, job);
    assert_int_equal(args_read(argv, job_argv_rows, true, &reader, &words, &err), 0);
    job_argv_end(&reader, &words);
    strlist_clear(&words);
}

bool world_chance(int of)
{
    return random() % of == 0;
}

int64_t world_now_s, world_skew_s;

void world_create(struct observed *world, const struct job *job, size_t number)
{
    static unsigned last_uid;

    if (world->object[number].exists)
        return;
    world->object[number] = (struct observed_object){ .exists = true,
                                                      .is_ours = true,
                                                      .created_s = world_now_s,
                                                      .workers = job_keys(job),
                                                      .attempt = world->attempts.number,
                                                      .seen = world->object[number].seen };
    snprintf(world->object[number].uid, sizeof world->object[number].uid, "%u", ++last_uid);
    if (job_is_elastic(job) && (number == OBJECT_HOSTS || number == object_launcher(job)))
        world->object[number].hosts = world->object[OBJECT_HOSTS].hosts > 0
                                          ? world->object[OBJECT_HOSTS].hosts
                                          : job->workers;
    if (number == OBJECT_HOSTS)
        world->object[number].listed = world->object[number].hosts;
    if (number == OBJECT_ANCHOR) {
        strcpy(world->uid, world->object[number].uid);
        world->created_s = world_now_s;
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

/* While the run of an elastic job goes on, a worker in its hostfile is deleted when it has
 * ended, and one that was in it when it was let go, or has waited for that in vain. */
static void check_leave(const struct observed *world, const struct job *job, size_t number)
{
    const struct observed_object *hosts = &world->object[OBJECT_HOSTS];
    int64_t                       index = (int64_t)(number - OBJECT_WORKERS);

    if (number < OBJECT_WORKERS || number == object_launcher(job) ||
        !elastic_goes_on(job, world) || !hosts->exists ||
        observed_is_finished(&world->object[number]))
        return;
    assert_true(index >= hosts->hosts);
    assert_true(index >= hosts->listed || world_now_s - hosts->since_s > PLAN_LEAVE_S);
}

static void keep_nodes(struct observed *world, const struct job *job)
{
    json_decref(world->nodes);
    world->nodes = nodes_list(job, world, NULL);
}

static void keep(struct observed *world, const char *uid)
{
    json_t *lines = lines_with(world->lines, "pod", uid, world->attempts.number, "a\n", 2);

    json_decref(world->lines);
    world->lines = lines;
    assert_true(lines_count(lines, world->attempts.number) <= LINES_PODS);
}

void world_carry_out(struct observed *world, const struct job *job, const struct plan *plan,
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
            world_create(world, job, number);
            break;
        case ACTION_RECORD:
            assert_true(plan->outcome != OUTCOME_NONE);
            world->outcome = plan->outcome;
            world->exit_code = plan->exit_code;
            world->ended_s = world_now_s;
            break;
        case ACTION_HOSTS:
            check_hosts(world, job, plan->hosts);
            object->hosts = plan->hosts;
            object->listed = plan->hosts > object->listed ? plan->hosts : object->listed;
            object->since_s = world_now_s;
            break;
        case ACTION_TELL:
            object->hosts = world->object[OBJECT_HOSTS].hosts;
            break;
        case ACTION_NODES:
            keep_nodes(world, job);
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

void world_fail_pod(struct observed_object *pod, int exit_code, const char *reason)
{
    pod->phase = POD_FAILED;
    pod->is_ready = false;
    pod->exit_code = exit_code;
    pod->ended_s = world_now_s + world_skew_s;
    strcpy(pod->reason, reason);
}

/* The launcher of an elastic job has read the hostfile, in which that worker is not any more.
 */
static bool is_let_go(const struct observed *world, const struct job *job, size_t number)
{
    int64_t told = world->object[object_launcher(job)].hosts;

    return job_is_elastic(job) && world->object[object_launcher(job)].phase == POD_RUNNING &&
           number >= OBJECT_WORKERS && (int64_t)(number - OBJECT_WORKERS) >= told &&
           (int64_t)(number - OBJECT_WORKERS) < world->object[OBJECT_HOSTS].listed;
}

/* What a cluster does to one Pod, if all is well: it starts, it ends; and the run succeeds. */
void world_proceed(struct observed *world, const struct job *job, size_t number,
                   bool is_friendly)
{
    struct observed_object *pod = &world->object[number];
    size_t                  i, ready = 0;

    for (i = 0; i < (size_t)job->workers; i++)
        ready += world->object[OBJECT_WORKERS + i].is_ready &&
                 world->object[OBJECT_WORKERS + i].workers == job_keys(job);
    if (pod->is_ending) {
        observed_lose(pod);
    } else if (pod->phase == POD_PENDING) {
        pod->reason[0] = '\0';
        pod->phase = POD_RUNNING;
        strcpy(pod->node, world_chance(2) ? "spot" : "other");
        pod->started_s = world_now_s + world_skew_s;
    } else if (pod->phase == POD_RUNNING && !pod->is_ready) {
        pod->is_ready = true;
    } else if (is_let_go(world, job, number)) {
        pod->phase = POD_SUCCEEDED;
        pod->is_ready = false;
        pod->ended_s = world_now_s + world_skew_s;
    } else if (pod->phase == POD_RUNNING && number == object_launcher(job) &&
               pod->workers == job_keys(job) &&
               ready >= (size_t)(job_is_elastic(job) ? job->least : job->workers)) {
        if (is_friendly || world_chance(3)) {
            pod->phase = POD_SUCCEEDED;
            pod->ended_s = world_now_s + world_skew_s;
        } else if (world_chance(2))
            world_fail_pod(pod, world_chance(4) ? EXIT_WAITED : 7, "Error");
    }
}

/* What somebody in a cluster, or the cluster in despair, does. */
void world_disturb(struct observed *world, size_t number)
{
    struct observed_object *pod = &world->object[number];

    if (!pod->exists || observed_is_finished(pod))
        return;
    if (world_chance(10)) { /* deleted, with or without its grace */
        if (world_chance(2))
            observed_lose(pod);
    } else if (world_chance(12))
        pod->is_ending = true;
    else if (world_chance(12)) /* OOM, eviction */
        world_fail_pod(pod, 137, "OOMKilled");
    else if (world_chance(40) && pod->phase == POD_PENDING)
        strcpy(pod->reason,
               world_chance(2) ? "CreateContainerConfigError" : "ImagePullBackOff");
    else if (world_chance(80))
        world->object[OBJECT_LAUNCHER_KEY + random() % 4] = (struct observed_object){ 0 };
}

void world_settle(struct observed *world, const struct job *job, char *log)
{
    static const char letters[] = "+-RALHTNC"; /* of enum action_kind */
    struct plan       plan;
    size_t            i, count, number;

    do {
        observed_see(world, world_now_s);
        plan_make(&plan, job, world, world_now_s);
        for (i = 0; i < plan.count; i++) {
            number = plan.action[i].number;
            log += sprintf(log, "%c", letters[plan.action[i].kind]);
            log += number < OBJECT_PODS        ? sprintf(log, "%zu ", number)
                   : number == OBJECT_LAUNCHER ? sprintf(log, "l ")
                                               : sprintf(log, "w%zu ", number - OBJECT_WORKERS);
        }
        world_carry_out(world, job, &plan, SIZE_MAX);
        count = plan.count;
        plan_clear(&plan);
    } while (count > 0);
    *log = '\0';
}

void world_end(struct observed *world)
{
    size_t i;

    for (i = OBJECT_PODS; i < world->count; i++)
        if (world->object[i].is_ending)
            observed_lose(&world->object[i]);
}
