/* as_root.h - muster bootstrap on a node where the login is not root
 *
 * By `sudo -n`, which never asks: the agent's own program once more, which reads the request and
 * writes the lines of the task, to where the task would.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_AS_ROOT_H
#define MUSTER_AGENT_AS_ROOT_H

#include <jansson.h>

#include "task/task_output.h"

#define AS_ROOT_OPTION "bootstrap" /* of muster-agent */
#define AS_ROOT_FAILED 3

/* The status of the task. */
int as_root(const json_t *request, struct task_output *out);
/* What that program does: the request is on stdin, lines go to stdout. Its exit status: that of
 * the task, but AS_ROOT_FAILED for 1, which sudo itself ends with. SIGALRM ends it at the deadline
 * of the task, and with it the program that it has started. */
int as_root_main(void);

#endif
