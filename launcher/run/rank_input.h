/* rank_input.h - muster's standard input on its way to ranks (--stdin)
 *
 * Each node may have so many bytes that it has not given to its ranks (frame.h), and muster reads
 * only what every node has room for: memory is bounded, and the slowest rank decides. Nothing is
 * read before all ranks that get input have been started. A generation gets what no earlier one
 * was sent.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RANK_INPUT_H
#define MUSTER_RANK_INPUT_H

#include <stdbool.h>

#include "frame.h"

struct run;
struct node;

/* Makes run->input; NULL: no rank gets input. */
void rank_input_open(struct run *run);
/* Every node is over: the terminal is the user's again. */
void rank_input_close(struct run *run);

/* Another generation follows, perhaps on other nodes. */
void rank_input_again(struct run *run);

/* The node has changed its state: its ranks run, or get no more. */
void rank_input_look(struct run *run, const struct node *node);

/* Handles CREDIT or INPUT of that node. False: the frame is neither, or not expected. */
bool rank_input_take(struct run *run, struct node *node, const struct frame *frame);

#endif
