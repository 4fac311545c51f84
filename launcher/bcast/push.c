/* push.c - see push.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/push.h"

#include "bcast/bcast.h"
#include "course/launch.h"
#include "log.h"
#include "plan/program.h"

static int report(const struct run *run, int status, FILE *out, FILE *err);

int push_files(const struct options *options, const struct selection *selection, char *const *here)
{
    struct node_job job = bcast_job;
    struct options  pushing = *options; /* borrows the texts of options */
    struct program  none = { 0 };
    struct plan     plan;
    struct error    err;
    int             status;

    if (options->push.count == 0)
        return 0;
    job.report = report;
    pushing.command = COMMAND_BCAST;
    pushing.args = options->push;
    pushing.to = pushing.json = pushing.name = NULL;
    pushing.show_ranks = pushing.log_dir = pushing.each_rank_log = NULL;
    pushing.save_pid = pushing.sudo = false; /* the copies are the user's */
    if (plan_make(&plan, &pushing, selection, &none, here, &err) < 0) {
        log_error("%s", err.text);
        return EXIT_USAGE;
    }
    status = launch_run(&pushing, &plan, &job, NULL);
    plan_clear(&plan);
    return status;
}

static int report(const struct run *run, int status, FILE *out, FILE *err)
{
    (void)out;
    return bcast_report(run, status, log_wants(LOG_INFO) ? err : NULL, err);
}
