/* plan.c - see plan.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "life/plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit_code.h"
#include "life/elastic.h"
#include "life/lines.h"
#include "life/lost.h"
#include "life/nodes.h"
#include "objects/objects.h"
#include "xalloc.h"

/* How an attempt failed. */
struct failure {
    int  exit_code;
    bool is_own; /* the program failed, not the cluster */
    char why[sizeof ((struct plan *)NULL)->why];
};

static void add(struct plan *plan, enum action_kind kind, size_t number);
static void add_delete(struct plan *plan, const struct observed *observed, size_t number);
static void keep_lines(struct plan *plan, const struct observed *observed);
static void clean_up(struct plan *plan, const struct job *job, const struct observed *observed);
static void expire(struct plan *plan, const struct job *job, const struct observed *observed,
                   int64_t now_s);
static bool find_end(struct plan *plan, const struct job *job, const struct observed *observed,
                     int64_t now_s);
static bool find_failure(struct failure *failure, const struct job *job,
                         const struct observed *observed, int64_t now_s);
static void find_launcher_failure(struct failure *failure, const struct job *job,
                                  const struct observed_object *pod);
static void tell_lost(struct failure *failure, const struct job *job,
                      const struct observed *observed, size_t number);
static bool fail(struct failure *failure, int exit_code, bool is_own, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static bool may_retry(const struct failure *failure, const struct job *job,
                      const struct observed *observed, int64_t now_s);
static bool find_pods_end(struct plan *plan, const struct job *job,
                          const struct observed *observed, int64_t now_s);
static bool find_pod_end(struct plan *plan, const struct job *job, const struct observed *observed,
                         size_t number, int64_t now_s);
static bool end(struct plan *plan, enum outcome outcome, int exit_code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static bool cannot_start(const struct observed_object *pod, int64_t now_s);
static bool next_attempt(struct plan *plan, const struct job *job, const struct observed *observed,
                         int64_t now_s);
static bool have_all_begun(const struct job *job, const struct observed *observed);
static void replace(struct plan *plan, const struct job *job, const struct observed *observed,
                    int64_t now_s);
static bool change_hosts(struct plan *plan, const struct job *job, const struct observed *observed);
static bool remove_stale(struct plan *plan, const struct job *job, const struct observed *observed,
                         int64_t now_s);
static bool is_stale(const struct job *job, const struct observed *observed, size_t number,
                     int64_t now_s);
static bool remove_from(struct plan *plan, const struct job *job, const struct observed *observed,
                        size_t first, size_t end, int64_t now_s);
static bool create(struct plan *plan, const struct job *job, const struct observed *observed,
                   int64_t now_s);
static bool create_keys(struct plan *plan, const struct job *job, const struct observed *observed,
                        int64_t now_s);
static void tell_wait(struct plan *plan, const struct job *job, const struct observed *observed,
                      int64_t now_s);
static void tell_attempt(struct plan *plan, const struct job *job,
                         const struct observed *observed);

void plan_make(struct plan *plan, const struct job *job, const struct observed *observed,
               int64_t now_s)
{
    const struct observed_object *anchor = &observed->object[OBJECT_ANCHOR];

    *plan = (struct plan){ .attempts = observed->attempts };
    if (anchor->is_ending || (!anchor->exists && observed->uid[0] != '\0')) {
        plan->is_deleted = true;
        snprintf(plan->why, sizeof plan->why, "the job was deleted");
    } else if (!anchor->exists)
        add(plan, ACTION_CREATE, OBJECT_ANCHOR);
    else if (!anchor->is_ours) /* never write to an object that is not ours */
        end(plan, OUTCOME_FOREIGN, EXIT_CREATE,
            "ConfigMap %s already exists and does not belong to this job; delete it, or choose "
            "another name",
            job->name);
    else if (observed->outcome != OUTCOME_NONE) {
        end(plan, observed->outcome, observed->exit_code, "%s", observed->why);
        clean_up(plan, job, observed);
        expire(plan, job, observed, now_s);
    } else if (find_end(plan, job, observed, now_s)) {
        keep_lines(plan, observed);
        add(plan, ACTION_RECORD, OBJECT_ANCHOR); /* before anything is deleted */
    } else if (observed_is_outdated(observed))
        add(plan, ACTION_CHANGE, OBJECT_ANCHOR);
    else if (next_attempt(plan, job, observed, now_s)) {
        keep_lines(plan, observed);
        add(plan, ACTION_ATTEMPT, OBJECT_ANCHOR); /* likewise */
    } else if (observed->is_queued && observed->attempts.launched == 0)
        snprintf(plan->why, sizeof plan->why,
                 "waiting in queue %.200s, until annotation " OBJECT_SUSPEND " is removed",
                 job->queue != NULL ? job->queue : "");
    else
        replace(plan, job, observed, now_s);
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

static void add_delete(struct plan *plan, const struct observed *observed, size_t number)
{
    add(plan, ACTION_DELETE, number);
    memcpy(plan->action[plan->count - 1].uid, observed->object[number].uid,
           sizeof plan->action->uid);
}

/* Keeps the last lines of Pods that failed without being deleted. */
static void keep_lines(struct plan *plan, const struct observed *observed)
{
    size_t room = LINES_PODS, kept = lines_count(observed->lines, observed->attempts.number), i;
    const struct observed_object *pod;

    room -= kept < room ? kept : room;
    for (i = OBJECT_PODS; i < observed->count && room > 0; i++) {
        pod = &observed->object[i];
        if (!pod->exists || !pod->is_ours || pod->is_ending || pod->phase != POD_FAILED ||
            lines_has(observed->lines, pod->uid))
            continue;
        add(plan, ACTION_LINES, i);
        room--;
    }
}

/* Deletes only objects that are ours, and the first worker last. */
static void clean_up(struct plan *plan, const struct job *job, const struct observed *observed)
{
    const struct observed_object *object;
    size_t                        i;

    for (i = observed->count; i-- > OBJECT_LAUNCHER_KEY;) {
        object = &observed->object[i];
        if (!object->exists || !object->is_ours || object->is_ending)
            continue;
        if (i == OBJECT_LAUNCHER_KEY || i == OBJECT_WORKER_KEYS ||
            (i >= OBJECT_PODS && (job->cleanup == CLEANUP_ALL || !object_is_wanted(job, i) ||
                                  (job->cleanup == CLEANUP_UNFINISHED &&
                                   !observed_is_finished(object)))))
            add_delete(plan, observed, i);
    }
}

/* Deletes the whole job when its time is over and nothing else is left to do. */
static void expire(struct plan *plan, const struct job *job, const struct observed *observed,
                   int64_t now_s)
{
    if (plan->count == 0 && job->ttl_s >= 0 && observed->ended_s > 0 &&
        now_s - observed->ended_s >= job->ttl_s)
        add_delete(plan, observed, OBJECT_ANCHOR);
}

static bool find_end(struct plan *plan, const struct job *job, const struct observed *observed,
                     int64_t now_s)
{
    const struct observed_object *launcher = &observed->object[object_launcher(job)];
    struct object_name            name;
    struct failure                failure;
    size_t                        i;

    for (i = OBJECT_ANCHOR; i < observed->count; i++) {
        name = object_name(job, i);
        if (observed_is_foreign(&observed->object[i]))
            return end(plan, OUTCOME_FOREIGN, EXIT_CREATE,
                       "%s %s already exists and does not belong to this job; delete it, or "
                       "choose another --name",
                       object_kinds[name.kind].name, name.text);
    }
    if (launcher->exists && launcher->attempt == observed->attempts.number &&
        launcher->phase == POD_SUCCEEDED)
        return end(plan, OUTCOME_SUCCEEDED, 0, "%s", "");
    if (elastic_has_waited(job, observed))
        return end(plan, OUTCOME_MAX_WAIT, EXIT_WAITED,
                   "too few workers were ready in time%s%s",
                   launcher->message[0] != '\0' ? ": " : "", launcher->message);
    /* If the launcher has waited for a worker in vain, the cluster knows better why. */
    if (launcher->phase == POD_FAILED && launcher->exit_code == EXIT_WAITED &&
        find_pods_end(plan, job, observed, now_s))
        return true;
    if (find_failure(&failure, job, observed, now_s) &&
        !may_retry(&failure, job, observed, now_s))
        return end(plan, OUTCOME_FAILED, failure.exit_code, "%s", failure.why);
    return find_pods_end(plan, job, observed, now_s);
}

static bool find_pods_end(struct plan *plan, const struct job *job,
                          const struct observed *observed, int64_t now_s)
{
    const struct observed_object *launcher = &observed->object[object_launcher(job)];
    size_t                        i;

    /* An elastic launcher decides how long it waits for workers. */
    for (i = 0; i < object_pods(job) && (!elastic_goes_on(job, observed) ||
                                         launcher->phase == POD_PENDING); i++)
        if (find_pod_end(plan, job, observed, object_pod(job, i), now_s))
            return true;
    return false;
}

/* Has this attempt failed? */
static bool find_failure(struct failure *failure, const struct job *job,
                         const struct observed *observed, int64_t now_s)
{
    size_t                        number = object_launcher(job), i;
    const struct observed_object *pod = &observed->object[number];
    struct object_name            name = object_name(job, number);
    bool                          is_message, is_lost;

    if (!pod->exists && observed->attempts.launched == observed->attempts.number)
        return fail(failure, EXIT_LOST, false, "Pod %s was deleted%s%s%s%s", name.text,
                    pod->reason[0] != '\0' ? ": " : "", pod->reason,
                    pod->message[0] != '\0' ? ": " : "", pod->message);
    if (pod->exists && pod->attempt == observed->attempts.number && pod->phase == POD_FAILED) {
        is_lost = pod->exit_code == EXIT_LOST;
        number = lost_find(job, observed, is_lost);
        if (is_lost && number == 0 && observed_for_s(pod, pod->ended_s, now_s) <= PLAN_TELL_S)
            return false;
        find_launcher_failure(failure, job, pod);
        if (number != 0)
            tell_lost(failure, job, observed, number);
        return true;
    }
    for (i = 0; i < object_pods(job) && !elastic_goes_on(job, observed); i++) {
        number = object_pod(job, i);
        pod = &observed->object[number];
        if (!pod->exists || pod->attempt != observed->attempts.number ||
            !observed_is_finished(pod) || pod->ended_s == 0 ||
            observed_for_s(pod, pod->ended_s, now_s) <= PLAN_WORKER_S)
            continue;
        is_message = pod->message[0] != '\0';
        return fail(failure, EXIT_LOST, false, "Pod %s ended before the run: %s%s%s",
                    object_name(job, number).text, pod->reason, is_message ? ": " : "",
                    pod->message);
    }
    return false;
}

static void find_launcher_failure(struct failure *failure, const struct job *job,
                                  const struct observed_object *pod)
{
    bool is_late = strcmp(pod->reason, "DeadlineExceeded") == 0;

    fail(failure, is_late ? EXIT_TIMEOUT : pod->exit_code,
         pod->ended_s > 0 && pod->exit_code < 128, "Pod %s: exit status %d%s%s%s%s",
         object_name(job, object_launcher(job)).text, pod->exit_code,
         pod->reason[0] != '\0' ? ", " : "", pod->reason, pod->message[0] != '\0' ? ": " : "",
         pod->message);
}

/* Appends how the worker ended: the launcher may know only that a node is lost. */
static void tell_lost(struct failure *failure, const struct job *job,
                      const struct observed *observed, size_t number)
{
    const struct observed_object *pod = &observed->object[number];
    size_t                        length = strlen(failure->why);
    char                          how[40] = "was deleted";

    if (pod->exists && pod->phase == POD_FAILED)
        snprintf(how, sizeof how, "has ended, exit status %d", pod->exit_code);
    snprintf(failure->why + length, sizeof failure->why - length, "; Pod %s %s%s%s%s%s",
             object_name(job, number).text, how, pod->reason[0] != '\0' ? ", " : "", pod->reason,
             pod->message[0] != '\0' ? ": " : "", pod->message);
}

static bool fail(struct failure *failure, int exit_code, bool is_own, const char *format, ...)
{
    va_list args;

    failure->exit_code = exit_code;
    failure->is_own = is_own;
    va_start(args, format);
    vsnprintf(failure->why, sizeof failure->why, format, args);
    va_end(args);
    return true;
}

/* Another attempt would exceed the deadline, too, or make no progress again. */
static bool may_retry(const struct failure *failure, const struct job *job,
                      const struct observed *observed, int64_t now_s)
{
    const struct attempts *attempts = &observed->attempts;
    bool is_final = job->restart == RESTART_EXIT_CODE || failure->exit_code == EXIT_NO_PROGRESS;

    if (job->restart == RESTART_NEVER || attempts->failures >= job->backoff_limit ||
        (failure->is_own && is_final))
        return false;
    return job->deadline_s == 0 || (failure->exit_code != EXIT_TIMEOUT &&
            (attempts->started_s == 0 || now_s - attempts->started_s < job->deadline_s));
}

/* Does the job end because this Pod cannot start? */
static bool find_pod_end(struct plan *plan, const struct job *job, const struct observed *observed,
                         size_t number, int64_t now_s)
{
    const struct observed_object *pod = &observed->object[number];
    struct object_name            name = object_name(job, number);

    if (!pod->exists || pod->is_ending || pod->phase != POD_PENDING)
        return false;
    if (cannot_start(pod, now_s))
        return end(plan, OUTCOME_STUCK, EXIT_UNREACHABLE, "Pod %s cannot start: %s%s%s", name.text,
                   pod->reason, pod->message[0] != '\0' ? ": " : "", pod->message);
    if (now_s - pod->created_s > job_max_wait_s(job))
        return end(plan, OUTCOME_MAX_WAIT, EXIT_WAITED,
                   "Pod %s did not start within %" PRId64 " s: %s%s%s", name.text,
                   job_max_wait_s(job), pod->reason[0] != '\0' ? pod->reason : "it is pending",
                   pod->message[0] != '\0' ? ": " : "", pod->message);
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

    for (i = 0; i < sizeof at_once / sizeof at_once[0]; i++)
        if (strcmp(pod->reason, at_once[i]) == 0)
            return true;
    for (i = 0; i < sizeof later / sizeof later[0]; i++)
        if (strcmp(pod->reason, later[i]) == 0 && pod->started_s > 0)
            return observed_for_s(pod, pod->started_s, now_s) > PLAN_IMAGE_S;
    return false;
}

/* Finds what to store before a launcher is deleted, and once it exists. False: nothing. */
static bool next_attempt(struct plan *plan, const struct job *job, const struct observed *observed,
                         int64_t now_s)
{
    const struct observed_object *launcher = &observed->object[object_launcher(job)];
    struct attempts              *next = &plan->attempts;
    bool           is_launched = observed->attempts.launched == observed->attempts.number;
    struct failure failure;

    if (find_failure(&failure, job, observed, now_s)) {
        next->number++;
        next->failures++;
        snprintf(next->last, sizeof next->last, "%.399s", failure.why);
        snprintf(plan->why, sizeof plan->why, "%.600s; retry %" PRId64 " of %" PRId64, failure.why,
                 next->failures, job->backoff_limit);
    } else if (is_launched && job->is_paused) {
        next->number++;
        next->started_s = 0;
        next->is_resumed |= have_all_begun(job, observed);
        snprintf(next->last, sizeof next->last, "it was paused");
    } else if (is_launched && launcher->workers != job_keys(job)) {
        next->number++;
        snprintf(next->last, sizeof next->last,
                 "it was scaled from %" PRId64 " to %" PRId64 " workers", launcher->workers,
                 job->workers);
    } else if (!is_launched && launcher->exists && launcher->attempt == next->number) {
        next->launched = next->number;
        next->started_s = next->started_s > 0 ? next->started_s : now_s;
    } else
        return false;
    return true;
}

/* Have all Pods started? Only then are their init containers done. */
static bool have_all_begun(const struct job *job, const struct observed *observed)
{
    const struct observed_object *pod;
    size_t                        i;

    for (i = 0; i < object_pods(job); i++) {
        pod = &observed->object[object_pod(job, i)];
        if (!pod->exists || pod->phase == POD_PENDING)
            return false;
    }
    return true;
}

/* Replaces stale objects, and creates missing ones. */
static void replace(struct plan *plan, const struct job *job, const struct observed *observed,
                    int64_t now_s)
{
    if (change_hosts(plan, job, observed) || remove_stale(plan, job, observed, now_s) ||
        job->is_paused || create(plan, job, observed, now_s))
        tell_wait(plan, job, observed, now_s);
    else
        add(plan, ACTION_RECORD, OBJECT_ANCHOR);
    if (plan->count == 0 && nodes_are_due(job, observed))
        add(plan, ACTION_NODES, OBJECT_HOSTS);
}

/* Changes an elastic job's hosts, then the launcher's Pod, which else sees that much later. */
static bool change_hosts(struct plan *plan, const struct job *job, const struct observed *observed)
{
    const struct observed_object *launcher = &observed->object[object_launcher(job)];
    const struct observed_object *hosts = &observed->object[OBJECT_HOSTS];

    if (!job_is_elastic(job) || !hosts->exists || hosts->hosts == 0)
        return false;
    plan->hosts = elastic_hosts(job, observed);
    if (plan->hosts != hosts->hosts)
        add(plan, ACTION_HOSTS, OBJECT_HOSTS);
    else if (elastic_goes_on(job, observed) && launcher->hosts != hosts->hosts)
        add(plan, ACTION_TELL, object_launcher(job));
    return plan->count > 0;
}

/* Removes the launcher first if it runs, so that it ends the run, then the other Pods, then the
 * objects that they need. True while there are stale objects. */
static bool remove_stale(struct plan *plan, const struct job *job, const struct observed *observed,
                         int64_t now_s)
{
    bool may_run = observed->object[OBJECT_LAUNCHER].phase != POD_PENDING;

    if (elastic_goes_on(job, observed)) { /* the run need not wait for these */
        remove_from(plan, job, observed, OBJECT_PODS, observed->count, now_s);
        return false;
    }

    return (job->launcher == LAUNCHER_POD && may_run &&
            remove_from(plan, job, observed, OBJECT_LAUNCHER, OBJECT_LAUNCHER + 1, now_s)) ||
           remove_from(plan, job, observed, OBJECT_PODS, observed->count, now_s) ||
           remove_from(plan, job, observed, OBJECT_LAUNCHER_KEY, OBJECT_GROUP + 1, now_s);
}

/* Removes the first worker last. */
static bool remove_from(struct plan *plan, const struct job *job, const struct observed *observed,
                        size_t first, size_t end, int64_t now_s)
{
    size_t i;
    bool   is_any = false;

    for (i = end; i-- > first;) {
        if (!is_stale(job, observed, i, now_s))
            continue;
        is_any = true;
        if (!observed->object[i].is_ending)
            add_delete(plan, observed, i);
    }
    plan->is_unsettled |= is_any;
    return is_any;
}

static bool is_stale(const struct job *job, const struct observed *observed, size_t number,
                     int64_t now_s)
{
    const struct observed_object *object = &observed->object[number];

    if (!object->exists)
        return false;
    if (job_is_elastic(job) && number >= OBJECT_WORKERS && object->workers == job_keys(job) &&
        number != object_launcher(job) &&
        (elastic_goes_on(job, observed) || !object_is_wanted(job, number)))
        return elastic_may_go(job, observed, number, now_s);
    if (object->workers != job_keys(job) || !object_is_wanted(job, number))
        return true;
    if (number < OBJECT_PODS)
        return false;
    return job->is_paused || (object->attempt != observed->attempts.number &&
                              (number == object_launcher(job) || observed_is_finished(object)));
}

/* Creates missing objects. False: they cannot be created any more, so the job ends. */
static bool create(struct plan *plan, const struct job *job, const struct observed *observed,
                   int64_t now_s)
{
    size_t i, number, before = plan->count;
    bool   was_unsettled = plan->is_unsettled;

    if (!create_keys(plan, job, observed, now_s))
        return false;
    if (plan->count > before || plan->is_unsettled != was_unsettled)
        return true; /* create the two Secrets first */
    for (i = OBJECT_HOSTS; i < OBJECT_PODS; i++)
        if (object_is_wanted(job, i) && !observed->object[i].exists)
            add(plan, ACTION_CREATE, i);
    for (i = 0; i < object_pods(job); i++) {
        number = object_pod(job, i);
        if (!observed->object[number].exists && !lost_ends_run(job, observed, number, now_s))
            add(plan, ACTION_CREATE, number);
    }
    return true;
}

/* The two Secrets match only if they were made together. */
static bool create_keys(struct plan *plan, const struct job *job, const struct observed *observed,
                        int64_t now_s)
{
    bool   has_launcher = observed->object[OBJECT_LAUNCHER_KEY].exists;
    bool   has_workers = observed->object[OBJECT_WORKER_KEYS].exists;
    size_t missing = has_launcher ? OBJECT_WORKER_KEYS : OBJECT_LAUNCHER_KEY, pods = 0, i;
    size_t present = has_launcher ? OBJECT_LAUNCHER_KEY : OBJECT_WORKER_KEYS;

    if (has_launcher && has_workers)
        return true;
    for (i = OBJECT_PODS; i < observed->count; i++)
        pods += observed->object[i].exists;
    if (pods == object_pods(job))
        return true; /* each Pod has its keys already */
    if (pods > 0) {
        end(plan, OUTCOME_STUCK, EXIT_UNREACHABLE, "Secret %s was deleted",
            object_name(job, missing).text);
        return false;
    }
    if (!has_launcher && !has_workers) {
        add(plan, ACTION_CREATE, OBJECT_LAUNCHER_KEY);
        add(plan, ACTION_CREATE, OBJECT_WORKER_KEYS);
    } else if (now_s - observed->object[present].created_s > PLAN_PAIR_S)
        add_delete(plan, observed, present);
    else
        plan->is_unsettled = true;
    return true;
}

static void tell_wait(struct plan *plan, const struct job *job, const struct observed *observed,
                      int64_t now_s)
{
    const struct observed_object *pod;
    size_t                        i, waiting = 0, first = 0, ending = 0;
    bool                          is_leaving, has_message;

    for (i = OBJECT_PODS; i < observed->count; i++)
        ending += observed->object[i].exists;
    if (job->is_paused) {
        snprintf(plan->why, sizeof plan->why, ending > 0 ? "paused; %zu Pods are ending" : "paused",
                 ending);
        return;
    }
    for (i = 0; i < object_pods(job); i++) {
        pod = &observed->object[object_pod(job, i)];
        if (pod->exists && !is_stale(job, observed, object_pod(job, i), now_s) &&
            (observed_is_finished(pod) || pod->is_ready))
            continue;
        first = waiting++ == 0 ? object_pod(job, i) : first;
    }
    if (waiting == 0) {
        plan->is_running = true;
        snprintf(plan->why, sizeof plan->why, "running%s",
                 job->is_debug ? " in debug mode, without a run" : "");
        tell_attempt(plan, job, observed);
        return;
    }
    pod = &observed->object[first];
    is_leaving = pod->is_ending || is_stale(job, observed, first, now_s);
    has_message = !is_leaving && pod->message[0] != '\0';
    snprintf(plan->why, sizeof plan->why, "waiting for %zu of %zu Pods; %s: %s%s%s", waiting,
             object_pods(job), object_name(job, first).text,
             is_leaving               ? "it will be replaced"
             : pod->reason[0] != '\0' ? pod->reason
             : lost_ends_run(job, observed, first, now_s) ? "it was deleted; the run will end"
             : !pod->exists           ? "not created yet"
             : pod->phase == POD_RUNNING ? "not ready yet"
                                      : pod_phases[pod->phase],
             has_message ? ": " : "", has_message ? pod->message : "");
    tell_attempt(plan, job, observed);
}

/* Appends " (attempt 2, 1 of 3 retries used)"; a pause also begins another attempt. */
static void tell_attempt(struct plan *plan, const struct job *job, const struct observed *observed)
{
    const struct attempts *attempts = &observed->attempts;
    size_t                 length = strlen(plan->why);

    if (attempts->number > 1 && job->backoff_limit == 0)
        snprintf(plan->why + length, sizeof plan->why - length, " (attempt %" PRId64 ")",
                 attempts->number);
    else if (attempts->number > 1)
        snprintf(plan->why + length, sizeof plan->why - length,
                 " (attempt %" PRId64 ", %" PRId64 " of %" PRId64 " retries used)",
                 attempts->number, attempts->failures, job->backoff_limit);
}
