/* rank_output.h - the output of ranks, between OUTPUT frames and output.h
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RANK_OUTPUT_H
#define MUSTER_RANK_OUTPUT_H

#include <stdbool.h>

#include "frame.h"
#include "output/output.h"

struct run;
struct node;

/* Make the output of a run, and send the log there. shown: rank_labels.h. */
struct output *rank_output_open(struct run *run, const bool *shown);
/* Everything is over: write what waits. */
void rank_output_finish(struct run *run);

/* An OUTPUT frame has come, of a rank of that node. */
void rank_output_take(struct run *run, struct node *node, const struct frame *frame);

/* The run is stopping: give up a reader who takes nothing for too long. */
void rank_output_check_reader(struct run *run);
/* While the run is stopping: output still comes, or waits for its reader. */
bool rank_output_is_moving(const struct run *run);

#endif
