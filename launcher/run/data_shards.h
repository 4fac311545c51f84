/* data_shards.h - connects a run with shards/: requests and exits of ranks, leases, the report
 *
 * A rank sends a request over its PMI descriptor, its agent passes the line on in a SHARD
 * frame, and the answer goes back the same way. The datasets outlive a generation: shards that
 * its ranks held are given to ranks of the next generation.
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

/* Reads the state of the run that --shards-resume names. Call it before the run's directory is
 * made: it opens and closes the logs of all runs, which would release the lock on our own. -1
 * with err: that run cannot be resumed. */
int  data_shards_open(struct run *run, struct error *err);
void data_shards_free(struct data_shards *shards); /* NULL is fine */

/* Writes the resumed state to the run's directory, even if no rank ever sends a request. */
void data_shards_begin(struct run *run);

/* Handles a SHARD frame of one of that node's ranks. */
void data_shards_take(struct run *run, struct node *node, const struct frame *frame);

void data_shards_rank_gone(struct run *run, int rank, bool has_failed);
/* Takes back the shards of all ranks: another generation follows. */
void data_shards_again(struct run *run);

/* Called when the run is over: reports shards that were not read, or more than once, and writes
 * the rest of the state. */
void data_shards_end(struct run *run);
/* Adds "shards" to the result, if there were any. Call it after data_shards_end(). */
void data_shards_json(const struct run *run, json_t *result);

#endif
