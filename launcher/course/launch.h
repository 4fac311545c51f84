/* launch.h - carry out a plan, from the first connection to the exit status
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LAUNCH_H
#define MUSTER_LAUNCH_H

#include "err.h"
#include "history/run_dir.h"
#include "options/options.h"
#include "plan/plan.h"
#include "node/node_job.h"

/* For --detach, which waits until the ranks have started. The run then needs a directory. */
struct launch_watcher {
    /* The run has its directory, and nothing was printed yet. -1 with err: do not continue. */
    int (*has_dir)(const struct run_dir *dir, void *arg, struct error *err);
    /* All ranks have started. Called once. */
    void (*started)(void *arg);
    void *arg;
};

/* Carries out the plan and prints the report. Fills in the plan's master and interfaces. job:
 * what nodes do instead of running ranks; NULL: there are ranks. watcher may be NULL. Returns
 * muster's exit status (outcome.h). */
int launch_run(const struct options *options, struct plan *plan, const struct node_job *job,
               const struct launch_watcher *watcher);

#endif
