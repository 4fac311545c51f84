/* request.h - what muster doctor asks a node, by what the user wants to run
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REQUEST_H
#define MUSTER_REQUEST_H

#include <jansson.h>

#include "plan/program.h"
#include "task/node_task.h"

struct run;
struct node;

/* Round 0: about the node itself. */
json_t *request_node(const struct run *run, const struct node *node,
                     const struct program *program);

/* Round 1: ports[] by node, as they were found free; 0: none. token: 16 characters that all nodes
 * get. NULL: there is nobody to call. */
json_t *request_peers(const struct run *run, const struct node *node, const int *ports,
                      const char *token);

/* Each later round, with --full: the node sends to one peer, over the way that it has told of in
 * round 1 of task. With few nodes each sends to each, and more than once. NULL: that was the last
 * round. */
json_t *request_speed(const struct run *run, const struct node *node, const int *ports,
                      const char *token, const struct node_task *task, int round);

#endif
