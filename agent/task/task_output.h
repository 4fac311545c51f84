/* task_output.h - sends the lines of a task from its child to the agent
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_TASK_OUTPUT_H
#define MUSTER_AGENT_TASK_OUTPUT_H

#include <jansson.h>

struct task_output {
    int fd; /* a pipe */
};

/* Sends one line now; line is an object, and is released. Beyond the limits of
 * frame.h (for a line, and for all lines of a task) the agent drops lines, and
 * TASK_END reports their number. */
void task_output_line(struct task_output *out, json_t *line);

#endif
