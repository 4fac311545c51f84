/* commands.h - the subcommands, called by main.c
 *
 * muster and muster exec are runs (course/launch.h) and need nothing here; neither does muster
 * check, which is a run of muster-train.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COMMANDS_H
#define MUSTER_COMMANDS_H

#include <stdio.h>

#include "history/history.h"
#include "options/options.h"
#include "node/node_job.h"

/* Commands about runs that this machine has launched. Each returns its exit status. attach.c,
 * status.c, stop.c, drain.c, show_stacks.c, open_page.c. */
int command_attach(const struct options *options);
int command_status(const struct options *options);
int command_stop(const struct options *options);
int command_kill(const struct options *options);
int command_drain(const struct options *options);
int command_scale(const struct options *options);
int command_stacks(const struct options *options);
int command_open(const struct options *options);

/* Prepares to resume a run. Returns -1 with the run's options in again, or an exit status. Call
 * options_clear(again) in both cases. resume.c. */
int command_resume(const struct options *options, struct options *again);

/* --replace: stops, as muster stop does, all runs of that name that this machine has launched.
 * The agents deal with those of other machines. Returns 0 or an exit status. stop.c. */
int stop_namesakes(const char *name);

/* Open the manual page if standard output is a terminal and the page is installed; else print
 * the help. Returns the exit status. help.c. */
int command_help(enum command topic);

/* Executes muster-k8s with these arguments, of which the first is "k8s". Returns only an exit
 * status for failure: muster-k8s is missing or cannot be executed. k8s.c. */
int command_k8s(char **argv);

/* stop.c: returns the run that options name; if they name none, the only active one. NULL with err:
 * there is none, or more than one. */
struct past_run *stop_choose(const struct history *list, const struct options *options,
                             struct error *err);

/* status.c: prints a row for each run, or a line that there are none. */
void status_print_runs(const struct history *list, FILE *out);

/* The node job of muster clean, for launch_run(). clean.c; see also bcast/. */
extern const struct node_job clean_job;

#endif
