/* status.c - see status.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "life/status.h"

#include <string.h>

#include "objects/objects.h"

/* How many Pods are in which state. */
struct tally {
    int64_t creating, deleted, failed, pending, running, succeeded, unknown, ready;
};

static void        count_pods(struct tally *tally, const struct job *job,
                              const struct observed *observed);
static const char *phase_of(const struct job *job, const struct plan *plan,
                            const struct tally *tally);
static json_t *conditions(const char *phase, bool is_paused, const struct tally *tally);
static json_t *condition(const char *type, bool is_true, const char *reason);
static json_t *task(const struct job *job, const struct observed *observed, const char *type,
                    size_t first, size_t end);

json_t *status_make(const struct job *job, const struct observed *observed,
                    const struct plan *plan)
{
    struct tally tally = { 0 };
    json_t      *why = json_string(plan->why), *tasks, *aggregate;
    const char  *phase;

    count_pods(&tally, job, observed);
    phase = phase_of(job, plan, &tally);
    tasks = json_pack("[o]", task(job, observed, "worker", 0, (size_t)job->workers));
    if (job->launcher == LAUNCHER_POD)
        json_array_append_new(tasks, task(job, observed, "launcher", (size_t)job->workers,
                                          object_pods(job)));
    aggregate = json_pack("{sIsIsIsIsIsIsI}", "creating", (json_int_t)tally.creating, "deleted",
                          (json_int_t)tally.deleted, "failed", (json_int_t)tally.failed, "pending",
                          (json_int_t)tally.pending, "running", (json_int_t)tally.running,
                          "succeeded", (json_int_t)tally.succeeded, "unknown",
                          (json_int_t)tally.unknown);
    return json_pack("{ss so so so so sI sI sI sI si}", "phase", phase, "reason",
                     why != NULL ? why : json_string(""), "conditions",
                     conditions(phase, job->is_paused, &tally), "tasks", tasks,
                     "aggregate", aggregate, "attempt", (json_int_t)observed->attempts.number,
                     "backoffCount", (json_int_t)observed->attempts.failures, "workers",
                     (json_int_t)job->workers, "ready", (json_int_t)tally.ready, "exitCode",
                     plan->exit_code);
}

static void count_pods(struct tally *tally, const struct job *job,
                       const struct observed *observed)
{
    const struct observed_object *pod;
    size_t                        i;

    for (i = 0; i < object_pods(job); i++) {
        pod = &observed->object[object_pod(job, i)];
        tally->ready += pod->exists && pod->is_ready && i < (size_t)job->workers;
        if (!pod->exists)
            tally->creating++;
        else if (pod->is_ending)
            tally->deleted++;
        else if (pod->phase == POD_PENDING)
            tally->pending++;
        else if (pod->phase == POD_RUNNING)
            tally->running++;
        else if (pod->phase == POD_SUCCEEDED)
            tally->succeeded++;
        else if (pod->phase == POD_FAILED)
            tally->failed++;
        else
            tally->unknown++;
    }
}

static const char *phase_of(const struct job *job, const struct plan *plan,
                            const struct tally *tally)
{
    if (plan->outcome != OUTCOME_NONE)
        return plan->outcome == OUTCOME_SUCCEEDED ? "Succeeded" : "Failed";
    if (tally->unknown > 0)
        return "Unknown";
    return !job->is_paused && tally->running == (int64_t)object_pods(job) ? "Running" : "Pending";
}

static json_t *conditions(const char *phase, bool is_paused, const struct tally *tally)
{
    bool is_running = strcmp(phase, "Running") == 0;
    bool has_succeeded = strcmp(phase, "Succeeded") == 0;
    bool has_failed = strcmp(phase, "Failed") == 0, has_ended = has_succeeded || has_failed;
    bool is_complete = tally->creating == 0 && tally->deleted == 0;

    return json_pack(
        "[ooooo]",
        condition("Initialized", has_ended || is_complete,
                  has_ended || is_complete ? "PodsCreated"
                  : is_paused              ? "Paused"
                                           : "PodsMissing"),
        condition("Running", is_running,
                  is_running  ? "PodsRunning"
                  : has_ended ? "Ended"
                  : is_paused ? "Paused"
                              : "Waiting"),
        condition("ReplicaFailure", tally->failed > 0,
                  tally->failed > 0 ? "PodFailed" : "NoFailure"),
        condition("Completed", has_succeeded, has_succeeded ? "Succeeded" : "NotSucceeded"),
        condition("Failed", has_failed, has_failed ? "Failed" : "NotFailed"));
}

static json_t *condition(const char *type, bool is_true, const char *reason)
{
    return json_pack("{ssssss}", "type", type, "status", is_true ? "True" : "False", "reason",
                     reason);
}

/* The Pods of a role, of those that object_pod() counts. */
static json_t *task(const struct job *job, const struct observed *observed, const char *type,
                    size_t first, size_t end)
{
    const struct observed_object *pod;
    json_t                       *list = json_array();
    size_t                        i;

    for (i = first; i < end; i++) {
        pod = &observed->object[object_pod(job, i)];
        json_array_append_new(
            list, json_pack("{ssssssss}", "name", object_name(job, object_pod(job, i)).text, "uid",
                            pod->uid, "phase", pod->exists ? pod_phases[pod->phase] : "Deleted",
                            "node", pod->node));
    }
    return json_pack("{sssIso}", "type", type, "restartCount",
                     (json_int_t)observed->attempts.failures, "status", list);
}
