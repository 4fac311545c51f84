/* as_root.h - muster bootstrap on a node where the login is not root
 *
 * It uses `sudo -n`, which never asks, to run the agent's program once more. That program
 * reads the request and writes the lines of the task to where the task would write them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_AS_ROOT_H
#define MUSTER_AGENT_AS_ROOT_H

#include <jansson.h>

#include "task/task_output.h"

#define AS_ROOT_OPTION "bootstrap" /* muster-agent's option */
#define AS_ROOT_FAILED 3

/* Returns the status of the task. */
int as_root(const json_t *request, struct task_output *out);
/* The main function of that program: reads the request on stdin, writes lines to
 * stdout. Returns the exit status: that of the task, but AS_ROOT_FAILED for 1, which
 * sudo uses itself. SIGALRM kills the program at the deadline of the task, and with it
 * the program that it has started. */
int as_root_main(void);

#endif
