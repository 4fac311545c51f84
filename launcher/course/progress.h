/* progress.h - what the nodes of the world report, and when the next phase begins
 *
 * When the last node has given the answer that the phase awaits (phase.h), the next phase
 * begins, or STOPPING if a node has failed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROGRESS_H
#define MUSTER_PROGRESS_H

struct node_ops;

/* The callbacks of the nodes that have a place; arg: the run. */
extern const struct node_ops progress_node_ops;

#endif
