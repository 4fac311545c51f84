/* commands.h - the subcommands, as main.c chooses among them
 *
 * muster and muster exec are runs (run/launch.h) and need nothing here; nor does muster check,
 * a run of muster-train.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COMMANDS_H
#define MUSTER_COMMANDS_H

#include "options/options.h"
#include "run/node_job.h"

/* About runs of this machine; each returns its exit status. attach.c, status.c, stop.c. */
int command_attach(const struct options *options);
int command_status(const struct options *options);
int command_stop(const struct options *options);

/* Open the manual page if standard output is a terminal and the page is installed; else print
 * the help. Returns the exit status. help.c. */
int command_help(enum command topic);

/* What launch_run() does on nodes instead of running ranks. clean.c, bcast.c. */
extern const struct node_job clean_job;
extern const struct node_job bcast_job;

#endif
