/* observed.c - see observed.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "life/observed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "err.h"
#include "job/template.h"
#include "life/ending.h"
#include "objects/objects.h"
#include "xalloc.h"

const char *const outcome_names[OUTCOMES] = {
    "", "Succeeded", "Failed", "CannotStart", "MaxWaitTimeExceeded", "NameTaken",
};
const char *const pod_phases[] = { "Pending", "Running", "Succeeded", "Failed", "Unknown", NULL };

static size_t find(struct observed *observed, const struct job *job, const char *kind,
                   const char *name);
static size_t find_worker(struct observed *observed, const char *index);
static void   grow(struct observed *observed, size_t count);
static uint64_t version_of(const json_t *metadata);
static bool   is_of_another(const struct observed *observed, const json_t *anchor);
static enum seen_state state_of(const struct observed_object *pod);
static void take_anchor(struct observed *observed, const json_t *document);
static void take_resource(struct observed *observed, const json_t *metadata);
static void take_job(struct observed *observed, const char *text);
static void take_attempts(struct attempts *attempts, const char *text);
static void take_lines(struct observed *observed, const char *text);
static void take_nodes(struct observed *observed, const json_t *metadata);
static int64_t label(const json_t *metadata, const char *name);
static int64_t number_of(const json_t *texts, const char *name);
static void take_pod(struct observed_object *pod, const struct job *job, const json_t *document);
static void take_conditions(struct observed_object *pod, const json_t *status);
static void take_disruption(struct observed_object *pod, const json_t *status);
static void take_container(struct observed_object *pod, const char *name, const json_t *list);
static void take_reason(struct observed_object *pod, const json_t *state);
static const char *last_lines(const char *text, size_t room);
static bool is_owned(const json_t *metadata, const char *uid);
static void keep(char *to, size_t room, const json_t *text);
static void keep_text(char *to, size_t room, const char *text);
static int  index_of(const char *const *names, const char *name, int otherwise);

void observed_init(struct observed *observed, const struct job *job)
{
    *observed = (struct observed){ .attempts.number = 1 };
    observed_fit(observed, job);
}

void observed_fit(struct observed *observed, const struct job *job)
{
    grow(observed, objects_count(job));
}

void observed_clear(struct observed *observed)
{
    free(observed->object);
    free(observed->job);
    json_decref(observed->lines);
    json_decref(observed->nodes);
    json_decref(observed->wanted);
    *observed = (struct observed){ 0 };
}

void observed_take(struct observed *observed, const struct job *job, const json_t *document,
                   bool is_gone)
{
    const json_t           *metadata = json_object_get(document, "metadata");
    const char             *name = json_string_value(json_object_get(metadata, "name"));
    const char             *kind = json_string_value(json_object_get(document, "kind"));
    struct observed_object *object;
    size_t                  i = find(observed, job, kind, name);
    uint64_t                version = version_of(metadata);

    if (i == SIZE_MAX)
        return;
    object = &observed->object[i];
    /* The watch may have delivered a later version before the answer to a request was read. */
    if (version != 0 && version < object->version)
        return;
    observed->changes++;
    if (i == OBJECT_ANCHOR && is_of_another(observed, metadata)) {
        if (is_gone)
            return; /* the previous anchor */
        is_gone = true;
    }
    observed_lose(object);
    object->exists = !is_gone;
    object->version = version;
    if (is_gone && i >= OBJECT_PODS) /* its last state says why it is gone */
        take_disruption(object, json_object_get(document, "status"));
    if (is_gone)
        return;
    object->is_ending = json_object_get(metadata, "deletionTimestamp") != NULL;
    keep(object->uid, sizeof object->uid, json_object_get(metadata, "uid"));
    object->created_s =
        observed_time(json_string_value(json_object_get(metadata, "creationTimestamp")));
    if (i == OBJECT_ANCHOR)
        take_anchor(observed, document);
    object->workers = label(metadata, LABEL_WORKERS);
    object->attempt = label(metadata, LABEL_ATTEMPT);
    object->hosts = label(metadata, LABEL_HOSTS);
    object->listed = label(metadata, LABEL_LISTED);
    object->since_s = number_of(json_object_get(metadata, "annotations"), NOTE_SINCE);
    object->is_ours = is_owned(metadata, i == OBJECT_ANCHOR ? observed->resource : observed->uid) ||
                      (i == OBJECT_ANCHOR && observed->resource[0] == '\0');
    if (i == OBJECT_HOSTS)
        take_nodes(observed, metadata);
    if (i >= OBJECT_PODS)
        take_pod(object, job, document);
}

/* Returns the resourceVersion, which the API server compares as a number. 0: unknown. */
static uint64_t version_of(const json_t *metadata)
{
    const char *text = json_string_value(json_object_get(metadata, "resourceVersion"));

    return text != NULL && text[strspn(text, "0123456789")] == '\0' ? strtoull(text, NULL, 10) : 0;
}

/* Does the anchor belong to another job with our name? Then ours was deleted, and what we know
 * does not apply to that job. */
static bool is_of_another(const struct observed *observed, const json_t *anchor)
{
    const char *uid = json_string_value(json_object_get(anchor, "uid"));

    return observed->uid[0] != '\0' && uid != NULL && strcmp(observed->uid, uid) != 0;
}

void observed_want(struct observed *observed, const char *uid, json_t *wanted)
{
    snprintf(observed->resource, sizeof observed->resource, "%s", uid);
    json_decref(observed->wanted);
    observed->wanted = json_incref(wanted);
}

bool observed_is_outdated(const struct observed *observed)
{
    json_t *job = observed->job != NULL ? json_loads(observed->job, 0, NULL) : NULL;
    bool    is_outdated = observed->wanted != NULL && !json_equal(observed->wanted, job);

    json_decref(job);
    return is_outdated;
}

void observed_forget_pods(struct observed *observed)
{
    size_t i;

    observed->changes++;
    for (i = OBJECT_PODS; i < observed->count; i++)
        if (!observed->object[i].exists) /* keep why it is gone */
            observed->object[i].version = 0;
        else if (observed->object[i].is_ours)
            observed_lose(&observed->object[i]);
}

void observed_lose(struct observed_object *object)
{
    *object = (struct observed_object){ .seen = object->seen };
}

void observed_see(struct observed *observed, int64_t now_s)
{
    struct observed_object *pod;
    enum seen_state         state;
    size_t                  i;

    for (i = OBJECT_PODS; i < observed->count; i++) {
        pod = &observed->object[i];
        if (pod->exists && strcmp(pod->uid, pod->seen.uid) != 0) {
            pod->seen = (struct pod_seen){ 0 };
            memcpy(pod->seen.uid, pod->uid, sizeof pod->seen.uid);
        }
        pod->seen.was_ready |= pod->is_ready;
        state = state_of(pod);
        if (state != pod->seen.state)
            pod->seen.since_s = now_s;
        pod->seen.state = state;
    }
}

static enum seen_state state_of(const struct observed_object *pod)
{
    if (!pod->exists)
        return pod->seen.uid[0] != '\0' ? SEEN_GONE : SEEN_NOTHING;
    if (observed_is_finished(pod))
        return SEEN_ENDED;
    return pod->started_s > 0 ? SEEN_STARTED : SEEN_PENDING;
}

int64_t observed_for_s(const struct observed_object *pod, int64_t stamp_s, int64_t now_s)
{
    return now_s - (pod->seen.since_s > 0 ? pod->seen.since_s : stamp_s);
}

bool observed_is_foreign(const struct observed_object *object)
{
    return object->exists && !object->is_ours;
}

int64_t observed_time(const char *text)
{
    struct tm tm = { 0 };

    return text != NULL && strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) != NULL ? timegm(&tm) : 0;
}

bool observed_is_finished(const struct observed_object *pod)
{
    return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

/* Returns the number of the object with that name; SIZE_MAX: not an object of this job. */
static size_t find(struct observed *observed, const struct job *job, const char *kind,
                   const char *name)
{
    size_t length = strlen(job->name), i;

    if (name == NULL || strncmp(name, job->name, length) != 0)
        return SIZE_MAX;
    /* The items of a list have no kind, but only Pods are listed. */
    if (kind == NULL || strcmp(kind, "Pod") == 0)
        return strncmp(name + length, "-worker-", 8) == 0
                   ? find_worker(observed, name + length + 8)
                   : strcmp(name + length, "-launcher") == 0 ? OBJECT_LAUNCHER : SIZE_MAX;
    for (i = 0; i < OBJECT_PODS; i++)
        if (object_is_wanted(job, i) && strcmp(object_name(job, i).text, name) == 0 &&
            strcmp(object_kinds[object_name(job, i).kind].name, kind) == 0)
            return i;
    return SIZE_MAX;
}

/* Also finds a worker from when the job had more workers. */
static size_t find_worker(struct observed *observed, const char *index)
{
    size_t number = 0, digits = strspn(index, "0123456789");

    if (digits == 0 || digits > 4 || index[digits] != '\0' || (index[0] == '0' && digits > 1))
        return SIZE_MAX;
    number = strtoul(index, NULL, 10);
    if (number >= JOB_WORKERS_MAX)
        return SIZE_MAX;
    grow(observed, OBJECT_WORKERS + number + 1);
    return OBJECT_WORKERS + number;
}

static void grow(struct observed *observed, size_t count)
{
    if (count <= observed->count)
        return;
    observed->object = xreallocarray(observed->object, count, sizeof *observed->object);
    memset(observed->object + observed->count, 0,
           (count - observed->count) * sizeof *observed->object);
    observed->count = count;
}

static void take_anchor(struct observed *observed, const json_t *document)
{
    const json_t *metadata = json_object_get(document, "metadata");
    const json_t *data = json_object_get(document, "data");
    const char   *text = json_string_value(json_object_get(data, "outcome"));
    const json_t *notes = json_object_get(metadata, "annotations");
    const char   *suspend = json_string_value(json_object_get(notes, OBJECT_SUSPEND));
    json_t       *outcome = text != NULL ? json_loads(text, 0, NULL) : NULL;

    observed->is_queued = suspend != NULL && strcmp(suspend, "true") == 0;
    take_resource(observed, metadata);
    take_job(observed, json_string_value(json_object_get(data, "job")));
    take_attempts(&observed->attempts, json_string_value(json_object_get(data, "attempts")));
    take_lines(observed, json_string_value(json_object_get(data, "lines")));
    keep(observed->version, sizeof observed->version,
         json_object_get(metadata, "resourceVersion"));
    keep(observed->uid, sizeof observed->uid, json_object_get(metadata, "uid"));
    observed->created_s =
        observed_time(json_string_value(json_object_get(metadata, "creationTimestamp")));
    if (outcome == NULL)
        return;
    observed->outcome = (enum outcome)index_of(
        outcome_names, json_string_value(json_object_get(outcome, "state")), OUTCOME_FAILED);
    observed->exit_code = (int)json_integer_value(json_object_get(outcome, "exitCode"));
    observed->ended_s = json_integer_value(json_object_get(outcome, "ended"));
    keep(observed->why, sizeof observed->why, json_object_get(outcome, "reason"));
    json_decref(outcome);
}

/* Reads the anchor's owner, unless observed_want() has set the resource. */
static void take_resource(struct observed *observed, const json_t *metadata)
{
    const json_t *list = json_object_get(metadata, "ownerReferences"), *owner;
    const char   *kind;
    size_t        i;

    for (i = 0; i < json_array_size(list) && observed->resource[0] == '\0'; i++) {
        owner = json_array_get(list, i);
        kind = json_string_value(json_object_get(owner, "kind"));
        if (kind != NULL && strcmp(kind, JOB_KIND) == 0)
            keep(observed->resource, sizeof observed->resource, json_object_get(owner, "uid"));
    }
}

static void take_job(struct observed *observed, const char *text)
{
    if (text == NULL || (observed->job != NULL && strcmp(observed->job, text) == 0))
        return;
    observed->is_job_new = observed->job != NULL;
    free(observed->job);
    observed->job = xstrdup(text);
}

static void take_attempts(struct attempts *attempts, const char *text)
{
    json_t *document = text != NULL ? json_loads(text, 0, NULL) : NULL;

    *attempts = (struct attempts){
        .number = json_integer_value(json_object_get(document, "number")),
        .launched = json_integer_value(json_object_get(document, "launched")),
        .failures = json_integer_value(json_object_get(document, "failures")),
        .started_s = json_integer_value(json_object_get(document, "started")),
        .is_resumed = json_is_true(json_object_get(document, "resumed")),
    };
    if (attempts->number < 1)
        attempts->number = 1;
    keep(attempts->last, sizeof attempts->last, json_object_get(document, "last"));
    json_decref(document);
}

static void take_lines(struct observed *observed, const char *text)
{
    json_decref(observed->lines);
    observed->lines = text != NULL ? json_loads(text, 0, NULL) : NULL;
}

static void take_nodes(struct observed *observed, const json_t *metadata)
{
    const json_t *notes = json_object_get(metadata, "annotations");
    const char   *text = json_string_value(json_object_get(notes, NOTE_NODES));

    json_decref(observed->nodes);
    observed->nodes = text != NULL ? json_loads(text, 0, NULL) : NULL;
}

static int64_t label(const json_t *metadata, const char *name)
{
    return number_of(json_object_get(metadata, "labels"), name);
}

static int64_t number_of(const json_t *texts, const char *name)
{
    const char *text = json_string_value(json_object_get(texts, name));

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

static void take_pod(struct observed_object *pod, const struct job *job, const json_t *document)
{
    const json_t *status = json_object_get(document, "status");
    const char   *container =
        json_string_value(json_object_get(template_container(job->template), "name"));

    pod->phase = (enum pod_phase)index_of(
        pod_phases, json_string_value(json_object_get(status, "phase")), POD_PENDING);
    pod->started_s = observed_time(json_string_value(json_object_get(status, "startTime")));
    keep(pod->node, sizeof pod->node,
         json_object_get(json_object_get(document, "spec"), "nodeName"));
    take_conditions(pod, status);
    if (json_object_get(status, "reason") != NULL) { /* Evicted, DeadlineExceeded ... */
        keep(pod->reason, sizeof pod->reason, json_object_get(status, "reason"));
        keep(pod->message, sizeof pod->message, json_object_get(status, "message"));
    }
    take_container(pod, NULL, json_object_get(status, "initContainerStatuses"));
    take_container(pod, container, json_object_get(status, "containerStatuses"));
    if (pod->phase == POD_FAILED && pod->exit_code == 0)
        pod->exit_code = 1; /* it was killed from outside */
}

static void take_conditions(struct observed_object *pod, const json_t *status)
{
    const json_t *list = json_object_get(status, "conditions"), *one;
    const char   *type, *value;
    size_t        i;

    for (i = 0; i < json_array_size(list); i++) {
        one = json_array_get(list, i);
        type = json_string_value(json_object_get(one, "type"));
        value = json_string_value(json_object_get(one, "status"));
        if (type == NULL || value == NULL)
            continue;
        if (strcmp(type, "Ready") == 0)
            pod->is_ready = strcmp(value, "True") == 0;
        if (strcmp(type, "PodScheduled") == 0 && strcmp(value, "False") == 0)
            take_reason(pod, one);
    }
    take_disruption(pod, status);
}

/* Reads why the cluster ends or has ended the Pod: PreemptionByScheduler,
 * EvictionByEvictionAPI, TerminationByKubelet ... */
static void take_disruption(struct observed_object *pod, const json_t *status)
{
    const json_t *list = json_object_get(status, "conditions"), *one;
    const char   *type, *value;
    size_t        i;

    for (i = 0; i < json_array_size(list); i++) {
        one = json_array_get(list, i);
        type = json_string_value(json_object_get(one, "type"));
        value = json_string_value(json_object_get(one, "status"));
        if (type != NULL && value != NULL && strcmp(type, "DisruptionTarget") == 0 &&
            strcmp(value, "True") == 0)
            take_reason(pod, one);
    }
}

/* name NULL: any container that waits or has failed. */
static void take_container(struct observed_object *pod, const char *name, const json_t *list)
{
    const json_t *one, *state, *ended;
    const char   *its;
    size_t        i;

    for (i = 0; i < json_array_size(list); i++) {
        one = json_array_get(list, i);
        its = json_string_value(json_object_get(one, "name"));
        state = json_object_get(one, "state");
        ended = json_object_get(state, "terminated");
        if (name != NULL && its != NULL && strcmp(name, its) == 0 && ended != NULL) {
            pod->exit_code = (int)json_integer_value(json_object_get(ended, "exitCode"));
            pod->ended_s = observed_time(json_string_value(json_object_get(ended, "finishedAt")));
            if (pod->reason[0] == '\0' || pod->message[0] == '\0')
                take_reason(pod, ended);
        } else if (json_object_get(state, "waiting") != NULL)
            take_reason(pod, json_object_get(state, "waiting"));
        else if (name == NULL && json_integer_value(json_object_get(ended, "exitCode")) != 0)
            take_reason(pod, ended);
    }
}

static void take_reason(struct observed_object *pod, const json_t *state)
{
    const char *message = json_string_value(json_object_get(state, "message"));
    char       *words = message != NULL ? ending_words(message) : NULL;

    keep(pod->reason, sizeof pod->reason, json_object_get(state, "reason"));
    keep_text(pod->message, sizeof pod->message,
              words != NULL ? words : last_lines(message, sizeof pod->message - 1));
    free(words);
}

/* Returns the end of a log, in whole lines if there is room for one. text may be NULL. */
static const char *last_lines(const char *text, size_t room)
{
    size_t      length = text != NULL ? strlen(text) : 0;
    const char *line = length > room ? strchr(text + length - room - 1, '\n') : NULL;

    return line != NULL && line[1] != '\0' ? line + 1 : text;
}

static bool is_owned(const json_t *metadata, const char *uid)
{
    const json_t *list = json_object_get(metadata, "ownerReferences");
    const char   *owner;
    size_t        i;

    for (i = 0; i < json_array_size(list); i++) {
        owner = json_string_value(json_object_get(json_array_get(list, i), "uid"));
        if (owner != NULL && uid[0] != '\0' && strcmp(owner, uid) == 0)
            return true;
    }
    return false;
}

static void keep(char *to, size_t room, const json_t *text)
{
    keep_text(to, room, json_string_value(text));
}

/* Copies text as one line that is harmless for a terminal. */
static void keep_text(char *to, size_t room, const char *text)
{
    size_t length;

    snprintf(to, room, "%s", text != NULL ? text : "");
    length = strlen(to);
    while (length > 0 && to[length - 1] == '\n')
        to[--length] = '\0';
    for (; *to != '\0'; to++)
        if (*to == '\n')
            *to = ' ';
    text_make_harmless(to - length);
}

static int index_of(const char *const *names, const char *name, int otherwise)
{
    int i;

    for (i = 0; name != NULL && i < 6 && names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return otherwise;
}
