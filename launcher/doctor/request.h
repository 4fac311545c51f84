/* request.h - builds muster doctor's requests to a node, for the program that the user wants to
 * run
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REQUEST_H
#define MUSTER_REQUEST_H

#include <jansson.h>

#include "plan/program.h"
#include "task/node_task.h"

struct run;
struct node;

/* Round 0: returns the request about the node itself. */
json_t *request_node(const struct run *run, const struct node *node,
                     const struct program *program);

/* Round 0, with --transport=exec: all nodes are processes on this machine. Returns the names of the
 * checks that node first answers for node, too: those that would only make the machine busy. NULL:
 * there are none. */
json_t *request_skip(const struct run *run, size_t node, size_t first);
/* Is this one of them? */
bool request_skips(const json_t *skip, const char *check);

/* Round 1: returns the request to connect to peers. ports: by node, a port found free there; 0:
 * none. token: 16 characters that all nodes get. NULL: there is no peer. */
json_t *request_peers(const struct run *run, const struct node *node, const int *ports,
                      const char *token);

/* Each later round, with --full: returns the request to send to one peer, over the path that
 * the node found in round 1 of task. With few nodes each node sends to each other one, and more
 * than once. NULL: there are no more rounds. */
json_t *request_speed(const struct run *run, const struct node *node, const int *ports,
                      const char *token, const struct node_task *task, int round);

#endif
