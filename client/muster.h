/* muster.h - what ranks of a muster run may ask muster for (libmuster)
 *
 * Shards: each record of a dataset is read once, whatever happens to the ranks.
 *
 *     struct muster_shards *shards = muster_shards_open("train", 1000000, 1000, "shuffle=1");
 *     while (muster_shards_next(shards, &shard) > 0)
 *         if (train(shard.start, shard.end) == 0)
 *             muster_shards_done(shards, &shard);
 *
 * A rank gets one shard after the other, records [start, end) of the dataset. If it is killed, or
 * says nothing of a shard until the lease ends, another rank gets that shard.
 *
 * A function that returns -1 or NULL has failed: muster_error() has one sentence about it. All may
 * be called from any thread, and by processes that the rank has forked. They use the descriptor
 * PMI_FD, as MPI_Init() and MPI_Finalize() do: not both at the same moment.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_H
#define MUSTER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct muster_shards; /* a dataset */

struct muster_shard {
    int64_t id;         /* muster's name for it */
    int64_t epoch;      /* from 0 */
    int64_t start, end; /* records [start, end) */
};

/* Every rank opens a dataset with the same values. shard: records of a shard. settings, or NULL:
 * words separated by a blank, "epochs=3 shuffle=1 seed=7 lease=10m retries=3"; epochs=0 is without
 * end. muster_shards_close() frees what this returns. */
struct muster_shards *muster_shards_open(const char *name, int64_t records, int64_t shard,
                                         const char *settings);
void                  muster_shards_close(struct muster_shards *shards); /* NULL is fine */

/* 1: *shard is the next one. 0: that was all. */
int muster_shards_next(struct muster_shards *shards, struct muster_shard *shard);

/* After that: waits until a shard has come back, 1, or all of them are done, 0. Not for ranks that
 * wait for each other in each step: those that still have shards would never get there. */
int muster_shards_wait(struct muster_shards *shards);

/* It was read. 0; or 1: too late, another rank has it, or had it. */
int muster_shards_done(struct muster_shards *shards, const struct muster_shard *shard);

/* Work on it goes on: its lease begins anew; NULL: those of all that this rank has. 0; or 1, as
 * above. */
int muster_shards_renew(struct muster_shards *shards, const struct muster_shard *shard);

/* It cannot be read here. 0; or 1, as above. */
int muster_shards_fail(struct muster_shards *shards, const struct muster_shard *shard);

/* How many shards there are (what is "all"; 0: without end), are "done", and so on: the words of
 * the answer to cmd=shard_state. -1. */
int64_t muster_shards_count(struct muster_shards *shards, const char *what);

/* Why the last call of this thread has failed. */
const char *muster_error(void);

#ifdef __cplusplus
}
#endif

#endif
