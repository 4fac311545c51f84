/* get.c - muster k8s get: one job and its Pods
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/follow.h"
#include "commands/query.h"
#include "commands/show.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "log.h"
#include "xalloc.h"

static void print_job(const struct query *query, const struct job *job,
                      const struct observed *observed, const struct plan *plan);
static void print_pods(const struct query *query, const struct job *job,
                       const struct observed *observed);
static void print_lines(const json_t *lines);
static const char *pod_status(const struct observed_object *pod);

int command_get(const struct subcommand *self, char *const *argv)
{
    struct query    query;
    struct job      job = { 0 };
    struct observed observed = { 0 };
    struct plan     plan = { 0 };
    struct error    err;
    json_t         *document;
    int             status = query_begin(&query, self, argv, QUERY_OUTPUT | QUERY_WATCH, 1, 1), rc;

    if (status != 0)
        return status;
    rc = query_find(&query, &job, &observed, &err);
    if (rc == 0)
        rc = place_observe_pods(&query.place, &job, &observed, &err);
    if (rc < 0) {
        log_error("%s", err.text);
        status = EXIT_UNREACHABLE;
    } else {
        plan_make(&plan, &job, &observed, api_now(query.place.api));
        if (query.is_json || query.is_yaml) {
            document = show_document(query.place.space, &job, &observed, &plan);
            status = show_print(document, query.is_yaml);
            json_decref(document);
        } else if (query.is_name)
            printf(SHOW_NAME "\n", job.name);
        else
            print_job(&query, &job, &observed, &plan);
        if (query.does_watch && status == 0)
            status = follow_watch(&query.place, &job, &observed);
    }
    plan_clear(&plan);
    observed_clear(&observed);
    job_clear(&job);
    query_end(&query);
    return status;
}

static void print_job(const struct query *query, const struct job *job,
                      const struct observed *observed, const struct plan *plan)
{
    const int64_t now_s = api_now(query->place.api);
    char          duration[SHOW_BYTES];

    show_duration(job, observed, now_s, duration);
    printf("Name:      %s\n", job->name);
    printf("Status:    %s\n", show_status(plan, job, observed));
    printf("Namespace: %s\n", query->place.space);
    printf("Trainer:   DEEPSPEEDJOB\n");
    printf("Duration:  %s\n", duration);
    if (plan->why[0] != '\0')
        printf("Reason:    %s\n", plan->why);
    if (observed->attempts.last[0] != '\0')
        printf("Previous:  %s\n", observed->attempts.last);
    print_pods(query, job, observed);
    print_lines(observed->lines);
}

static void print_pods(const struct query *query, const struct job *job,
                       const struct observed *observed)
{
    const struct observed_object *pod;
    const int64_t                 now_s = api_now(query->place.api);
    char                          name[80], age[SHOW_BYTES];
    size_t                        i, number;

    printf("\nInstances:\n");
    printf("  %-32s %-18s %-5s %-9s %-15s %s\n", "NAME", "STATUS", "AGE", "IS_CHIEF",
           "GPU(Requested)", "NODE");
    printf("  %-32s %-18s %-5s %-9s %-15s %s\n", "----", "------", "---", "--------",
           "--------------", "----");
    for (i = 0; i < object_pods(job); i++) {
        number = object_pod(job, i);
        pod = &observed->object[number];
        snprintf(name, sizeof name, "%s", object_name(job, number).text);
        show_seconds((pod->ended_s > 0 ? pod->ended_s : now_s) - pod->created_s, age);
        printf("  %-32s %-18s %-5s %-9s %-15" PRId64 " %s", name, pod_status(pod),
               pod->exists ? age : "-", number == object_launcher(job) ? "true" : "false",
               number == OBJECT_LAUNCHER ? 0 : job_gpus(job),
               pod->node[0] != '\0' ? pod->node : "N/A");
        if (query->is_wide)
            printf("  %s", pod->message);
        putchar('\n');
    }
}

/* Prints the last lines of failed Pods, which may be gone by now. */
static void print_lines(const json_t *lines)
{
    const json_t *one;
    const char   *pod, *text;
    char         *copy, *line, *rest;
    size_t        i;

    for (i = 0; i < json_array_size(lines); i++) {
        one = json_array_get(lines, i);
        pod = json_string_value(json_object_get(one, "pod"));
        text = json_string_value(json_object_get(one, "text"));
        if (pod == NULL || text == NULL || text[0] == '\0')
            continue;
        printf("\nLast lines of %.80s:\n", pod);
        copy = xstrdup(text);
        for (line = strtok_r(copy, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
            text_make_harmless(line);
            printf("  %s\n", line);
        }
        free(copy);
    }
}

static const char *pod_status(const struct observed_object *pod)
{
    return !pod->exists                                                      ? "Deleted"
           : pod->is_ending                                                  ? "Terminating"
           : pod->reason[0] != '\0' && strcmp(pod->reason, "Completed") != 0 ? pod->reason
           : pod->phase == POD_RUNNING && !pod->is_ready                     ? "NotReady"
                                                         : pod_phases[pod->phase];
}
