/* shards.h - the datasets of a run, whose records its ranks read once
 *
 * A rank sends a line (request.h) and gets a line: "cmd=shard_answer tag=7 rc=0 state=shard
 * id=3 start=300 end=400 epoch=0 tries=0". rc=-1 with msg=words_like_these: refused. The first
 * rank that opens a dataset makes it; the others must open it with the same values.
 *
 * State that must survive the launcher is in a file in the run directory (SHARDS_FILE): one
 * line per dataset, and one per shard that is done, has failed or is dropped. A file that has
 * grown too large is replaced by a short one. The file does not record which shards were given
 * out: after a restart they must be done in any case. So if muster is killed before it has
 * written a line, a shard is read again, but none is ever lost.
 *
 *     shards_new -> shards_resume, shards_keep -> shards_ask, shards_rank_gone, shards_tick ...
 *     -> shards_free
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SHARDS_H
#define MUSTER_SHARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "shards/queue.h"

#define SHARDS_FILE        "shards"
#define SHARDS_SETS_MAX    16
#define SHARDS_ANSWER_SIZE 512
#define SHARDS_FILE_MAX    ((size_t)1 << 30)

struct shards;

/* world_size: the larger, the longer a rank must wait before it asks again, so that all ranks
 * together do not ask too often. */
struct shards *shards_new(int world_size);
void           shards_free(struct shards *shards); /* writes what is left; NULL is fine */

/* Continues from the state of the run in that directory. Call it before any rank asks. -1 with
 * err: there is no file, or it is damaged; then all requests are refused with that reason. */
int shards_resume(struct shards *shards, int dir_fd, struct error *err);

/* Keeps the state in that directory from now on. State that was resumed is there when this
 * returns. -1: it cannot be kept. */
int shards_keep(struct shards *shards, int dir_fd);

/* Handles a line of that rank, without the newline. Writes the answer, a line with its
 * newline, and returns the size of the answer. */
size_t shards_ask(struct shards *shards, int rank, const char *line, size_t size, int64_t now_ns,
                  char answer[SHARDS_ANSWER_SIZE]);

/* A rank has exited, by its own failure or otherwise; or all have, and another generation
 * follows. */
void shards_rank_gone(struct shards *shards, int rank, bool has_failed);
void shards_all_gone(struct shards *shards);

/* Takes back the shards whose lease has expired. shards_due_ns() returns when to call it next;
 * 0: no lease runs. */
void    shards_tick(struct shards *shards, int64_t now_ns);
int64_t shards_due_ns(const struct shards *shards);

/* The datasets, in the order in which they were opened. */
size_t              shards_sets(const struct shards *shards);
const char         *shards_name(const struct shards *shards, size_t set);
struct queue_counts shards_counts(const struct shards *shards, size_t set);

#endif
