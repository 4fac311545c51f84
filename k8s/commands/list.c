/* list.c - muster k8s list: the jobs of a namespace, or of all
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "commands/each.h"
#include "commands/show.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "log.h"

static void print_row(void *arg, const struct query *query, const struct seen_job *seen);

int command_list(char *const *argv)
{
    struct query query;
    struct error err;
    bool         has_head = false;
    int          status = query_begin(&query, argv, QUERY_ALL, 0, 0), count;

    if (status != 0)
        return status;
    count = each_job(&query, print_row, &has_head, &err);
    if (count < 0) {
        log_error("%s", err.text);
        status = EXIT_UNREACHABLE;
    } else if (count == 0)
        printf("no jobs\n");
    query_end(&query);
    return status;
}

static void print_row(void *arg, const struct query *query, const struct seen_job *seen)
{
    bool *has_head = arg;
    char  duration[SHOW_BYTES];

    if (!*has_head)
        printf("%s%-32s %-23s %-13s %-9s %s\n", query->is_all ? "NAMESPACE        " : "", "NAME",
               "STATUS", "TRAINER", "DURATION", "GPU(Requested)");
    *has_head = true;
    show_duration(seen->job, seen->observed, api_now(query->place.api), duration);
    if (query->is_all)
        printf("%-16s ", seen->space);
    printf("%-32s %-23s %-13s %-9s %" PRId64 "\n", seen->job->name,
           show_status(seen->plan, seen->job, seen->observed), "DEEPSPEEDJOB", duration,
           seen->job->workers * job_gpus(seen->job));
}
