/* node_job.h - work on nodes that starts no ranks: muster clean, muster bcast
 *
 * Nodes do not wait for each other, unless task/node_task.h makes them. Each is asked once it
 * has answered, says what there is to say, enters NODE_PROBED and is told to STOP.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NODE_JOB_H
#define MUSTER_NODE_JOB_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "frame.h"

struct run;
struct node;

struct node_job {
    /* Before any node is connected: make *data, which the others find as run->job_data. 0, or
     * the exit status, and the user was told what is wrong. */
    int (*prepare)(const struct run *run, void **data);
    void (*begin)(struct run *run, struct node *node);
    /* A frame has come; body as in node_ops. False: the job does not expect it. */
    bool (*frame)(struct run *run, struct node *node, const struct frame *frame,
                  const json_t *body);
    /* The node has ended or failed; it is given no frame any more. NULL: the job need not know. */
    void (*over)(struct run *run, struct node *node);
    /* Print what came of it, on stdout and stderr, and give the exit status; status is that of
     * the nodes. */
    int (*report)(const struct run *run, int status, FILE *out, FILE *err);
    json_t *(*json)(const struct run *run, int status);
    void (*free)(const struct run *run, void *data); /* NULL is fine */
    /* Also nodes are to answer that are behind a path which loses large packets (conn.h). */
    int segment_bytes;
};

#endif
