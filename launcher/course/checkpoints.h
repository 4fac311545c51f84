/* checkpoints.h - the checkpoints that the ranks of a run write, as agents see them
 *
 * With --ckpt-marker the agent of the first node of each world looks at the marker while the ranks
 * run. What is known stands in run->checkpoints (elastic/checkpoint_log.h): --max-no-progress,
 * --hang-timeout, muster status and the costs use it. Here users hear of a checkpoint that is late,
 * and of storage that does not answer.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHECKPOINTS_H
#define MUSTER_CHECKPOINTS_H

#include <stdbool.h>

#include <jansson.h>

#include "elastic/policy.h"
#include "err.h"

struct node;
struct plan;
struct run;

/* Makes run->checkpoints. */
void checkpoints_open(struct run *run);
void checkpoints_close(struct run *run);
/* The ranks of a world, which may be one role, start again. */
void checkpoints_again(struct run *run, const struct plan *world);

/* Handles CHECKPOINT. -1 with err: the body is not what doc/PROTOCOL says, or not from the node
 * that looks. */
int checkpoints_take(struct run *run, const struct node *node, const json_t *body,
                     struct error *err);

/* Returns the last one of a world, which may be one role, or the plan: the path of its marker,
 * safe to print; NULL: none was seen. Borrowed. */
const char *checkpoints_last(const struct run *run, const struct plan *world);

/* Fills in whether this generation of that world, which may be one role, has made progress: by
 * its steps, or to a new checkpoint. */
void checkpoints_progress(const struct run *run, const struct plan *world,
                          struct policy_event *event);

#endif
