/* checkpoint.h - the state of a training on disk, for any number of ranks
 *
 *     DIR/latest                      global_step200
 *     DIR/global_step200/shard-00000  what rank 0 had
 *     DIR/global_step200/shard-00001
 *     DIR/global_step300.tmp/         one that is being written, or never was finished
 *
 * All ranks write at once, aside; then one rank gives the directory its name, and last
 * of all latest follows. Whatever is killed at whatever moment, latest names a whole
 * checkpoint. Any number of ranks reads what any other number has written.
 *
 *     checkpoint_begin (one rank) - barrier - checkpoint_write (all) - barrier -
 *     checkpoint_commit (one rank)
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHECKPOINT_H
#define MUSTER_CHECKPOINT_H

#include <stdint.h>

#include "err.h"
#include "train/shard.h"

#define CHECKPOINT_RANKS_MAX 65536

/* Each returns 0, or -1 with err naming the file. */

/* Make room in DIR for a checkpoint named tag, and remove what unfinished ones have left. */
int checkpoint_begin(const char *dir, const char *tag, struct error *err);

/* This rank's part: pieces in rising order; over all ranks, each element once. */
int checkpoint_write(const char *dir, const char *tag, const struct shard_info *info,
                     const struct zero_piece *pieces, int count, struct error *err);

/* All ranks have written. A checkpoint of the same name gives way. */
int checkpoint_commit(const char *dir, const char *tag, int ranks, struct error *err);

/* latest names that one from now on, which was read before. run, or NULL: whose --tag that was. */
int checkpoint_point_latest(const char *dir, const char *tag, const char *run, struct error *err);

/* Has latest named the --tag of that run before? */
bool checkpoint_was_pointed(const char *dir, const char *run);

/* The name that latest holds; the caller frees it. NULL with err. *is_none: there is no
 * checkpoint yet, which may be fine. */
char *checkpoint_latest(const char *dir, bool *is_none, struct error *err);

struct checkpoint;

/* Look at all shards but not at their data. NULL with what is wrong: one is missing or
 * damaged, or they are of another model. Free with checkpoint_close. */
struct checkpoint *checkpoint_open(const char *dir, const char *tag, uint64_t total,
                                   uint64_t model, struct error *err);
void               checkpoint_close(struct checkpoint *checkpoint); /* NULL is fine */

int         checkpoint_ranks(const struct checkpoint *checkpoint);
const char *checkpoint_note(const struct checkpoint *checkpoint);

/* Fill in these pieces. */
int checkpoint_read(struct checkpoint *checkpoint, struct zero_piece *pieces, int count,
                    struct error *err);

#endif
