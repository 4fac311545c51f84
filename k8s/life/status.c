/* status.c - see status.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "life/status.h"

#include <string.h>
#include <time.h>

#include "job/template.h"
#include "life/elastic.h"
#include "objects/objects.h"

/* The number of Pods in each state. */
struct tally {
    int64_t creating, deleted, failed, pending, running, succeeded, unknown, ready;
};

static void        count_pods(struct tally *tally, const struct job *job,
                              const struct observed *observed);
static const char *phase_of(const struct job *job, const struct observed *observed,
                            const struct plan *plan, const struct tally *tally);
static json_t *conditions(const char *phase, const char *why, bool is_paused,
                          const struct tally *tally);
static json_t *condition(const char *type, bool is_true, const char *reason, const char *why);
static const json_t *find_condition(const json_t *status, const json_t *type);
static json_t *containers(const struct job *job, const struct observed_object *pod);
static json_t *task(const struct job *job, const struct observed *observed, const char *type,
                    size_t first, size_t end);

json_t *status_make(const struct job *job, const struct observed *observed,
                    const struct plan *plan)
{
    struct tally tally = { 0 };
    json_t      *why = json_string(plan->why), *tasks, *aggregate;
    const char  *phase;

    count_pods(&tally, job, observed);
    phase = phase_of(job, observed, plan, &tally);
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
                     conditions(phase, plan->why, job->is_paused, &tally), "tasks", tasks,
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

static const char *phase_of(const struct job *job, const struct observed *observed,
                            const struct plan *plan, const struct tally *tally)
{
    if (plan->outcome != OUTCOME_NONE)
        return plan->outcome == OUTCOME_SUCCEEDED ? "Succeeded" : "Failed";
    if (elastic_goes_on(job, observed) &&
        observed->object[object_launcher(job)].phase == POD_RUNNING)
        return "Running"; /* whatever state the other Pods are in */
    if (tally->unknown > 0)
        return "Unknown";
    return !job->is_paused && tally->running == (int64_t)object_pods(job) ? "Running" : "Pending";
}

/* why: what the job waits for, or how it ended. */
static json_t *conditions(const char *phase, const char *why, bool is_paused,
                          const struct tally *tally)
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
                                           : "PodsMissing",
                  ""),
        condition("Running", is_running,
                  is_running  ? "PodsRunning"
                  : has_ended ? "Ended"
                  : is_paused ? "Paused"
                              : "Waiting",
                  has_ended ? "" : why),
        condition("ReplicaFailure", tally->failed > 0,
                  tally->failed > 0 ? "PodFailed" : "NoFailure", ""),
        condition("Completed", has_succeeded, has_succeeded ? "Succeeded" : "NotSucceeded",
                  ""),
        condition("Failed", has_failed, has_failed ? "Failed" : "NotFailed",
                  has_failed ? why : ""));
}

static json_t *condition(const char *type, bool is_true, const char *reason, const char *why)
{
    json_t *message = json_string(why); /* NULL: truncated within a character */

    return json_pack("{ssssssso}", "type", type, "status", is_true ? "True" : "False", "reason",
                     reason, "message", message != NULL ? message : json_string(""));
}

json_t *status_refuse(const char *reason, const char *why)
{
    struct tally none = { 0 };
    json_t      *text = json_string(why), *list = conditions("Failed", why, false, &none);

    json_object_set_new(json_array_get(list, json_array_size(list) - 1), "reason",
                        json_string(reason));
    return json_pack("{sssoso}", "phase", "Failed", "reason",
                     text != NULL ? text : json_string(""), "conditions", list);
}

bool status_stamp(json_t *status, const json_t *resource, int64_t now_s)
{
    const json_t *old = json_object_get(resource, "status"), *before;
    json_t       *generation =
        json_object_get(json_object_get(resource, "metadata"), "generation"), *one, *at;
    char          stamp[32];
    time_t        now = (time_t)now_s;
    struct tm     tm;
    size_t        i;

    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    json_array_foreach(json_object_get(status, "conditions"), i, one) {
        before = find_condition(old, json_object_get(one, "type"));
        at = json_object_get(before, "lastTransitionTime");
        if (at != NULL &&
            json_equal(json_object_get(before, "status"), json_object_get(one, "status")))
            json_object_set(one, "lastTransitionTime", at);
        else
            json_object_set_new(one, "lastTransitionTime", json_string(stamp));
    }
    if (generation != NULL)
        json_object_set(status, "observedGeneration", generation);
    return !json_equal(status, old);
}

static const json_t *find_condition(const json_t *status, const json_t *type)
{
    json_t *one;
    size_t  i;

    json_array_foreach(json_object_get(status, "conditions"), i, one)
        if (json_equal(json_object_get(one, "type"), type))
            return one;
    return NULL;
}

/* Describes the Pods of a role, which object_pod() counts from first to end. */
static json_t *task(const struct job *job, const struct observed *observed, const char *type,
                    size_t first, size_t end)
{
    const struct observed_object *pod;
    json_t                       *list = json_array(), *one;
    size_t                        i;

    for (i = first; i < end; i++) {
        pod = &observed->object[object_pod(job, i)];
        one = json_pack("{ssssssssso}", "name", object_name(job, object_pod(job, i)).text, "uid",
                        pod->uid, "phase", pod->exists ? pod_phases[pod->phase] : "Deleted", "node",
                        pod->node, "containers", containers(job, pod));
        json_array_append_new(list, one);
    }
    return json_pack("{sssIso}", "type", type, "restartCount",
                     (json_int_t)observed->attempts.failures, "status", list);
}

/* Describes the training container. */
static json_t *containers(const struct job *job, const struct observed_object *pod)
{
    json_t *name = json_object_get(template_container(job->template), "name"), *one;

    if (!pod->exists || name == NULL)
        return json_array();
    one = json_pack("{sOss}", "name", name, "state",
                    observed_is_finished(pod)    ? "Terminated"
                    : pod->phase == POD_RUNNING ? "Running"
                                                : "Waiting");
    if (observed_is_finished(pod))
        json_object_set_new(one, "exitCode", json_integer(pod->exit_code));
    if (pod->reason[0] != '\0')
        json_object_set_new(one, "reason", json_string(pod->reason));
    return json_pack("[o]", one);
}
