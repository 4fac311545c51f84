/* writer.h - a thread that writes this rank's part of a checkpoint
 *
 *     writer_new -> writer_write -> writer_wait -> [writer_commit -> writer_wait] ->
 *     writer_free
 *
 * The caller can continue before it waits; writer_is_done() says when the wait will not block.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WRITER_H
#define MUSTER_WRITER_H

#include <stdbool.h>

#include "err.h"
#include "train/checkpoint.h"

struct writer;

/* Copies texts and pieces. is_copied: also copies the data that the pieces point to, so that
 * the caller may change the data while it is written. NULL with err if a piece cannot be
 * read. */
struct writer *writer_new(const char *dir, const char *tag, const struct shard_info *info,
                          const struct zero_piece *pieces, int count, bool is_copied,
                          struct error *err);
void           writer_free(struct writer *writer); /* NULL is fine; waits first */

/* Start checkpoint_write() or checkpoint_commit(), which deletes old checkpoints then, until keep
 * are left; 0: none. is_best: see there. -1 with err if no thread can be started. */
int writer_write(struct writer *writer, struct error *err);
int writer_commit(struct writer *writer, int64_t keep, bool is_best, struct error *err);

/* Has the last operation finished, with or without success? */
bool writer_is_done(const struct writer *writer);

/* Waits for the last operation; -1 with err if it failed. */
int writer_wait(struct writer *writer, struct error *err);

const char *writer_tag(const struct writer *writer);

/* Returns why an old checkpoint was not deleted; empty: none of them had to stay. */
const char *writer_complaint(const struct writer *writer);

#endif
