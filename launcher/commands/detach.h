/* detach.h - --detach: a launcher that goes on without its terminal
 *
 * muster forks. The child is the launcher: once it has a run directory its output goes to
 * two files there, and it leaves the terminal's session. The parent stays in the foreground
 * and shows those files, as muster attach does, until all ranks have started or the
 * launcher has ended, on stderr: stdout is for the id of the run. Ctrl-C there is one for
 * the launcher.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DETACH_H
#define MUSTER_DETACH_H

#include "history/run_dir.h"
#include "options/options.h"
#include "plan/plan.h"

struct detach {
    int fd; /* the launcher's word to the foreground; -1: all is said */
};

/* All of it; returns an exit status, once in each process. */
int detach_run(const struct options *options, struct plan *plan);

/* The launcher: out of the terminal, into the files of its directory. -1 with err. Before
 * anything has taken standard output for what it was. */
int detach_leave(const struct detach *detach, const struct run_dir *dir, struct error *err);

/* The launcher: all ranks have started, nobody needs to wait any more. */
void detach_started(struct detach *detach);

#endif
