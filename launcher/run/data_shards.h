/* data_shards.h - the run's side of shards/: requests of ranks, time, ends of ranks, the report
 *
 * A rank asks over its PMI descriptor, its agent passes the line on in a SHARD frame, and the
 * answer goes back the same way. The datasets outlive a generation: what its ranks had is given to
 * those of the next.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DATA_SHARDS_H
#define MUSTER_DATA_SHARDS_H

#include <stdbool.h>

#include "err.h"
#include "frame.h"

struct node;
struct run;
struct data_shards;

/* Before the run's directory is made: to look at the runs there ends a lock that this process has.
 * -1 with err: what --shards-resume names cannot be resumed. */
int  data_shards_open(struct run *run, struct error *err);
void data_shards_free(struct data_shards *shards); /* NULL is fine */

/* Once the run has a directory: what it continues with is kept there, though no rank has asked. */
void data_shards_begin(struct run *run);

/* A SHARD frame of one of that node's ranks. */
void data_shards_take(struct run *run, struct node *node, const struct frame *frame);

void data_shards_rank_gone(struct run *run, int rank, bool has_failed);
/* Another generation follows. */
void data_shards_again(struct run *run);

/* The run is over: tell what was not read, or more than once, and write what is left. */
void data_shards_end(struct run *run);
/* After that: add "shards" to the result, if there were any. */
void data_shards_json(const struct run *run, json_t *result);

#endif
