/* agent_frames.h - the frames that agents send, and what they mean for the run
 *
 * Every frame that node_frames.c does not handle comes here. It is checked: may the node send
 * it now? A frame that concerns one part of the run is passed to that part's file.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_FRAMES_H
#define MUSTER_AGENT_FRAMES_H

#include <jansson.h>

#include "frame.h"

struct node;

/* The callback node_ops.frame. body: NULL for raw frames. */
void agent_frames_take(struct node *node, const struct frame *frame, const json_t *body,
                       void *run);

#endif
