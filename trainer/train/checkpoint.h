/* checkpoint.h - the state of a training on disk, for any number of ranks
 *
 *     DIR/latest                      global_step200
 *     DIR/best                        global_step100, of the lowest evaluation loss
 *     DIR/global_step200/shard-00000  the share of rank 0
 *     DIR/global_step200/shard-00001
 *     DIR/global_step300.tmp/         a checkpoint that is being written, was not finished, or
 *                                     was not deleted completely
 *
 * All ranks write at the same time, into a temporary directory. Then one rank renames the
 * directory, and finally updates latest. So latest always names a complete checkpoint,
 * whichever process is killed at any time. Any number of ranks can read a checkpoint that
 * another number of ranks has written.
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

/* Creates the temporary directory of checkpoint tag in DIR, and removes unfinished
 * checkpoints. */
int checkpoint_begin(const char *dir, const char *tag, struct error *err);

/* Writes this rank's part. The pieces must be in ascending order, and all ranks together must
 * write each element once. */
int checkpoint_write(const char *dir, const char *tag, const struct shard_info *info,
                     const struct zero_piece *pieces, int count, struct error *err);

/* Call it when all ranks have written. Replaces a checkpoint of the same name. is_best: the file
 * best names it, too. */
int checkpoint_commit(const char *dir, const char *tag, int ranks, bool is_best,
                      struct error *err);

/* Deletes a checkpoint. When its process is killed, what is left looks unfinished, and
 * checkpoint_begin() removes it. */
int checkpoint_remove(const char *dir, const char *tag, struct error *err);

/* Makes latest name this checkpoint, which has been read before. run: the id of the run that
 * named it with --tag, or NULL. */
int checkpoint_point_latest(const char *dir, const char *tag, const char *run, struct error *err);

/* Has latest already been set to the --tag of this run? */
bool checkpoint_was_pointed(const char *dir, const char *run);

/* Returns the name that latest contains, or without that file the only checkpoint's; the caller
 * frees it. NULL with err, also if latest is missing and there are several. *is_none: there is no
 * checkpoint yet, which need not be an error. */
char *checkpoint_latest(const char *dir, bool *is_none, struct error *err);

/* Returns the name that best contains; the caller frees it. NULL: there is none. */
char *checkpoint_best(const char *dir);

struct checkpoint;

/* Checks all shards, but not their data. NULL with err if a shard is missing or damaged, or if
 * the checkpoint is from another model. Free with checkpoint_close(). */
struct checkpoint *checkpoint_open(const char *dir, const char *tag, uint64_t total,
                                   uint64_t model, struct error *err);
void               checkpoint_close(struct checkpoint *checkpoint); /* NULL is fine */

int         checkpoint_ranks(const struct checkpoint *checkpoint);
const char *checkpoint_note(const struct checkpoint *checkpoint);

/* Reads the data of these pieces. */
int checkpoint_read(struct checkpoint *checkpoint, struct zero_piece *pieces, int count,
                    struct error *err);

#endif
