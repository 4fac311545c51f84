/* node_job.h - work on nodes that starts no ranks: muster clean, muster bcast
 *
 * Nodes do not wait for each other, unless task/node_task.h makes them. Once a node has
 * answered, the job asks it and takes its answer. Then the node enters NODE_PROBED and gets
 * STOP.
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
    /* Called before any node is connected. Makes *data, which the other callbacks find as
     * run->job_data. Returns 0, or the exit status after it reported the error to the user. */
    int (*prepare)(const struct run *run, void **data);
    void (*begin)(struct run *run, struct node *node);
    /* Handles a frame; body as in node_ops. False: the job does not expect this frame. */
    bool (*frame)(struct run *run, struct node *node, const struct frame *frame,
                  const json_t *body);
    /* The node has ended or failed; no more frames follow. NULL: the job does not need this. */
    void (*over)(struct run *run, struct node *node);
    /* Prints the result to out and err, and returns the exit status; status: that of the
     * nodes. */
    int (*report)(const struct run *run, int status, FILE *out, FILE *err);
    json_t *(*json)(const struct run *run, int status);
    void (*free)(const struct run *run, void *data); /* NULL is fine */
    /* The maximum segment size, so that nodes behind a path which loses large packets can
     * answer too (conn.h); 0: the default. */
    int  segment_bytes;
    bool needs_root; /* as with --sudo, but without a password */
};

#endif
