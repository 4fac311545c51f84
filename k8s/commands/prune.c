/* prune.c - muster k8s prune: delete the jobs that ended some time ago
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>

#include "commands/each.h"
#include "commands/execute.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "log.h"

static void prune(void *arg, const struct query *query, const struct seen_job *seen);

int command_prune(const struct subcommand *self, char *const *argv)
{
    struct query query;
    struct error err;
    int          status = query_begin(&query, self, argv, QUERY_ALL | QUERY_SINCE, 0, 0);
    int          failures = 0;

    if (status != 0)
        return status;
    if (query.since_s < 0) {
        log_error("--since=TIME is missing: how long ago a job must have ended, such as 10h");
        status = EXIT_USAGE;
    } else if (each_job(&query, prune, &failures, &err) < 0) {
        log_error("%s", err.text);
        status = EXIT_UNREACHABLE;
    } else
        status = failures > 0 ? EXIT_UNREACHABLE : 0;
    query_end(&query);
    return status;
}

static void prune(void *arg, const struct query *query, const struct seen_job *seen)
{
    const struct observed_object *launcher = &seen->observed->object[object_launcher(seen->job)];
    struct place                  place = { .api = query->place.api, .space = seen->space };
    int64_t                       ended_s = seen->observed->ended_s;
    struct error                  err;

    if (ended_s == 0) /* not recorded: submitted without --wait */
        ended_s = launcher->ended_s;
    if (seen->plan->outcome == OUTCOME_NONE || ended_s == 0 ||
        api_now(place.api) - ended_s < query->since_s)
        return;
    if (execute_delete(&place, seen->job, seen->observed, &err) == 0)
        printf("deepspeedjob.muster.dev/%s deleted\n", seen->job->name);
    else {
        log_error("job %s of namespace %s: %s", seen->job->name, seen->space, err.text);
        ++*(int *)arg;
    }
}
