/* prompt.h - muster exec without a command: one line after the other, each on all nodes
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROMPT_H
#define MUSTER_PROMPT_H

#include "commands/first_hosts.h"
#include "options/options.h"

/* What to do on these hosts; returns an exit status. It may change its process as it likes: the
 * prompt gives it one of its own. */
typedef int prompt_work(const struct options *options, struct first_hosts *hosts);

/* Finds the hosts, once. Then push copies the files of --push, once, and run executes each line
 * that is read, as the command in options. Returns the exit status of the last line, with
 * --largest-status the largest; or one that says why no line was read. */
int prompt_run(const struct options *options, prompt_work *push, prompt_work *run);

#endif
