/* plan.c - see plan.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "life/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit_code.h"
#include "objects/objects.h"
#include "xalloc.h"

static void add(struct plan *plan, enum action_kind kind, size_t number);
static void clean_up(struct plan *plan, const struct job *job, const struct observed *observed);
static bool find_end(struct plan *plan, const struct job *job, const struct observed *observed,
                     int64_t now_s);
static bool find_pod_end(struct plan *plan, const struct job *job, const struct observed *observed,
                         size_t number, int64_t now_s);
static bool end(struct plan *plan, enum outcome outcome, int exit_code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static bool cannot_start(const struct observed_object *pod, int64_t now_s);
static bool create(struct plan *plan, const struct job *job, const struct observed *observed);
static bool create_keys(struct plan *plan, const struct job *job, const struct observed *observed);
static void tell_wait(struct plan *plan, const struct job *job, const struct observed *observed);

void plan_make(struct plan *plan, const struct job *job, const struct observed *observed,
               int64_t now_s)
{
    const struct observed_object *anchor = &observed->object[OBJECT_ANCHOR];

    *plan = (struct plan){ 0 };
    if (anchor->is_ending || (!anchor->exists && observed->uid[0] != '\0')) {
        plan->is_deleted = true;
        snprintf(plan->why, sizeof plan->why, "the job was deleted");
    } else if (!anchor->exists)
        add(plan, ACTION_CREATE, OBJECT_ANCHOR);
    else if (observed->outcome != OUTCOME_NONE) {
        end(plan, observed->outcome, observed->exit_code, "%s", observed->why);
        clean_up(plan, job, observed);
    } else if (find_end(plan, job, observed, now_s) || !create(plan, job, observed))
        add(plan, ACTION_RECORD, OBJECT_ANCHOR); /* before anything is deleted */
    else
        tell_wait(plan, job, observed);
}

void plan_clear(struct plan *plan)
{
    free(plan->action);
    *plan = (struct plan){ 0 };
}

static void add(struct plan *plan, enum action_kind kind, size_t number)
{
    plan->action = xreallocarray(plan->action, plan->count + 1, sizeof *plan->action);
    plan->action[plan->count++] = (struct action){ .kind = kind, .number = number };
}

/* Of our own objects only, and the first worker last. */
static void clean_up(struct plan *plan, const struct job *job, const struct observed *observed)
{
    const struct observed_object *object;
    size_t                        i;

    for (i = observed->count; i-- > OBJECT_LAUNCHER_KEY;) {
        object = &observed->object[i];
        if (!object->exists || !object->is_ours || object->is_ending)
            continue;
        if (i == OBJECT_LAUNCHER_KEY || i == OBJECT_WORKER_KEYS ||
            (i >= OBJECT_WORKERS && (job->cleanup == CLEANUP_ALL ||
                                     (job->cleanup == CLEANUP_UNFINISHED &&
                                      !observed_is_finished(object)))))
            add(plan, ACTION_DELETE, i);
    }
}

static bool find_end(struct plan *plan, const struct job *job, const struct observed *observed,
                     int64_t now_s)
{
    const struct observed_object *launcher = &observed->object[object_launcher(job)];
    struct object_name            name;
    size_t                        i;

    for (i = OBJECT_ANCHOR; i < observed->count; i++) {
        name = object_name(job, i);
        if (observed->object[i].exists && !observed->object[i].is_ours)
            return end(plan, OUTCOME_FOREIGN, EXIT_CREATE,
                       "%s %s is there and is not of this job; delete it, or take another --name",
                       object_kinds[name.kind].name, name.text);
    }
    if (launcher->exists && launcher->phase == POD_SUCCEEDED)
        return end(plan, OUTCOME_SUCCEEDED, 0, "%s", "");
    name = object_name(job, object_launcher(job));
    if (launcher->exists && launcher->phase == POD_FAILED)
        return end(plan, OUTCOME_FAILED,
                   strcmp(launcher->reason, "DeadlineExceeded") == 0 ? EXIT_TIMEOUT
                                                                     : launcher->exit_code,
                   "Pod %s: exit status %d%s%s%s%s",
                   name.text, launcher->exit_code, launcher->reason[0] != '\0' ? ", " : "",
                   launcher->reason, launcher->message[0] != '\0' ? ": " : "", launcher->message);
    for (i = OBJECT_WORKERS; i < observed->count; i++)
        if (observed->object[i].exists && find_pod_end(plan, job, observed, i, now_s))
            return true;
    return false;
}

/* The job ends because of this Pod, which is not a launcher that has ended. */
static bool find_pod_end(struct plan *plan, const struct job *job, const struct observed *observed,
                         size_t number, int64_t now_s)
{
    const struct observed_object *pod = &observed->object[number];
    struct object_name            name = object_name(job, number);

    if (cannot_start(pod, now_s))
        return end(plan, OUTCOME_STUCK, EXIT_UNREACHABLE, "Pod %s cannot start: %s%s%s", name.text,
                   pod->reason, pod->message[0] != '\0' ? ": " : "", pod->message);
    if (pod->phase == POD_PENDING && now_s - observed->created_s > job_max_wait_s(job))
        return end(plan, OUTCOME_MAX_WAIT, EXIT_WAITED,
                   "Pod %s did not start within %" PRId64 " s: %s%s%s", name.text,
                   job_max_wait_s(job), pod->reason[0] != '\0' ? pod->reason : "it is pending",
                   pod->message[0] != '\0' ? ": " : "", pod->message);
    if (observed_is_finished(pod) && pod->ended_s > 0 && now_s - pod->ended_s > PLAN_WORKER_S)
        return end(plan, OUTCOME_FAILED, EXIT_LOST, "Pod %s ended before the run did: %s%s%s",
                   name.text, pod->reason, pod->message[0] != '\0' ? ": " : "", pod->message);
    return false;
}

static bool end(struct plan *plan, enum outcome outcome, int exit_code, const char *format, ...)
{
    va_list args;

    plan->outcome = outcome;
    plan->exit_code = exit_code;
    va_start(args, format);
    vsnprintf(plan->why, sizeof plan->why, format, args);
    va_end(args);
    return true;
}

static bool cannot_start(const struct observed_object *pod, int64_t now_s)
{
    static const char *const at_once[] = { "InvalidImageName", "ErrImageNeverPull",
                                           "CreateContainerConfigError", "CreateContainerError",
                                           "RunContainerError", "StartError" };
    static const char *const later[] = { "ImagePullBackOff", "ErrImagePull" };
    size_t                   i;

    if (pod->phase != POD_PENDING)
        return false;
    for (i = 0; i < sizeof at_once / sizeof at_once[0]; i++)
        if (strcmp(pod->reason, at_once[i]) == 0)
            return true;
    for (i = 0; i < sizeof later / sizeof later[0]; i++)
        if (strcmp(pod->reason, later[i]) == 0 && pod->started_s > 0)
            return now_s - pod->started_s > PLAN_IMAGE_S;
    return false;
}

/* What is missing. False if that cannot be created any more: the job ends. */
static bool create(struct plan *plan, const struct job *job, const struct observed *observed)
{
    size_t i;

    if (!create_keys(plan, job, observed))
        return false;
    if (plan->count > 0)
        return true; /* first the Secrets, as a pair */
    for (i = OBJECT_HOSTS; i < observed->count; i++)
        if (!observed->object[i].exists)
            add(plan, ACTION_CREATE, i);
    return true;
}

/* The two Secrets fit each other only if they were made together. */
static bool create_keys(struct plan *plan, const struct job *job, const struct observed *observed)
{
    bool   has_launcher = observed->object[OBJECT_LAUNCHER_KEY].exists;
    bool   has_workers = observed->object[OBJECT_WORKER_KEYS].exists;
    size_t missing = has_launcher ? OBJECT_WORKER_KEYS : OBJECT_LAUNCHER_KEY, pods = 0, i;

    if (has_launcher && has_workers)
        return true;
    for (i = OBJECT_WORKERS; i < observed->count; i++)
        pods += observed->object[i].exists;
    if (pods == observed->count - OBJECT_WORKERS)
        return true; /* each has what it needs */
    if (pods > 0) {
        end(plan, OUTCOME_STUCK, EXIT_UNREACHABLE, "Secret %s was deleted",
            object_name(job, missing).text);
        return false;
    }
    if (has_launcher || has_workers)
        add(plan, ACTION_DELETE, has_launcher ? OBJECT_LAUNCHER_KEY : OBJECT_WORKER_KEYS);
    else {
        add(plan, ACTION_CREATE, OBJECT_LAUNCHER_KEY);
        add(plan, ACTION_CREATE, OBJECT_WORKER_KEYS);
    }
    return true;
}

static void tell_wait(struct plan *plan, const struct job *job, const struct observed *observed)
{
    const struct observed_object *pod;
    size_t                        i, waiting = 0, first = 0;

    for (i = OBJECT_WORKERS; i < observed->count; i++) {
        pod = &observed->object[i];
        if (pod->exists && (observed_is_finished(pod) || pod->is_ready))
            continue;
        first = waiting++ == 0 ? i : first;
    }
    if (waiting == 0) {
        snprintf(plan->why, sizeof plan->why, "running");
        return;
    }
    pod = &observed->object[first];
    snprintf(plan->why, sizeof plan->why, "waiting for %zu of %zu Pods; %s: %s%s%s", waiting,
             observed->count - OBJECT_WORKERS, object_name(job, first).text,
             !pod->exists             ? "not created yet"
             : pod->reason[0] != '\0' ? pod->reason
             : pod->phase == POD_RUNNING ? "not ready yet"
                                      : pod_phases[pod->phase],
             pod->message[0] != '\0' ? ": " : "", pod->message);
}
