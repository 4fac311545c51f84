/* spare.h - nodes without a place in the world: connecting them, and what they report
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SPARE_H
#define MUSTER_SPARE_H

#include <stddef.h>

struct run;
struct node_ops;

/* The callbacks of these nodes; arg: the run. */
extern const struct node_ops spare_node_ops;

/* Connects the member and checks it: it becomes a spare, or fails. Then run_changed() is
 * called. */
void spare_connect(struct run *run, size_t which);

#endif
