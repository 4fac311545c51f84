/* list.c - muster k8s list: the jobs of a namespace, or of all
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include "commands/each.h"
#include "commands/show.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "log.h"

struct list {
    bool    has_head;
    json_t *documents; /* for -o json and yaml */
};

static void take(void *arg, const struct query *query, const struct seen_job *seen);
static void print_row(const struct query *query, const struct seen_job *seen);

int command_list(const struct subcommand *self, char *const *argv)
{
    struct query query;
    struct list  list = { 0 };
    struct error err;
    int          status = query_begin(&query, self, argv, QUERY_ALL | QUERY_OUTPUT, 0, 0), count;

    if (status != 0)
        return status;
    list.documents = json_array();
    count = each_job(&query, take, &list, &err);
    if (count < 0) {
        log_error("%s", err.text);
        status = EXIT_UNREACHABLE;
    } else if (query.is_json || query.is_yaml)
        status = show_print(list.documents, query.is_yaml);
    else if (count == 0 && !query.is_name)
        printf("no jobs\n");
    json_decref(list.documents);
    query_end(&query);
    return status;
}

static void take(void *arg, const struct query *query, const struct seen_job *seen)
{
    struct list *list = arg;

    if (query->is_json || query->is_yaml)
        json_array_append_new(list->documents,
                              show_document(seen->space, seen->job, seen->observed, seen->plan));
    else if (query->is_name)
        printf(SHOW_NAME "\n", seen->job->name);
    else {
        if (!list->has_head)
            printf("%s%-32s %-23s %-13s %-9s %s%s\n", query->is_all ? "NAMESPACE        " : "",
                   "NAME", "STATUS", "TRAINER", "DURATION", "GPU(Requested)",
                   query->is_wide ? "  REASON" : "");
        list->has_head = true;
        print_row(query, seen);
    }
}

static void print_row(const struct query *query, const struct seen_job *seen)
{
    char duration[SHOW_BYTES];

    show_duration(seen->job, seen->observed, api_now(query->place.api), duration);
    if (query->is_all)
        printf("%-16s ", seen->space);
    printf("%-32s %-23s %-13s %-9s %*" PRId64 "%s%s\n", seen->job->name,
           show_status(seen->plan, seen->job, seen->observed), "DEEPSPEEDJOB", duration,
           query->is_wide ? -14 : 0, seen->job->workers * job_gpus(seen->job),
           query->is_wide ? "  " : "", query->is_wide ? seen->plan->why : "");
}
