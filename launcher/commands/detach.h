/* detach.h - --detach: runs the launcher without its terminal
 *
 * muster forks. The child is the launcher: once it has a run directory, its output goes to two
 * files there, and it leaves the terminal's session. The parent stays in the foreground and
 * shows those files on stderr, as muster attach does, until all ranks have started or the
 * launcher has exited. stdout is for the run id. The parent forwards Ctrl-C to the launcher.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DETACH_H
#define MUSTER_DETACH_H

#include "options/options.h"
#include "plan/plan.h"

/* Does all of this. Returns an exit status in both processes. */
int detach_run(const struct options *options, struct plan *plan);

#endif
