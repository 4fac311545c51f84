/* list.c - muster k8s list: the jobs of a namespace, or of all
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands/query.h"
#include "commands/show.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "log.h"
#include "xalloc.h"

static json_t *get_all(const struct query *query, enum object_kind kind, const char *selector,
                       struct error *err);
static void    print_row(const struct query *query, const json_t *anchor, const json_t *pods);

int command_list(char *const *argv)
{
    struct query query;
    struct error err;
    json_t      *anchors = NULL, *pods = NULL, *anchor;
    size_t       i;
    int          status = query_begin(&query, argv, QUERY_ALL, 0, 0);

    if (status != 0)
        return status;
    anchors = get_all(&query, KIND_CONFIG_MAP, LABEL_ROLE "%3Danchor", &err);
    if (anchors != NULL)
        pods = get_all(&query, KIND_POD, LABEL_JOB, &err);
    if (pods == NULL) {
        log_error("%s", err.text);
        status = EXIT_UNREACHABLE;
    } else if (json_array_size(json_object_get(anchors, "items")) == 0)
        printf("no jobs\n");
    else {
        printf("%s%-32s %-23s %-13s %-9s %s\n", query.is_all ? "NAMESPACE        " : "", "NAME",
               "STATUS", "TRAINER", "DURATION", "GPU(Requested)");
        json_array_foreach(json_object_get(anchors, "items"), i, anchor)
            print_row(&query, anchor, json_object_get(pods, "items"));
    }
    json_decref(anchors);
    json_decref(pods);
    query_end(&query);
    return status;
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

static void print_row(const struct query *query, const json_t *anchor, const json_t *pods)
{
    const json_t   *metadata = json_object_get(anchor, "metadata");
    const char     *space = json_string_value(json_object_get(metadata, "namespace")), *its;
    struct job      job = { 0 };
    struct observed observed;
    struct plan     plan;
    struct error    err;
    char            duration[SHOW_BYTES];
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
    plan_make(&plan, &job, &observed, time(NULL));
    show_duration(&job, &observed, time(NULL), duration);
    if (query->is_all)
        printf("%-16s ", space != NULL ? space : "");
    printf("%-32s %-23s %-13s %-9s %" PRId64 "\n", job.name, show_status(&plan, &job, &observed),
           "DEEPSPEEDJOB", duration, job.workers * job_gpus(&job));
    plan_clear(&plan);
    observed_clear(&observed);
    job_clear(&job);
}
