/* task.h - work that the launcher requests from a node, done by a child of the agent
 *
 * Examining a node, or changing it, can hang in a dead file system or a driver, and runs other
 * programs. So a child does it, in its own session, and the agent remains free to answer. The
 * child writes lines, each a JSON object, and the agent passes them on as they arrive. The
 * child is killed at the deadline, at task_free() and if the agent dies. When it has exited,
 * the remaining processes of its session are killed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_TASK_H
#define MUSTER_AGENT_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <event2/event.h>
#include <jansson.h>

#include "err.h"
#include "task/task_output.h"

#define TASK_DEADLINE_MAX_S 86400.0
#define TASK_STUCK_S        1.0 /* limit for KILL; after it, the child is stuck in the kernel */

/* A task. run is called in the child, with the body of TASK; it returns the "status" of
 * TASK_END, 0 to 255. The last row of a table has no name. */
struct task_row {
    const char *name;
    int (*run)(const json_t *request, struct task_output *out);
};

/* line gets the body of TASK_LINE, end that of TASK_END, once and last; both own the body. */
struct task_ops {
    void (*line)(json_t *body, void *arg);
    void (*end)(json_t *body, void *arg);
};

/* The part that every TASK frame has. */
struct task_request {
    const struct task_row *row;
    uint32_t               id;
    double                 deadline_s;
};

struct task;

/* -1 with err if the body is malformed, or names a task that is not in the table. */
int task_request_read(struct task_request *request, const json_t *body,
                      const struct task_row *table, struct error *err);

/* Forks the child. NULL with err if that fails. The caller frees the task,
 * but not in a callback. */
struct task *task_begin(struct event_base *base, const struct task_request *request,
                        const json_t *body, const struct task_ops *ops, void *arg,
                        struct error *err);
/* Sends a signal to the child, which must be ready for it: until then it would die of it. */
void         task_signal(const struct task *task, int signal);
bool         task_is_over(const struct task *task); /* end was called */
/* Once it is over: returns its child if the kernel does not let go of it even at a KILL; else 0. */
pid_t        task_stuck(const struct task *task);
void         task_free(struct task *task);          /* NULL is fine */

#endif
