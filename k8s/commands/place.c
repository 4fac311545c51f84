/* place.c - see place.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/place.h"

#include <stdlib.h>
#include <string.h>

#include "api/account.h"
#include "api/proxy.h"
#include "commands/test_switch.h"
#include "job/job_document.h"
#include "xalloc.h"

#define GETS_MAX 10 /* tries, while the job keeps changing */

static int read_job(const char *text, struct job *job, struct error *err);

int place_set_context(void *to, const char *value, struct error *err)
{
    struct place *place = to;

    (void)err;
    free(place->context);
    place->context = xstrdup(value);
    return 0;
}

int place_set_space(void *to, const char *value, struct error *err)
{
    struct place *place = to;

    if (value[0] == '\0' || strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(value))
        return err_set(err, "'%.80s' is not the name of a namespace", value);
    free(place->space);
    place->space = xstrdup(value);
    return 0;
}

int place_open(struct place *place, struct error *err)
{
    const char *socket = test_switch(TEST_SWITCH_SOCKET);
    const char *account = test_switch(TEST_SWITCH_ACCOUNT);

    if (socket != NULL) {
        place->space = place->space != NULL ? place->space : xstrdup("default");
        place->api = api_open_socket(socket);
        return 0;
    }
    account = account != NULL ? account : ACCOUNT_DIRECTORY;
    if (place->context == NULL && account_is_there(account)) {
        place->space = place->space != NULL ? place->space : account_namespace(account);
        place->api = api_open_account(account);
        return 0;
    }
    if (place->space == NULL && (place->space = proxy_namespace(place->context, err)) == NULL)
        return -1;
    place->api = api_open(place->context, err);
    return place->api != NULL ? 0 : -1;
}

void place_close(struct place *place)
{
    api_close(place->api);
    free(place->context);
    free(place->space);
    *place = (struct place){ 0 };
}

char *place_path(const struct place *place, enum object_kind kind, const char *name)
{
    const struct object_kind_row *row = &object_kinds[kind];

    return xasprintf("%s/namespaces/%s/%s%s%s", row->root, place->space, row->plural,
                     name != NULL ? "/" : "", name != NULL ? name : "");
}

int place_find(const struct place *place, const char *name, struct job *job,
               struct observed *observed, struct error *err)
{
    json_t *anchor = NULL;
    char   *path;
    int     rc;

    if (name[0] == '\0' || strlen(name) > JOB_NAME_MAX ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(name))
        return err_set(err, "'%.80s' is not the name of a job", name);
    path = place_path(place, KIND_CONFIG_MAP, name);
    rc = api_request(place->api, "GET", path, NULL, &anchor, err);
    free(path);
    if (rc < 0)
        return -1;
    if (rc == 200 && place_read_anchor(anchor, job, err) < 0)
        rc = -1;
    else if (rc == 200) {
        observed_init(observed, job);
        observed_take(observed, job, anchor, false);
        rc = 1;
    } else
        rc = 0;
    json_decref(anchor);
    return rc;
}

int place_read_anchor(const json_t *anchor, struct job *job, struct error *err)
{
    const char *text = json_string_value(json_object_get(json_object_get(anchor, "data"), "job"));
    const char *name =
        json_string_value(json_object_get(json_object_get(anchor, "metadata"), "name"));
    struct error why;

    if (read_job(text, job, &why) == 0)
        return 0;
    return err_set(err, "ConfigMap %.80s is not muster's: %s", name != NULL ? name : "?",
                   why.text);
}

int place_refresh(struct job *job, struct observed *observed, struct error *err)
{
    struct job   changed = { 0 };
    struct error why;

    if (!observed->is_job_new)
        return 0;
    if (read_job(observed->job, &changed, &why) < 0)
        return err_set(err, "ConfigMap %.80s was changed, and is no longer a valid job: %s",
                       job->name, why.text);
    if (changed.space == NULL && job->space != NULL)
        changed.space = xstrdup(job->space);
    job_clear(job);
    *job = changed;
    observed_fit(observed, job);
    observed->is_job_new = false;
    return 0;
}

static int read_job(const char *text, struct job *job, struct error *err)
{
    json_t *document = text != NULL ? json_loads(text, 0, NULL) : NULL;
    int     rc;

    if (document == NULL)
        return err_set(err, "it contains no job");
    rc = job_from_document(job, document, err);
    json_decref(document);
    if (rc == 0 && job_check(job, err) < 0) {
        job_clear(job);
        rc = -1;
    }
    return rc;
}

int place_get(const struct place *place, const struct observed *observed, const char *path,
              json_t **reply, struct error *err)
{
    uint64_t before;
    size_t   tries;
    int      status = -1;

    *reply = NULL;
    for (tries = 0; tries < GETS_MAX; tries++) {
        json_decref(*reply);
        *reply = NULL;
        before = observed->changes;
        status = api_request(place->api, "GET", path, NULL, reply, err);
        if (status < 0 || observed->changes == before)
            break;
    }
    return status;
}

int place_observe_pods(const struct place *place, const struct job *job, struct observed *observed,
                       struct error *err)
{
    char   *all = place_path(place, KIND_POD, NULL);
    char   *path = xasprintf("%s?labelSelector=" LABEL_JOB "%%3D%s", all, job->name);
    json_t *reply = NULL, *pod;
    size_t  i;
    int     status = place_get(place, observed, path, &reply, err);

    free(all);
    free(path);
    if (status < 0)
        return -1;
    observed_forget_pods(observed);
    json_array_foreach(json_object_get(reply, "items"), i, pod)
        observed_take(observed, job, pod, false);
    json_decref(reply);
    return 0;
}
