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

/* Make run->output, and send the log there. */
void rank_output_open(struct run *run);
/* Every node is over: wait until what waits is read, or the user leaves. Then muster's own lines
 * go to stderr, if it takes them at once; rank_output_close() ends that. */
void rank_output_finish(struct run *run);
void rank_output_close(struct run *run);

/* Another generation: its lines have their ranks' labels, and its reader is told anew. */
void rank_output_again(struct run *run);

/* An OUTPUT frame has come, of a rank of that node. */
void rank_output_take(struct run *run, struct node *node, const struct frame *frame);

/* The run is stopping: say that the reader has stalled, or give it up if the user has insisted. */
void rank_output_check_reader(struct run *run);
/* The run is stopping: note whether a reader holds up the end of a node. */
void rank_output_note_reader(struct run *run);
/* Then: output of that node still comes, or waits for its reader. */
bool rank_output_is_awaited(const struct run *run, const struct node *node);

#endif
