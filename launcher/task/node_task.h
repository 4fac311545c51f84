/* node_task.h - runs a task on every node, in rounds (muster doctor, muster bootstrap)
 *
 * A node job owns a node_task and forwards its begin, frame and over callbacks to it. Each node
 * gets the TASK of round 0 as soon as it has answered. When every node has ended its task of a
 * round or has failed, the remaining nodes get the TASK of the next round. So a request may
 * contain the answers of other nodes. A node whose request is NULL is done.
 *
 * If a node fails, the others continue: run->outcome.node[] says why it failed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NODE_TASK_H
#define MUSTER_NODE_TASK_H

#include <stdbool.h>

#include <jansson.h>

#include "frame.h"

struct run;
struct node;
struct node_task;

struct node_task_ops {
    const char *task; /* "doctor" */
    /* Returns the request to this node in this round, without "task", "id" and "deadline_s",
     * which the caller adds. Must set *deadline_s. NULL: there are no more requests. */
    json_t *(*request)(struct run *run, const struct node *node, int round, double *deadline_s);
    /* Handles a line; the lines of a task come in order. NULL: the job uses
     * node_task_lines(). */
    void (*line)(struct run *run, const struct node *node, int round, const json_t *line);
};

/* How the task of a round ended on a node. */
struct node_task_end {
    bool has_ended; /* false: there was no task, or the node failed before its end */
    int  status;    /* -1: signal killed it */
    int  signal;
    bool timed_out;
    int  dropped; /* number of lines dropped */
};

struct node_task *node_task_new(const struct run *run, const struct node_task_ops *ops);
void              node_task_free(struct node_task *task); /* NULL is fine */

/* As in node_job.h. */
void node_task_begin(struct node_task *task, struct run *run, struct node *node);
bool node_task_frame(struct node_task *task, struct run *run, struct node *node,
                     const struct frame *frame, const json_t *body);
void node_task_over(struct node_task *task, struct run *run, struct node *node);

/* Returns the lines of a round's task on a node so far: an array of objects, borrowed; NULL:
 * there was no task. */
const json_t               *node_task_lines(const struct node_task *task, size_t node, int round);
const struct node_task_end *node_task_ended(const struct node_task *task, size_t node, int round);

#define NODE_TASK_ROUNDS_MAX 8

#endif
