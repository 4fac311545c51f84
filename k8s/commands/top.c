/* top.c - muster k8s top: what the Pods of a job use now
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/query.h"
#include "commands/subcommands.h"
#include "life/usage.h"
#include "exit_code.h"
#include "log.h"
#include "xalloc.h"

static json_t *measure(const struct query *query, const struct job *job, struct error *err);
static void print_table(const struct job *job, const struct observed *observed,
                        const json_t *measured);

int command_top(const struct subcommand *self, char *const *argv)
{
    struct query    query;
    struct job      job = { 0 };
    struct observed observed = { 0 };
    struct error    err;
    json_t         *measured = NULL;
    int             status = query_begin(&query, self, argv, 0, 1, 1);

    if (status != 0)
        return status;
    if (query_find(&query, &job, &observed, &err) == 0 &&
        place_observe_pods(&query.place, &job, &observed, &err) == 0)
        measured = measure(&query, &job, &err);
    if (measured != NULL)
        print_table(&job, &observed, measured);
    else {
        log_error("%s", err.text);
        status = EXIT_UNREACHABLE;
    }
    json_decref(measured);
    observed_clear(&observed);
    job_clear(&job);
    query_end(&query);
    return status;
}

static json_t *measure(const struct query *query, const struct job *job, struct error *err)
{
    json_t *reply = NULL;
    char   *path = xasprintf("/apis/metrics.k8s.io/v1beta1/namespaces/%s/pods"
                             "?labelSelector=" LABEL_JOB "%%3D%s", query->place.space, job->name);
    int     status = api_request(query->place.api, "GET", path, NULL, &reply, err);

    free(path);
    if (status == 200)
        return reply;
    if (status > 0) {
        json_decref(reply);
        err_set(err, "the cluster has no metrics-server, which measures what Pods use");
    }
    return NULL;
}

static void print_table(const struct job *job, const struct observed *observed,
                        const json_t *measured)
{
    const struct observed_object *pod;
    struct usage                  usage;
    char                          name[80], cpu[24], memory[24];
    size_t                        i, number;

    printf("%-32s %-10s %-9s %-15s %s\n", "NAME", "CPU(cores)", "MEMORY", "GPU(Requested)", "NODE");
    for (i = 0; i < object_pods(job); i++) {
        number = object_pod(job, i);
        pod = &observed->object[number];
        snprintf(name, sizeof name, "%s", object_name(job, number).text);
        snprintf(cpu, sizeof cpu, "-");
        snprintf(memory, sizeof memory, "-");
        if (usage_of_pod(&usage, measured, name)) {
            snprintf(cpu, sizeof cpu, "%.2f", usage.cores);
            snprintf(memory, sizeof memory, "%.0fMi", usage.bytes / (1 << 20));
        }
        printf("%-32s %-10s %-9s %-15" PRId64 " %s\n", name, cpu, memory,
               number == OBJECT_LAUNCHER ? 0 : job_gpus(job),
               pod->node[0] != '\0' ? pod->node : "N/A");
    }
}
