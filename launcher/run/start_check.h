/* start_check.h - checks what nodes report about themselves before ranks start
 *
 * No rank runs yet, so a node that fails here is listed in one table with all others that
 * cannot start. If the user may have intended something, muster only warns. `muster exec` does
 * without these checks, since it uses neither slots nor GPUs.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_START_CHECK_H
#define MUSTER_START_CHECK_H

#include <stdbool.h>

#include <jansson.h>

struct run;
struct node;

/* Checks a node that has answered. False: the node has failed. */
bool start_check_hello(const struct run *run, struct node *node);
/* Compares a node without a place in the world with the other nodes. False: it has failed. */
bool start_check_other(const struct run *run, struct node *node);
/* Checks all nodes, once all have answered. */
void start_check_nodes(struct run *run);
/* Checks a node that has sent READY. False: the node has failed. */
bool start_check_ready(struct run *run, struct node *node, const json_t *ready);
/* Compares the clocks of the nodes, before GO. */
void start_check_clocks(const struct run *run);

#endif
