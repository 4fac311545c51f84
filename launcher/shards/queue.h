/* queue.h - the shards of one dataset: which are to do, which rank has which, which are done
 *
 * A dataset is `size` records. A shard is `shard` of them, one behind the other; the last one may
 * be shorter. Each epoch has every shard once. Shards are numbered through all epochs in the order
 * in which they are given out; that number is the shard's id. So all that has to be known is how
 * many were given out, and which of those are not done: memory and state are a few bytes for each
 * shard that is open, however many there are.
 *
 * A shard is given to a rank for lease_s. The rank says that it is done, or renews the lease. If
 * the lease expires, or the rank ends, the shard is the next one to be given out again. After more
 * than `retries` failures (an expired lease, the rank's own word, or a rank that failed and had it
 * last) it is dropped, and ops->dropped is called: nothing vanishes without a word.
 *
 * No I/O and no clock here: now_ns is the caller's. ops->changed tells what has to be kept
 * (journal.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_QUEUE_H
#define MUSTER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

#define QUEUE_OPEN_MAX    (1 << 20) /* shards given out and not done, of a dataset */
#define QUEUE_DROPPED_MAX (1 << 16) /* of those the ids are known; more are only counted */
#define QUEUE_RANKS_MAX   (1 << 20)
#define QUEUE_RETRIES_MAX 1000000
#define QUEUE_ID_MAX      (INT64_MAX / 2)

struct queue_rules {
    int64_t  size, shard; /* in records; both >= 1 */
    int64_t  epochs;      /* 0: without end */
    uint64_t seed;
    bool     is_shuffled;
    double   lease_s;
    int      retries;
};

struct queue_shard {
    int64_t id, epoch, start, end; /* records [start, end) */
    int     tries;                 /* how often it has failed */
};

struct queue_counts {
    int64_t all;     /* shards of all epochs; 0: without end */
    int64_t given;   /* so many ids were given out at least once */
    int64_t doing, again /* to be given out again */, dropped, done;
    int64_t repeated;/* times that a shard was given out again */
    int64_t expired; /* leases */
    int64_t twice;   /* times that a shard was said to be done that was not the rank's any more */
};

enum queue_got { QUEUE_GOT, QUEUE_WAIT, QUEUE_END, QUEUE_FULL };
/* Of a rank that talks about a shard. */
enum queue_said { QUEUE_TAKEN, QUEUE_LOST /* somebody else has it, or had it */, QUEUE_UNKNOWN };
enum queue_change { QUEUE_DONE, QUEUE_BACK, QUEUE_DROPPED };

struct queue_ops {
    /* To be kept: this is done, came back (tries), or is dropped. */
    void (*changed)(enum queue_change what, const struct queue_shard *shard, void *arg);
    /* The lease of that rank has expired. */
    void (*expired)(const struct queue_shard *shard, int rank, void *arg);
    void (*dropped)(const struct queue_shard *shard, void *arg);
};

struct queue;

/* -1 with what is wrong with the rules. */
int queue_check(const struct queue_rules *rules, struct error *err);
/* Of rules that are right; ops is borrowed. */
struct queue *queue_new(const struct queue_rules *rules, const struct queue_ops *ops, void *arg);
void          queue_free(struct queue *queue); /* NULL is fine */
const struct queue_rules *queue_rules(const struct queue *queue);
/* Other epochs, lease_s and retries, of a dataset that was restored. */
void queue_set_rules(struct queue *queue, const struct queue_rules *rules);

/* The next shard for this rank. WAIT: others still have some, ask
 * again. FULL: too many are open. */
enum queue_got  queue_get(struct queue *queue, int rank, int64_t now_ns, struct queue_shard *shard);
enum queue_said queue_done(struct queue *queue, int rank, int64_t id);
enum queue_said queue_renew(struct queue *queue, int rank, int64_t id, int64_t now_ns);
/* All that the rank has. */
void            queue_renew_all(struct queue *queue, int rank, int64_t now_ns);
/* The rank cannot do it: another one gets it, if there is one that asks. */
enum queue_said queue_fail(struct queue *queue, int rank, int64_t id);

/* A rank has ended, by its own failure or otherwise. */
void queue_rank_gone(struct queue *queue, int rank, bool has_failed);
/* All have: another generation follows. */
void queue_all_gone(struct queue *queue);

/* Take back what was due at now_ns. When to call that next; 0: no lease runs. */
void    queue_expire(struct queue *queue, int64_t now_ns);
int64_t queue_due_ns(const struct queue *queue);

struct queue_counts queue_counts(const struct queue *queue);

/* What is to be kept, as calls: all below next was given out; of those these are to do (again), and
 * these were dropped. */
struct queue_visitor {
    void (*next)(int64_t next, void *arg);
    void (*again)(int64_t id, int tries, void *arg);
    void (*dropped)(int64_t id, void *arg);
};
void queue_visit(const struct queue *queue, const struct queue_visitor *visitor, void *arg);

/* The way back, before any rank asks; calls no ops. -1 with err: no such shard, or more are open
 * than QUEUE_OPEN_MAX. */
int queue_restore_next(struct queue *queue, int64_t next, struct error *err);
int queue_restore(struct queue *queue, enum queue_change what, int64_t id, int tries,
                  struct error *err);

#endif
