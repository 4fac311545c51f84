/* node_task.h - a task on every node, in rounds: muster doctor, muster bootstrap
 *
 * A part of a node job, which hands its begin, frame and over on to here. Each node gets the
 * TASK of round 0 as soon as it has answered. When every node has ended its task of a round or
 * has failed, those that are left get the one of the next round, so that a request may contain
 * what other nodes have said. A node whose request is NULL has done its job.
 *
 * A node that fails is no concern of the others: run->outcome.node[] says why it did.
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
    /* What is asked of this node in this round, besides "task", "id" and "deadline_s", which
     * are added; *deadline_s is to be set. NULL: nothing more. */
    json_t *(*request)(struct run *run, const struct node *node, int round, double *deadline_s);
    /* A line has come: lines of a task come in order. NULL: node_task_lines() will do. */
    void (*line)(struct run *run, const struct node *node, int round, const json_t *line);
};

/* How the task of a round ended on a node. */
struct node_task_end {
    bool has_ended; /* false: it was not asked, or the node failed before the end */
    int  status;    /* -1: signal ended it */
    int  signal;
    bool timed_out;
    int  dropped; /* lines */
};

struct node_task *node_task_new(const struct run *run, const struct node_task_ops *ops);
void              node_task_free(struct node_task *task); /* NULL is fine */

/* As in node_job.h. */
void node_task_begin(struct node_task *task, struct run *run, struct node *node);
bool node_task_frame(struct node_task *task, struct run *run, struct node *node,
                     const struct frame *frame, const json_t *body);
void node_task_over(struct node_task *task, struct run *run, struct node *node);

/* What the task of a round has said on a node so far: an array of objects, borrowed; NULL: it
 * was not asked. */
const json_t               *node_task_lines(const struct node_task *task, size_t node, int round);
const struct node_task_end *node_task_ended(const struct node_task *task, size_t node, int round);

#define NODE_TASK_ROUNDS_MAX 8

#endif
