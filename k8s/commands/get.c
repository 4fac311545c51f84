/* get.c - muster k8s get: one job and its Pods
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "commands/query.h"
#include "commands/show.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "job/job_document.h"
#include "life/status.h"
#include "log.h"

static void print_job(const struct query *query, const struct job *job,
                      const struct observed *observed, const struct plan *plan);
static void print_pods(const struct job *job, const struct observed *observed);
static const char *pod_status(const struct observed_object *pod);
static void print_json(const struct query *query, const struct job *job,
                       const struct observed *observed, const struct plan *plan);

int command_get(char *const *argv)
{
    struct query    query;
    struct job      job = { 0 };
    struct observed observed = { 0 };
    struct plan     plan = { 0 };
    struct error    err;
    int             rc, status = query_begin(&query, argv, QUERY_OUTPUT, 1, 1);

    if (status != 0)
        return status;
    rc = place_find(&query.place, query.names.item[0], &job, &observed, &err);
    if (rc == 0)
        rc = err_set(&err, "there is no job %s in namespace %s; `muster k8s list` shows them",
                     query.names.item[0], query.place.space);
    if (rc > 0)
        rc = place_observe_pods(&query.place, &job, &observed, &err);
    if (rc < 0) {
        log_error("%s", err.text);
        status = EXIT_UNREACHABLE;
    } else {
        plan_make(&plan, &job, &observed, time(NULL));
        if (query.is_json)
            print_json(&query, &job, &observed, &plan);
        else if (query.is_name)
            printf("deepspeedjob.muster.dev/%s\n", job.name);
        else
            print_job(&query, &job, &observed, &plan);
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
    char duration[SHOW_BYTES];

    show_duration(job, observed, time(NULL), duration);
    printf("Name:      %s\n", job->name);
    printf("Status:    %s\n", show_status(plan, job, observed));
    printf("Namespace: %s\n", query->place.space);
    printf("Trainer:   DEEPSPEEDJOB\n");
    printf("Duration:  %s\n", duration);
    if (plan->why[0] != '\0')
        printf("Reason:    %s\n", plan->why);
    if (observed->attempts.last[0] != '\0')
        printf("Before:    %s\n", observed->attempts.last);
    print_pods(job, observed);
}

static void print_pods(const struct job *job, const struct observed *observed)
{
    const struct observed_object *pod;
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
        show_seconds((pod->ended_s > 0 ? pod->ended_s : time(NULL)) - pod->created_s, age);
        printf("  %-32s %-18s %-5s %-9s %-15" PRId64 " %s\n", name, pod_status(pod),
               pod->exists ? age : "-", number == object_launcher(job) ? "true" : "false",
               number == OBJECT_LAUNCHER ? 0 : job_gpus(job),
               pod->node[0] != '\0' ? pod->node : "N/A");
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

static void print_json(const struct query *query, const struct job *job,
                       const struct observed *observed, const struct plan *plan)
{
    json_t *document = job_document(job), *all;

    all = json_pack("{sssssssOso}", "name", job->name, "namespace", query->place.space, "status",
                    show_status(plan, job, observed), "spec", json_object_get(document, "spec"),
                    "state", status_make(job, observed, plan));
    json_decref(document);
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}
