/* state.h - the datasets of a run as a file, and back; only for shards.c
 *
 * Lines of text. A dataset is known by the number of its "open" line, from 0:
 *
 *     muster shards 1
 *     open name=train size=1000 shard=10 epochs=2 seed=0 shuffle=1 lease=600.000 retries=3
 *     next 0 57      ids below that were given out
 *     back 0 55 1    this one is to do (again), and has failed once
 *     drop 0 12      dropped
 *     done 0 57      done; ids up to that were given out
 *
 * A file begins with what is known, and goes on with what happens. A last line without its end was
 * being written when muster ended: it does not count.
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
    size_t           most;    /* bytes of the file, until it is replaced */
    int64_t          failed_ns; /* when it could not be written; 0: it could */
    bool             is_failure_told;
};

/* Another dataset; there is room for it. */
struct shard_set *shards_add(struct shards *shards, const char *name,
                             const struct queue_rules *rules);

int  state_open(struct shards *shards, int dir_fd);
void state_close(struct shards *shards);
int  state_read(struct shards *shards, int dir_fd, struct error *err);

void state_opened(const struct shard_set *set);
void state_changed(const struct shard_set *set, enum queue_change what,
                   const struct queue_shard *shard);

/* For state_read() and its fuzz target: the bytes of a file. */
int state_parse(struct shards *shards, const char *text, size_t size, struct error *err);

#endif
