/* execute.c - see execute.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/execute.h"

#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "commands/resource.h"
#include "commands/test_switch.h"
#include "job/job_document.h"
#include "job/node_class.h"
#include "job/template.h"
#include "life/lines.h"
#include "life/nodes.h"
#include "xalloc.h"

#define PENDING_GRACE_S 5 /* of a Pod that has not run, so has nothing to save */
/* How much of a failed Pod's log to read; lines_with() takes the end of that. */
#define TAIL_LINES 40
#define TAIL_BYTES (256 << 10)

static bool needs_all(const struct plan *plan, const struct observed *observed);
static void die_if_asked(void);
static int observe_keys_again(const struct place *place, const struct job *job,
                              struct observed *observed, struct error *err);
static int create(const struct place *place, const struct job *job, struct observed *observed,
                  size_t number, struct keys *keys, struct error *err);
static int change_hosts(const struct place *place, const struct job *job,
                        struct observed *observed, int64_t hosts, struct error *err);
static int keep_nodes(const struct place *place, const struct job *job, struct observed *observed,
                      struct error *err);
static json_t *ask_classes(const struct place *place, const struct job *job,
                           const struct observed *observed);
static int tell_launcher(const struct place *place, const struct job *job,
                         struct observed *observed, struct error *err);
static int patch(const struct place *place, const struct job *job, struct observed *observed,
                 size_t number, json_t *document, struct error *err);
static int keep_lines(const struct place *place, const struct job *job, struct observed *observed,
                      size_t number, struct error *err);
static int write_attempts(const struct place *place, const struct job *job,
                          struct observed *observed, const struct attempts *attempts,
                          struct error *err);
static int patch_anchor(const struct place *place, const struct job *job,
                        struct observed *observed, const char *name, json_t *document,
                        struct error *err);
static json_t *utf8_or_empty(const char *text);
static int record(const struct place *place, const struct job *job, struct observed *observed,
                  const struct plan *plan, struct error *err);
static int delete_one(const struct place *place, const struct job *job, struct observed *observed,
                      const struct action *action, struct error *err);
static int observe(const struct place *place, const struct job *job, struct observed *observed,
                   size_t number, struct error *err);

int execute_plan(const struct place *place, struct job *job, struct observed *observed,
                 struct plan *plan, struct error *err)
{
    *plan = (struct plan){ 0 };
    if (place_refresh(job, observed, err) < 0)
        return -1;
    observed_see(observed, api_now(place->api));
    plan_make(plan, job, observed, api_now(place->api));
    if (plan->count == 0 || !needs_all(plan, observed))
        return 0;
    plan_clear(plan);
    if (execute_observe(place, job, observed, err) < 0 || place_refresh(job, observed, err) < 0)
        return -1;
    observed_see(observed, api_now(place->api));
    plan_make(plan, job, observed, api_now(place->api));
    return 0;
}

int execute_begin(const struct place *place, const struct job *job, struct observed *observed,
                  struct error *err)
{
    struct object_for what = { .space = place->space };
    char             *path = place_path(place, KIND_CONFIG_MAP, NULL);
    json_t           *anchor = object_make(job, OBJECT_ANCHOR, &what), *reply = NULL;
    int               status = api_request(place->api, "POST", path, anchor, &reply, err);

    if (status == 404)
        status = err_set(err, "namespace %s does not exist", place->space);
    else if (status > 0 && status < 300)
        observed_take(observed, job, reply, false);
    json_decref(reply);
    json_decref(anchor);
    free(path);
    return status < 0 ? -1 : status < 300;
}

/* Must all objects be observed before this plan is executed? No watch covers Secrets, and the
 * watch of the anchor can be ahead of that of Pods. If another muster is at work, a missing
 * object may exist by now. */
static bool needs_all(const struct plan *plan, const struct observed *observed)
{
    return plan->action[0].kind == ACTION_CREATE ||
           (plan->action[plan->count - 1].kind == ACTION_RECORD &&
            plan->outcome != OUTCOME_SUCCEEDED) ||
           plan->attempts.failures > observed->attempts.failures;
}

int execute(const struct place *place, const struct job *job, struct observed *observed,
            const struct plan *plan, struct error *err)
{
    struct keys keys = { 0 };
    size_t      i, number;
    int         rc = 0;

    for (i = 0; i < plan->count && rc == 0; i++) {
        number = plan->action[i].number;
        /* One plan makes both Secrets. */
        if (plan->action[i].kind == ACTION_CREATE && number == OBJECT_LAUNCHER_KEY)
            rc = keys_make(&keys, (size_t)job_keys(job), err);
        if (rc < 0)
            break;
        switch (plan->action[i].kind) {
        case ACTION_CREATE:
            rc = create(place, job, observed, number, &keys, err);
            break;
        case ACTION_DELETE:
            rc = number == OBJECT_ANCHOR ? execute_delete(place, job, observed, err)
                                         : delete_one(place, job, observed, &plan->action[i], err);
            break;
        case ACTION_RECORD:
            rc = record(place, job, observed, plan, err);
            break;
        case ACTION_LINES:
            rc = keep_lines(place, job, observed, number, err);
            break;
        case ACTION_HOSTS:
            rc = change_hosts(place, job, observed, plan->hosts, err);
            break;
        case ACTION_NODES:
            rc = keep_nodes(place, job, observed, err);
            break;
        case ACTION_TELL:
            rc = tell_launcher(place, job, observed, err);
            break;
        case ACTION_CHANGE:
            rc = patch_anchor(place, job, observed, "job", json_incref(observed->wanted), err);
            break;
        case ACTION_ATTEMPT:
            rc = write_attempts(place, job, observed, &plan->attempts, err);
            break;
        }
        die_if_asked();
    }
    keys_clear(&keys);
    return rc < 0 ? -1 : 0;
}

/* For tests: kills this process after that many actions. */
static void die_if_asked(void)
{
    static long done;
    const char *after = test_switch(TEST_SWITCH_DIE_AFTER);

    if (after != NULL && ++done == strtol(after, NULL, 10))
        raise(SIGKILL);
}

int execute_observe(const struct place *place, const struct job *job, struct observed *observed,
                    struct error *err)
{
    size_t i;

    /* Another muster may be at work. It records a launcher in the anchor after creating it, so
     * read the anchor before Pods; and it creates Pods after Secrets, so read Secrets last. */
    if (observe(place, job, observed, OBJECT_ANCHOR, err) < 0 ||
        place_observe_pods(place, job, observed, err) < 0)
        return -1;
    for (i = OBJECT_ANCHOR + 1; i < OBJECT_PODS; i++)
        if (object_is_wanted(job, i) && observe(place, job, observed, i, err) < 0)
            return -1;
    for (i = OBJECT_PODS; i < observed->count; i++)
        if (observed_is_foreign(&observed->object[i]) && observe(place, job, observed, i, err) < 0)
            return -1;
    return observe_keys_again(place, job, observed, err);
}

/* The watch may have delivered Pods that were created after we read the Secrets. Then the
 * Secrets exist now, but no watch delivers them. */
static int observe_keys_again(const struct place *place, const struct job *job,
                              struct observed *observed, struct error *err)
{
    bool   has_both = observed->object[OBJECT_LAUNCHER_KEY].exists &&
                      observed->object[OBJECT_WORKER_KEYS].exists;
    size_t i = OBJECT_PODS;

    while (i < observed->count && !observed->object[i].exists)
        i++;
    if (has_both || i == observed->count)
        return 0;
    for (i = OBJECT_LAUNCHER_KEY; i <= OBJECT_WORKER_KEYS; i++)
        if (observe(place, job, observed, i, err) < 0)
            return -1;
    return 0;
}

int execute_delete(const struct place *place, const struct job *job,
                   const struct observed *observed, struct error *err)
{
    bool    has_resource = observed->resource[0] != '\0'; /* it would create the job again */
    char   *path = place_path(place, has_resource ? KIND_RESOURCE : KIND_CONFIG_MAP, job->name);
    json_t *options = json_pack("{sss{ss}}", "propagationPolicy", "Background", "preconditions",
                                "uid", has_resource ? observed->resource : observed->uid);
    int     status = api_request(place->api, "DELETE", path, options, NULL, err);

    json_decref(options);
    free(path);
    return status < 0 ? -1 : 0;
}

int execute_change(const struct place *place, const struct job *job, struct observed *observed,
                   struct error *err)
{
    if (observed->resource[0] != '\0' && resource_change(place, job, observed, err) < 0)
        return -1;
    return patch_anchor(place, job, observed, "job", job_document(job), err) < 0 ? -1 : 0;
}

/* 1: another muster is creating this job, so the rest of the plan may be outdated. */
static int create(const struct place *place, const struct job *job, struct observed *observed,
                  size_t number, struct keys *keys, struct error *err)
{
    struct object_name name = object_name(job, number);
    struct object_for  what = { .space = place->space,
                                .uid = observed->uid,
                                .resource =
                                    observed->resource[0] != '\0' ? observed->resource : NULL,
                                .keys = keys,
                                .attempt = observed->attempts.number,
                                .hosts = observed->object[OBJECT_HOSTS].hosts,
                                .now_s = api_now(place->api),
                                .is_resumed = observed->attempts.is_resumed,
                                .is_last = observed->attempts.failures >= job->backoff_limit };
    char              *path = place_path(place, name.kind, NULL);
    json_t            *object = object_make(job, number, &what), *reply = NULL;
    int                status = api_request(place->api, "POST", path, object, &reply, err);

    json_decref(object);
    free(path);
    if (status < 0)
        return -1;
    if (status < 300 && !observed->object[number].exists) /* else the watch was faster */
        observed_take(observed, job, reply, false);
    json_decref(reply);
    if (status == 404 && number == OBJECT_GROUP)
        return err_set(err, "the cluster has no PodGroups of %s: the scheduler for --gang is not "
                       "installed; leave --gang out, or name another one with --scheduler",
                       object_kinds[name.kind].version);
    if (status == 404 && number == OBJECT_MONITOR)
        return err_set(err, "the cluster has no ServiceMonitors: the Prometheus operator is not "
                       "installed; write --metrics=annotation (metrics.via: annotation) if its "
                       "Prometheus looks for annotations of Pods, or leave --metrics out");
    if (status == 404)
        return err_set(err, "namespace %s does not exist", place->space);
    if (status != 409)
        return 0;
    /* The object exists; plan_make() decides what to do if it is not ours. */
    return observe(place, job, observed, number, err) < 0 ? -1 : name.kind == KIND_SECRET;
}

/* Changes the hostfile and the labels that describe it, in one request. */
static int change_hosts(const struct place *place, const struct job *job,
                        struct observed *observed, int64_t hosts, struct error *err)
{
    struct object_for what = { .space = place->space,
                               .uid = observed->uid,
                               .attempt = observed->attempts.number,
                               .hosts = hosts,
                               .listed = observed->object[OBJECT_HOSTS].listed,
                               .nodes = observed->nodes,
                               .now_s = api_now(place->api) };
    json_t           *object = object_make(job, OBJECT_HOSTS, &what);
    json_t           *metadata = json_object_get(object, "metadata");
    json_t           *document =
        json_pack("{s{sOsO}sO}", "metadata", "labels", json_object_get(metadata, "labels"),
                  "annotations", json_object_get(metadata, "annotations"), "data",
                  json_object_get(object, "data"));

    json_decref(object);
    return patch(place, job, observed, OBJECT_HOSTS, document, err);
}

/* Also changes the launcher's Pod, so that it gets the hostfile before its muster reads that at
 * the beginning of the run. */
static int keep_nodes(const struct place *place, const struct job *job, struct observed *observed,
                      struct error *err)
{
    json_t           *classes = ask_classes(place, job, observed);
    json_t           *nodes = nodes_list(job, observed, classes), *object, *notes, *text;
    struct object_for what = { .space = place->space,
                               .uid = observed->uid,
                               .attempt = observed->attempts.number,
                               .hosts = nodes_workers(job, observed),
                               .nodes = nodes };
    char              now[24];
    int               rc;

    object = object_make(job, OBJECT_HOSTS, &what);
    notes = json_object_get(json_object_get(object, "metadata"), "annotations");
    text = json_object_get(notes, NOTE_NODES);
    rc = patch(place, job, observed, OBJECT_HOSTS,
               json_pack("{s{s{sO}}sO}", "metadata", "annotations", NOTE_NODES, text, "data",
                         json_object_get(object, "data")),
               err);
    json_decref(object);
    json_decref(nodes);
    json_decref(classes);
    snprintf(now, sizeof now, "%lld", (long long)api_now(place->api));
    if (rc < 0)
        return -1;
    return patch(place, job, observed, object_launcher(job),
                 json_pack("{s{s{ss}}}", "metadata", "annotations", NOTE_NODES, now), err);
}

/* A node that cannot be read has no class. */
static json_t *ask_classes(const struct place *place, const struct job *job,
                           const struct observed *observed)
{
    json_t      *classes = json_object(), *reply;
    int64_t      count = nodes_workers(job, observed), i;
    const char  *node, *class;
    char        *path;
    struct error harmless;

    for (i = 0; i < count; i++) {
        node = observed->object[OBJECT_WORKERS + (size_t)i].node;
        if (node[0] == '\0' || json_object_get(classes, node) != NULL)
            continue;
        path = xasprintf("/api/v1/nodes/%s", node);
        reply = NULL;
        class = NULL;
        if (api_request(place->api, "GET", path, NULL, &reply, &harmless) == 200)
            class = node_class_of_labels(
                json_object_get(json_object_get(reply, "metadata"), "labels"));
        json_object_set_new(classes, node, json_string(class != NULL ? class : ""));
        json_decref(reply);
        free(path);
    }
    return classes;
}

/* Changes the launcher's Pod, because that makes its node update the volumes. */
static int tell_launcher(const struct place *place, const struct job *job,
                         struct observed *observed, struct error *err)
{
    char text[24];

    snprintf(text, sizeof text, "%lld", (long long)observed->object[OBJECT_HOSTS].hosts);
    return patch(place, job, observed, object_launcher(job),
                 json_pack("{s{s{ss}}}", "metadata", "labels", LABEL_HOSTS, text), err);
}

/* Takes the document. If the object is gone or was replaced, observes it instead. */
static int patch(const struct place *place, const struct job *job, struct observed *observed,
                 size_t number, json_t *document, struct error *err)
{
    struct object_name name = object_name(job, number);
    char              *path = place_path(place, name.kind, name.text);
    uint64_t           before = observed->changes;
    json_t            *reply = NULL;
    int                status;

    json_object_set_new(json_object_get(document, "metadata"), "uid",
                        json_string(observed->object[number].uid));
    status = api_request(place->api, "PATCH", path, document, &reply, err);
    if (status == 200 && observed->changes == before)
        observed_take(observed, job, reply, false);
    json_decref(reply);
    json_decref(document);
    free(path);
    if (status < 0)
        return -1;
    return status == 200 && observed->changes == before + 1
               ? 0
               : observe(place, job, observed, number, err);
}

/* Stores an empty text if the cluster does not have the log; that is no reason to wait. */
static int keep_lines(const struct place *place, const struct job *job, struct observed *observed,
                      size_t number, struct error *err)
{
    struct object_name name = object_name(job, number);
    const char        *container =
        json_string_value(json_object_get(template_container(job->template), "name"));
    char   *pod = place_path(place, KIND_POD, name.text), *path, *text;
    size_t  size;
    json_t *lines;

    path = xasprintf("%s/log?container=%s&tailLines=%d&limitBytes=%d", pod, container, TAIL_LINES,
                     TAIL_BYTES);
    if (api_text(place->api, path, &text, &size) != 200)
        size = 0;
    lines = lines_with(observed->lines, name.text, observed->object[number].uid,
                       observed->attempts.number, text, size);
    free(text);
    free(path);
    free(pod);
    return patch_anchor(place, job, observed, "lines", lines, err);
}

static int write_attempts(const struct place *place, const struct job *job,
                          struct observed *observed, const struct attempts *attempts,
                          struct error *err)
{
    json_t *document = json_pack("{sIsIsIsIso}", "number", (json_int_t)attempts->number, "launched",
                                 (json_int_t)attempts->launched, "failures",
                                 (json_int_t)attempts->failures, "started",
                                 (json_int_t)attempts->started_s, "last",
                                 utf8_or_empty(attempts->last));

    if (attempts->is_resumed)
        json_object_set_new(document, "resumed", json_true());
    return patch_anchor(place, job, observed, "attempts", document, err);
}

static int record(const struct place *place, const struct job *job, struct observed *observed,
                  const struct plan *plan, struct error *err)
{
    json_t *document = json_pack("{sssisosI}", "state", outcome_names[plan->outcome], "exitCode",
                                 plan->exit_code, "reason", utf8_or_empty(plan->why), "ended",
                                 (json_int_t)api_now(place->api));

    return patch_anchor(place, job, observed, "outcome", document, err);
}

/* A truncated text may be invalid UTF-8. */
static json_t *utf8_or_empty(const char *text)
{
    json_t *string = json_string(text);

    return string != NULL ? string : json_string("");
}

/* Stores the document, which it takes, in the anchor under that name. If the anchor is that of
 * another job with our name (uid), or has changed (version), observes it instead and returns 1,
 * because the rest of the plan may be outdated. */
static int patch_anchor(const struct place *place, const struct job *job,
                        struct observed *observed, const char *name, json_t *document,
                        struct error *err)
{
    char   *path = place_path(place, KIND_CONFIG_MAP, job->name);
    char   *text = json_dumps(document, JSON_COMPACT);
    json_t *patch = json_pack("{s{ssss}s{ss}}", "metadata", "uid", observed->uid,
                              "resourceVersion", observed->version, "data", name, text);
    json_t *reply = NULL;
    char    before[sizeof observed->version];
    int     status;

    memcpy(before, observed->version, sizeof before);
    status = api_request(place->api, "PATCH", path, patch, &reply, err);
    json_decref(document);
    json_decref(patch);
    free(text);
    free(path);
    /* Else the watch has already delivered this version, or a newer one. */
    if (status == 200 && strcmp(before, observed->version) == 0)
        observed_take(observed, job, reply, false);
    json_decref(reply);
    if (status < 0)
        return -1;
    return status == 200 ? 0 : observe(place, job, observed, OBJECT_ANCHOR, err) < 0 ? -1 : 1;
}

static int delete_one(const struct place *place, const struct job *job, struct observed *observed,
                      const struct action *action, struct error *err)
{
    size_t             number = action->number;
    struct object_name name = object_name(job, number);
    char              *path = place_path(place, name.kind, name.text);
    json_t            *options = json_pack("{s{ss}}", "preconditions", "uid", action->uid);
    int                status;

    /* The Pod may be starting, and a SIGTERM to its first process could then get lost. */
    if (name.kind == KIND_POD && observed->object[number].phase == POD_PENDING)
        json_object_set_new(options, "gracePeriodSeconds", json_integer(PENDING_GRACE_S));
    status = api_request(place->api, "DELETE", path, options, NULL, err);
    json_decref(options);
    free(path);
    if (status < 0)
        return -1;
    if (status == 409) /* another object has that name now */
        return observe(place, job, observed, number, err);
    /* A Pod takes its time; the watch reports when it is gone, perhaps already. 404: gone. */
    if (name.kind == KIND_POD && status != 404)
        observed->object[number].is_ending = observed->object[number].exists;
    else
        observed_lose(&observed->object[number]);
    return 0;
}

static int observe(const struct place *place, const struct job *job, struct observed *observed,
                   size_t number, struct error *err)
{
    struct object_name name = object_name(job, number);
    char              *path = place_path(place, name.kind, name.text);
    json_t            *reply = NULL;
    int                status = place_get(place, observed, path, &reply, err);

    free(path);
    if (status < 0)
        return -1;
    if (status == 200)
        observed_take(observed, job, reply, false);
    else
        observed_lose(&observed->object[number]);
    json_decref(reply);
    return 0;
}
