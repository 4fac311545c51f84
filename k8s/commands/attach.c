/* attach.c - muster k8s attach: what submit --wait does, for a job that was submitted before
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/execute.h"
#include "commands/follow.h"
#include "commands/query.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "log.h"

int command_attach(const struct subcommand *self, char *const *argv)
{
    struct query    query;
    struct job      job = { 0 };
    struct observed observed = { 0 };
    struct error    err;
    int             status = query_begin(&query, self, argv, QUERY_TAIL, 1, 1);

    if (status != 0)
        return status;
    if (query_find(&query, &job, &observed, &err) < 0 ||
        execute_observe(&query.place, &job, &observed, &err) < 0) {
        log_error("%s", err.text);
        status = EXIT_UNREACHABLE;
    } else
        status = follow_wait(&query.place, &job, &observed, query.tail);
    observed_clear(&observed);
    job_clear(&job);
    query_end(&query);
    return status;
}
