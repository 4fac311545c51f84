/* shards.h - the datasets of a run, whose records its ranks read once
 *
 * A rank sends a line (request.h) and gets a line: "cmd=shard_answer tag=7 rc=0 state=shard id=3
 * start=300 end=400 epoch=0 tries=0". rc=-1 with msg=words_like_these: refused. The first rank that
 * opens a dataset makes it; the others have to open the same one.
 *
 * What has to survive the launcher is in a file of the run directory (SHARDS_FILE): a line for each
 * dataset, and one for each shard that is done, has failed or is dropped. When it has grown too
 * much it is replaced by a short one. That a shard was given out is not written: after a restart it
 * is to do, with or without that. So a line that was not written when muster was killed lets a
 * shard be read again, and none is ever lost.
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

/* world_size: a rank that has to wait is told how long, so that all do not ask too often. */
struct shards *shards_new(int world_size);
void           shards_free(struct shards *shards); /* writes what is left; NULL is fine */

/* Go on where the run in that directory has ended. Before any rank asks. -1 with err: there is no
 * such file there, or it is damaged; whatever is asked after that is refused with that reason. */
int shards_resume(struct shards *shards, int dir_fd, struct error *err);

/* Keep the state in that directory from now on. What another run has left is there when this
 * returns. -1: it cannot be kept. */
int shards_keep(struct shards *shards, int dir_fd);

/* A line of that rank, without its end; the answer is a line with its end. Returns its size. */
size_t shards_ask(struct shards *shards, int rank, const char *line, size_t size, int64_t now_ns,
                  char answer[SHARDS_ANSWER_SIZE]);

/* A rank has ended, by its own failure or otherwise; or all, and another generation follows. */
void shards_rank_gone(struct shards *shards, int rank, bool has_failed);
void shards_all_gone(struct shards *shards);

/* Take back the shards whose lease has expired. When to call that next; 0: no lease runs. */
void    shards_tick(struct shards *shards, int64_t now_ns);
int64_t shards_due_ns(const struct shards *shards);

/* For each dataset, in the order of their opening. */
size_t              shards_sets(const struct shards *shards);
const char         *shards_name(const struct shards *shards, size_t set);
struct queue_counts shards_counts(const struct shards *shards, size_t set);

#endif
