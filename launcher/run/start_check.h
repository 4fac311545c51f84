/* start_check.h - what nodes say of themselves that speaks against a start
 *
 * No rank runs yet, so a node that fails here goes into the one table with all others that
 * cannot start. What may be on purpose is only warned about. Nothing of this is done for
 * `muster exec`, which uses neither slots nor GPUs.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_START_CHECK_H
#define MUSTER_START_CHECK_H

#include <stdbool.h>

#include <jansson.h>

struct run;
struct node;

/* When one has answered; false: it has failed. */
bool start_check_hello(const struct run *run, struct node *node);
/* When one has answered that has no place in the world; false: it has failed. */
bool start_check_other(const struct run *run, struct node *node);
/* When all have. */
void start_check_nodes(struct run *run);
/* When one has said READY; false: it has failed. */
bool start_check_ready(struct run *run, struct node *node, const json_t *ready);
/* Before GO. */
void start_check_clocks(const struct run *run);

#endif
