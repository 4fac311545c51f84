/* launch.h - carry a plan out: from the first connection to the exit status
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LAUNCH_H
#define MUSTER_LAUNCH_H

#include "err.h"
#include "history/run_dir.h"
#include "options/options.h"
#include "plan/plan.h"
#include "node/node_job.h"

/* Somebody waits for the ranks to start: --detach. The run then needs a directory. */
struct launch_watcher {
    /* The run has its directory, and nothing was printed yet. -1 with err: do not continue. */
    int (*has_dir)(const struct run_dir *dir, void *arg, struct error *err);
    /* All ranks have started. Once. */
    void (*started)(void *arg);
    void *arg;
};

/* How long a run that was told to end may take at most, beyond its grace: an agent reports 10 s
 * after KILL what survives that, and its report must reach us. The reader of the output may take
 * longer. */
#define LAUNCH_STOP_S 15.0

/* Run it all and print the report. Fills in the plan's master and interfaces on the way. job:
 * what nodes do instead of running ranks; NULL: there are ranks. watcher may be NULL. Returns
 * muster's exit status (outcome.h). */
int launch_run(const struct options *options, struct plan *plan, const struct node_job *job,
               const struct launch_watcher *watcher);

#endif
