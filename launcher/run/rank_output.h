/* rank_output.h - passes the output of ranks from OUTPUT frames to output.h
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RANK_OUTPUT_H
#define MUSTER_RANK_OUTPUT_H

#include <stdbool.h>

#include "frame.h"
#include "output/output.h"

struct run;
struct node;
struct plan;

/* Makes run->output, and sends the log there. */
void rank_output_open(struct run *run);
/* Every node is over: waits until the pending output is read, or the user leaves. From then
 * until rank_output_close(), muster's own lines go to stderr if it takes them at once. */
void rank_output_finish(struct run *run);
void rank_output_close(struct run *run);

/* Another generation of that world (the plan, or a role) follows: its lines get the labels of its
 * ranks, and muster warns again if the reader stalls. */
void rank_output_again(struct run *run, const struct plan *world);

/* Handles an OUTPUT frame of a rank of that node. */
void rank_output_take(struct run *run, struct node *node, const struct frame *frame);

/* While the run stops: warns that the reader has stalled, or gives it up if the user has
 * insisted. */
void rank_output_check_reader(struct run *run);
/* While the run stops: notes whether a reader holds up the end of a node. */
void rank_output_note_reader(struct run *run);
/* While the run stops: does output of that node still come, or wait for its reader? */
bool rank_output_is_awaited(const struct run *run, const struct node *node);

#endif
