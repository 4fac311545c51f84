/* data_shards.h - the samples that muster gives out to this rank, instead of a fixed share
 *
 * A shard is a micro-batch: sample numbers that follow each other (model/data.h). All ranks take as
 * many in a step, whatever numbers they get. Those of a step are done when a checkpoint that has
 * seen them is on the disk; so after a restart from it the others are taken again, and in the end
 * each sample counts once. Ranks that are killed between the two are given shards that their
 * checkpoint has seen: it says up to which number it has, so these are done at once.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TRAINER_DATA_SHARDS_H
#define MUSTER_TRAINER_DATA_SHARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct data_shards;

/* By the checkpoint: so many samples; among them all of the first so many shards, 0: not known. */
struct data_seen {
    int64_t samples, shards;
};

/* samples: of all steps; is_restart: this run has started these ranks before. NULL with err: muster
 * gives out none, or the checkpoint does not fit what is done. */
struct data_shards *data_shards_open(int64_t samples, int64_t micro, const struct data_seen *seen,
                                     bool is_restart, struct error *err);
void                data_shards_close(struct data_shards *shards); /* NULL is fine */

/* The number of the first sample of the next micro-batch. -1 with err. */
int data_shards_take(struct data_shards *shards, uint64_t *first, struct error *err);

/* Between two steps, on all ranks: how many shards, from the first one on, are the samples until
 * now; 0: it is not so, since after a restart the order is another one. -1 with err. */
int64_t data_shards_seen(struct data_shards *shards, int64_t samples, struct error *err);

/* What was taken up to now will be in the next checkpoint; or it is there: that is done. */
void data_shards_mark(struct data_shards *shards);
int  data_shards_done(struct data_shards *shards, struct error *err);

#endif
