/* muster.h - what the ranks of a run report to muster, or ask of it (libmuster)
 *
 * Steps: muster knows that the training makes progress, and --hang-timeout ends a run that does
 * not (muster-watch(7)).
 *
 *     muster_step(step, steps);
 *
 * Shards: each record of a dataset is read once, whatever happens to the ranks.
 *
 *     struct muster_shards *shards = muster_shards_open("train", 1000000, 1000, "shuffle=1");
 *     while (muster_shards_next(shards, &shard) > 0)
 *         if (train(shard.start, shard.end) == 0)
 *             muster_shards_done(shards, &shard);
 *
 * A rank gets one shard after the other: records [start, end) of the dataset. If the rank is
 * killed, or does not report on a shard before the lease ends, another rank gets that shard.
 *
 * A function that returns -1 or NULL has failed: muster_error() returns one sentence about the
 * reason. All functions may be called from any thread, and by processes that the rank has
 * forked. They use the descriptor PMI_FD, as MPI_Init() and MPI_Finalize() do: do not call both
 * at the same time.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_H
#define MUSTER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reports that a step of the training was done. From the first call on, the lines of this rank's
 * output do not count. last: the number of the last step; -1: unknown. Never waits for muster: if
 * another process of this rank is talking to it, this step is left out. Returns 0. */
int muster_step(int64_t step, int64_t last);

struct muster_shards; /* a dataset */

struct muster_shard {
    int64_t id;         /* muster's name for it */
    int64_t epoch;      /* from 0 */
    int64_t start, end; /* records [start, end) */
};

/* Opens a dataset. Every rank must give the same values. shard: records per shard. settings, or
 * NULL: words separated by a blank, "epochs=3 shuffle=1 seed=7 lease=10m retries=3"; epochs=0
 * means without end. Free the result with muster_shards_close(). */
struct muster_shards *muster_shards_open(const char *name, int64_t records, int64_t shard,
                                         const char *settings);
void                  muster_shards_close(struct muster_shards *shards); /* may be NULL */

/* Returns 1 with the next shard in *shard; 0: there are no more. */
int muster_shards_next(struct muster_shards *shards, struct muster_shard *shard);

/* Call this after muster_shards_next() has returned 0. Waits until a shard has come back, and
 * returns 1, or until all shards are done, and returns 0. Not for ranks that wait for each
 * other in each step: the ranks that still have shards would wait for this one forever. */
int muster_shards_wait(struct muster_shards *shards);

/* Reports that shard was read. Returns 0; or 1: too late, another rank has or had it. */
int muster_shards_done(struct muster_shards *shards, const struct muster_shard *shard);

/* Renews the lease of a shard that this rank is still reading; NULL: of all its shards. Returns
 * 0; or 1, as above. */
int muster_shards_renew(struct muster_shards *shards, const struct muster_shard *shard);

/* Reports that shard cannot be read here. Returns 0; or 1, as above. */
int muster_shards_fail(struct muster_shards *shards, const struct muster_shard *shard);

/* Returns how many shards there are (what is "all"; 0: without end), how many are "done", and
 * so on; the words are those of the answer to cmd=shard_state. Returns -1 on failure. */
int64_t muster_shards_count(struct muster_shards *shards, const char *what);

/* Returns why the last failed call in this thread failed. */
const char *muster_error(void);

#ifdef __cplusplus
}
#endif

#endif
