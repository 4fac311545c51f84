/* resource.c - see resource.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/resource.h"

#include <stdlib.h>
#include <string.h>

#include "life/plan.h"
#include "life/status.h"
#include "xalloc.h"

static json_t *make_status(const struct held *held);
static int     write_status(const struct held *held, json_t **resource, json_t *status,
                            struct error *err);

int resource_tell(struct held *held, struct error *err)
{
    struct error why;

    if (held->resource != NULL &&
        write_status(held, &held->resource, make_status(held), err) < 0)
        return -1;
    if (held->rival == NULL)
        return 0;
    err_set(&why,
            "a job %s already exists and does not belong to this resource; delete it, or "
            "choose another name",
            held->job.name);
    return write_status(held, &held->rival,
                        status_refuse(outcome_names[OUTCOME_FOREIGN], why.text), err);
}

int resource_is_there(const struct held *held, struct error *err)
{
    char         *path = place_path(&held->place, KIND_RESOURCE, held->job.name);
    json_t       *reply = NULL;
    const json_t *metadata;
    const char   *uid;
    int           status = api_request(held->place.api, "GET", path, NULL, &reply, err), rc;

    metadata = json_object_get(reply, "metadata");
    uid = json_string_value(json_object_get(metadata, "uid"));
    rc = status == 200 && uid != NULL && strcmp(uid, held->observed.resource) == 0 &&
         json_object_get(metadata, "deletionTimestamp") == NULL;
    json_decref(reply);
    free(path);
    return status < 0 ? -1 : rc;
}

int resource_change(const struct place *place, const struct job *job,
                    const struct observed *observed, struct error *err)
{
    char   *path = place_path(place, KIND_RESOURCE, job->name);
    json_t *patch = json_pack("{s{ss}s{s{sI}s{s{sb}}}}", "metadata", "uid", observed->resource,
                              "spec", "worker", "replicas", (json_int_t)job->workers, "runMode",
                              "pause", "enabled", job->is_paused);
    int     status;

    if (job_is_elastic(job))
        json_object_set_new(json_object_get(patch, "spec"), "elastic",
                            json_pack("{sI}", "expectedReplicas", (json_int_t)job->workers));
    status = api_request(place->api, "PATCH", path, patch, NULL, err);

    json_decref(patch);
    free(path);
    if (status == 404 || status == 409)
        return err_set(err, "the DeepSpeedJob %s was deleted", job->name);
    return status < 0 ? -1 : 0;
}

static json_t *make_status(const struct held *held)
{
    struct plan plan;
    json_t     *status;

    if (held->wrong != NULL)
        return status_refuse("Invalid", held->wrong);
    plan_make(&plan, &held->job, &held->observed, api_now(held->place.api));
    status = status_make(&held->job, &held->observed, &plan);
    plan_clear(&plan);
    return status;
}

/* Takes the status. If another client has changed the resource, the watch delivers that change,
 * and the controller calls us again. */
static int write_status(const struct held *held, json_t **resource, json_t *status,
                        struct error *err)
{
    json_t *metadata = json_object_get(*resource, "metadata"), *reply = NULL, *patch, *before;
    char   *path, *name;
    int     rc = 0;

    if (!status_stamp(status, *resource, api_now(held->place.api))) {
        json_decref(status);
        return 0;
    }
    name = xasprintf("%s/status", held->job.name);
    path = place_path(&held->place, KIND_RESOURCE, name);
    patch = json_pack("{s{sOsO}so}", "metadata", "uid", json_object_get(metadata, "uid"),
                      "resourceVersion", json_object_get(metadata, "resourceVersion"), "status",
                      status);
    before = json_incref(*resource);
    rc = api_request(held->place.api, "PATCH", path, patch, &reply, err);
    if (rc == 200 &&
        *resource == before) { /* else the watch has delivered a newer one */
        json_decref(*resource);
        *resource = json_incref(reply);
    }
    json_decref(before);
    json_decref(reply);
    json_decref(patch);
    free(path);
    free(name);
    return rc < 0 ? -1 : 0;
}
