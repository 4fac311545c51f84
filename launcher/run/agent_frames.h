/* agent_frames.h - what the nodes send, and what it means for the run
 *
 * Every frame that node_frames.c does not deal with itself comes here, and is checked against
 * what the node may say now. What concerns one part of the run is passed to that part's file.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_FRAMES_H
#define MUSTER_AGENT_FRAMES_H

#include <jansson.h>

#include "frame.h"

struct node;

/* node_ops.frame: body is NULL for raw frames. */
void agent_frames_take(struct node *node, const struct frame *frame, const json_t *body, void *run);

#endif
