/* state.h - the datasets of a run as a file, and back; only for shards.c
 *
 * Lines of text. A dataset is identified by the number of its "open" line, from 0:
 *
 *     muster shards 1
 *     open name=train size=1000 shard=10 epochs=2 seed=0 shuffle=1 lease=600.000 retries=3
 *     next 0 57      ids below 57 were given out
 *     back 0 55 1    shard 55 must be done (again), and has failed once
 *     drop 0 12      shard 12 is dropped
 *     done 0 57      shard 57 is done; ids up to 57 were given out
 *
 * A file begins with the state at one time, and the changes follow. A last line without a
 * newline was being written when muster was killed: it is ignored.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STATE_H
#define MUSTER_STATE_H

#include "shards/journal.h"
#include "shards/request.h"
#include "shards/shards.h"

struct shard_set {
    struct shards *shards;
    char           name[REQUEST_NAME_MAX + 1];
    size_t         number;
    bool           is_open; /* false: known from the run that this one resumes */
    int            told, told_dropped;
    struct queue  *queue;
};

struct shards {
    int              world_size;
    struct shard_set set[SHARDS_SETS_MAX];
    size_t           sets;
    struct error     refusal; /* empty, or why nothing is given out */
    struct journal  *journal; /* NULL: nothing is kept */
    size_t           most;    /* a file with more bytes is replaced */
    int64_t          failed_ns; /* when a write failed; 0: none did */
    bool             is_failure_told;
};

/* Adds a dataset, for which there must be room. */
struct shard_set *shards_add(struct shards *shards, const char *name,
                             const struct queue_rules *rules);

int  state_open(struct shards *shards, int dir_fd);
void state_close(struct shards *shards);
int  state_read(struct shards *shards, int dir_fd, struct error *err);

void state_opened(const struct shard_set *set);
void state_changed(const struct shard_set *set, enum queue_change what,
                   const struct queue_shard *shard);

/* Parses the bytes of a file, for state_read() and its fuzz target. */
int state_parse(struct shards *shards, const char *text, size_t size, struct error *err);

#endif
