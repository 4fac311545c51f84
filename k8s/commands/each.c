/* each.c - see each.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/each.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "xalloc.h"

typedef void take_job(void *arg, const struct query *query, const struct seen_job *seen);

static json_t *get_all(const struct query *query, enum object_kind kind, const char *selector,
                       struct error *err);
static void    look_at(const struct query *query, const json_t *anchor, const json_t *pods,
                       take_job *take, void *arg);

int each_job(const struct query *query, take_job *take, void *arg, struct error *err)
{
    json_t *anchors = get_all(query, KIND_CONFIG_MAP, LABEL_ROLE "%3Danchor", err);
    json_t *pods = anchors != NULL ? get_all(query, KIND_POD, LABEL_JOB, err) : NULL, *anchor;
    int     count = pods != NULL ? (int)json_array_size(json_object_get(anchors, "items")) : -1;
    size_t  i;

    if (pods != NULL)
        json_array_foreach(json_object_get(anchors, "items"), i, anchor)
            look_at(query, anchor, json_object_get(pods, "items"), take, arg);
    json_decref(anchors);
    json_decref(pods);
    return count;
}

static json_t *get_all(const struct query *query, enum object_kind kind, const char *selector,
                       struct error *err)
{
    char   *path = query_path(query, kind);
    char   *whole = xasprintf("%s?labelSelector=%s", path, selector);
    json_t *reply = NULL;
    int     status = api_request(query->place.api, "GET", whole, NULL, &reply, err);

    free(path);
    free(whole);
    return status < 0 ? NULL : reply;
}

static void look_at(const struct query *query, const json_t *anchor, const json_t *pods,
                    take_job *take, void *arg)
{
    const char *space =
        json_string_value(json_object_get(json_object_get(anchor, "metadata"), "namespace"));
    const char     *its;
    struct job      job = { 0 };
    struct observed observed;
    struct plan     plan;
    struct seen_job seen = { .job = &job, .observed = &observed, .plan = &plan };
    struct error    err;
    json_t         *pod;
    size_t          i;

    if (place_read_anchor(anchor, &job, &err) < 0) {
        log_warn("%s", err.text);
        return;
    }
    observed_init(&observed, &job);
    /* The items of a list have no kind. */
    json_object_set_new((json_t *)anchor, "kind", json_string("ConfigMap"));
    observed_take(&observed, &job, anchor, false);
    json_array_foreach((json_t *)pods, i, pod) {
        its = json_string_value(json_object_get(json_object_get(pod, "metadata"), "namespace"));
        if (its != NULL && space != NULL && strcmp(its, space) == 0)
            observed_take(&observed, &job, pod, false);
    }
    plan_make(&plan, &job, &observed, api_now(query->place.api));
    seen.space = xstrdup(space != NULL ? space : "");
    take(arg, query, &seen);
    free(seen.space);
    plan_clear(&plan);
    observed_clear(&observed);
    job_clear(&job);
}
