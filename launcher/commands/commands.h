/* commands.h - the subcommands, as main.c chooses among them
 *
 * muster and muster exec are runs (run/launch.h) and need nothing here; neither does muster
 * check, which is a run of muster-train.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COMMANDS_H
#define MUSTER_COMMANDS_H

#include <stdio.h>

#include "history/history.h"
#include "options/options.h"
#include "node/node_job.h"

/* About runs that this machine has launched; each returns its exit status. attach.c, status.c,
 * stop.c, drain.c. */
int command_attach(const struct options *options);
int command_status(const struct options *options);
int command_stop(const struct options *options);
int command_drain(const struct options *options);
int command_scale(const struct options *options);

/* Let a run go on: -1, and again is what is to be run; else an exit status. options_clear(again)
 * either way. resume.c. */
int command_resume(const struct options *options, struct options *again);

/* --replace: what muster stop does, with all runs of that name that this machine has launched.
 * Those of other machines are left to the agents. Returns 0 or an exit status. stop.c. */
int stop_namesakes(const char *name);

/* Open the manual page if standard output is a terminal and the page is installed; else print
 * the help. Returns the exit status. help.c. */
int command_help(enum command topic);

/* Become muster-k8s with these arguments, of which the first is "k8s". Returns an exit status if
 * it is not there or cannot be executed. k8s.c. */
int command_k8s(char **argv);

/* status.c: a row for each run, for people, or a line that there is none. */
void status_print_runs(const struct history *list, FILE *out);

/* What launch_run() does on nodes instead of running ranks. clean.c; see also bcast/. */
extern const struct node_job clean_job;

#endif
