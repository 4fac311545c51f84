/* writer.h - this rank's part of a checkpoint, written by a thread
 *
 *     writer_new -> writer_write -> writer_wait -> [writer_commit -> writer_wait] -> writer_free
 *
 * Between start and wait the caller goes on; writer_is_done tells when wait will not block.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WRITER_H
#define MUSTER_WRITER_H

#include <stdbool.h>

#include "err.h"
#include "train/checkpoint.h"

struct writer;

/* Texts and pieces are copied; with is_copied what the pieces point to as well, so that it may
 * change meanwhile. NULL with err: a piece cannot be read. */
struct writer *writer_new(const char *dir, const char *tag, const struct shard_info *info,
                          const struct zero_piece *pieces, int count, bool is_copied,
                          struct error *err);
void           writer_free(struct writer *writer); /* NULL is fine; waits first */

/* Start checkpoint_write or checkpoint_commit. -1 with err: no thread could be started. */
int writer_write(struct writer *writer, struct error *err);
int writer_commit(struct writer *writer, struct error *err);

/* What was started last is over: well, or not. */
bool writer_is_done(const struct writer *writer);

/* Wait until then; -1 with err if it failed. */
int writer_wait(struct writer *writer, struct error *err);

const char *writer_tag(const struct writer *writer);

#endif
