/* task_output.h - the lines of a task, from the child that does it to the agent
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_TASK_OUTPUT_H
#define MUSTER_AGENT_TASK_OUTPUT_H

#include <jansson.h>

struct task_output {
    int fd; /* a pipe */
};

/* One line now; line is an object, and is released. Beyond the bounds of frame.h (of a line,
 * and of all lines of a task) the agent drops lines, and TASK_END says how many. */
void task_output_line(struct task_output *out, json_t *line);

#endif
