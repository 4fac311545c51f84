/* execute.c - see execute.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/execute.h"

#include <stdlib.h>
#include <time.h>

static int create(const struct place *place, const struct job *job, struct observed *observed,
                  size_t number, struct keys *keys, struct error *err);
static int record(const struct place *place, const struct job *job, struct observed *observed,
                  const struct plan *plan, struct error *err);
static int delete_one(const struct place *place, const struct job *job, struct observed *observed,
                      size_t number, struct error *err);
static int observe(const struct place *place, const struct job *job, struct observed *observed,
                   size_t number, struct error *err);

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
            rc = keys_make(&keys, (size_t)job->workers, err);
        if (rc < 0)
            break;
        switch (plan->action[i].kind) {
        case ACTION_CREATE:
            rc = create(place, job, observed, number, &keys, err);
            break;
        case ACTION_DELETE:
            rc = delete_one(place, job, observed, number, err);
            break;
        case ACTION_RECORD:
            rc = record(place, job, observed, plan, err);
            break;
        }
    }
    keys_clear(&keys);
    return rc;
}

int execute_observe(const struct place *place, const struct job *job, struct observed *observed,
                    struct error *err)
{
    size_t i;

    for (i = OBJECT_LAUNCHER_KEY; i < OBJECT_WORKERS; i++)
        if (observe(place, job, observed, i, err) < 0)
            return -1;
    return place_observe_pods(place, job, observed, err);
}

int execute_delete(const struct place *place, const struct job *job,
                   const struct observed *observed, struct error *err)
{
    char   *path = place_path(place, KIND_CONFIG_MAP, job->name);
    json_t *options = json_pack("{sss{ss}}", "propagationPolicy", "Background", "preconditions",
                                "uid", observed->uid);
    int     status = api_request(place->api, "DELETE", path, options, NULL, err);

    json_decref(options);
    free(path);
    return status < 0 ? -1 : 0;
}

int execute_observe_anchor(const struct place *place, const struct job *job,
                           struct observed *observed, struct error *err)
{
    return observe(place, job, observed, OBJECT_ANCHOR, err);
}

static int create(const struct place *place, const struct job *job, struct observed *observed,
                  size_t number, struct keys *keys, struct error *err)
{
    struct object_name name = object_name(job, number);
    char              *path = place_path(place, name.kind, NULL);
    json_t            *object, *reply = NULL;
    int                status;

    object = object_make(job, number, place->space, observed->uid, keys);
    status = api_request(place->api, "POST", path, object, &reply, err);
    json_decref(object);
    free(path);
    if (status < 0)
        return -1;
    if (status < 300)
        observed_take(observed, job, reply, false);
    else if (status == 404)
        err_set(err, "namespace %s does not exist", place->space);
    else if (name.kind == KIND_SECRET)
        err_set(err, "Secret %s is there: another muster creates this job", name.text);
    json_decref(reply);
    if (status == 404 || (status == 409 && name.kind == KIND_SECRET))
        return -1;
    /* It is there: whose it is decides plan_make(). */
    return status == 409 ? observe(place, job, observed, number, err) : 0;
}

static int record(const struct place *place, const struct job *job, struct observed *observed,
                  const struct plan *plan, struct error *err)
{
    char   *path = place_path(place, KIND_CONFIG_MAP, job->name), *text;
    json_t *outcome = json_pack("{sssisssI}", "state", outcome_names[plan->outcome], "exitCode",
                                plan->exit_code, "reason", plan->why, "ended",
                                (json_int_t)time(NULL));
    json_t *patch, *reply = NULL;
    int     status;

    if (outcome == NULL) /* the reason is no UTF-8: it was cut */
        outcome = json_pack("{sssisssI}", "state", outcome_names[plan->outcome], "exitCode",
                            plan->exit_code, "reason", "", "ended", (json_int_t)time(NULL));
    text = json_dumps(outcome, JSON_COMPACT);
    /* The uid: of no other job of that name. */
    patch = json_pack("{s{ss}s{ss}}", "metadata", "uid", observed->uid, "data", "outcome", text);
    status = api_request(place->api, "PATCH", path, patch, &reply, err);
    if (status == 200)
        observed_take(observed, job, reply, false);
    else if (status > 0) /* it was deleted meanwhile */
        observed->object[OBJECT_ANCHOR].exists = false;
    json_decref(outcome);
    json_decref(patch);
    json_decref(reply);
    free(text);
    free(path);
    return status < 0 ? -1 : 0;
}

static int delete_one(const struct place *place, const struct job *job, struct observed *observed,
                      size_t number, struct error *err)
{
    struct object_name name = object_name(job, number);
    char              *path = place_path(place, name.kind, name.text);
    json_t            *options =
        json_pack("{s{ss}}", "preconditions", "uid", observed->object[number].uid);
    int status = api_request(place->api, "DELETE", path, options, NULL, err);

    json_decref(options);
    free(path);
    if (status < 0)
        return -1;
    /* A Pod takes its time, and the watch tells, perhaps already; 404: gone. */
    if (name.kind == KIND_POD && status != 404)
        observed->object[number].is_ending = observed->object[number].exists;
    else
        observed->object[number] = (struct observed_object){ 0 };
    return 0;
}

static int observe(const struct place *place, const struct job *job, struct observed *observed,
                   size_t number, struct error *err)
{
    struct object_name name = object_name(job, number);
    char              *path = place_path(place, name.kind, name.text);
    json_t            *reply = NULL;
    int                status = api_request(place->api, "GET", path, NULL, &reply, err);

    free(path);
    if (status < 0)
        return -1;
    if (status == 200)
        observed_take(observed, job, reply, false);
    else
        observed->object[number] = (struct observed_object){ 0 };
    json_decref(reply);
    return 0;
}
