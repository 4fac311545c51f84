/* data_shards.h - samples that muster assigns to this rank, instead of a fixed share
 *
 * A shard is a micro-batch of consecutive sample numbers (model/data.h). All ranks take the
 * same number of shards in a step. A shard is reported as done when a checkpoint that includes
 * it is on the disk. So after a restart from that checkpoint, muster assigns only the other
 * shards again, and in the end each sample counts once. If ranks are killed after the
 * checkpoint and before the report, muster assigns shards again that the checkpoint includes.
 * The checkpoint says up to which number it includes all shards, so the ranks report those as
 * done at once.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TRAINER_DATA_SHARDS_H
#define MUSTER_TRAINER_DATA_SHARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct data_shards;

/* The contents of a checkpoint. samples: their number. shards: all shards below this number are
 * among them; 0: not known. */
struct data_seen {
    int64_t samples, shards;
};

/* samples: of all steps. is_restart: this run has started these ranks before. NULL with err if
 * muster assigns no shards, or if the checkpoint does not match the shards that are done. */
struct data_shards *data_shards_open(int64_t samples, int64_t micro, const struct data_seen *seen,
                                     bool is_restart, struct error *err);
void                data_shards_close(struct data_shards *shards); /* NULL is fine */

/* Sets *first to the number of the next micro-batch's first sample. -1 with err. */
int data_shards_take(struct data_shards *shards, uint64_t *first, struct error *err);

/* Call it between two steps, on all ranks. Returns n if the samples so far are exactly the
 * first n shards; 0 if they are not, as after a restart, which changes the order. -1 with
 * err. */
int64_t data_shards_seen(struct data_shards *shards, int64_t samples, struct error *err);

/* data_shards_mark(): the next checkpoint will include the shards taken so far.
 * data_shards_done(): that checkpoint is on the disk, so report the marked shards as done. */
void data_shards_mark(struct data_shards *shards);
int  data_shards_done(struct data_shards *shards, struct error *err);

#endif
