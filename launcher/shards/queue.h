/* queue.h - the shards of one dataset: which are left, which rank has which, which are done
 *
 * A dataset is `size` records. A shard is `shard` consecutive records; the last one may be
 * shorter. Each epoch has every shard once. Shards are numbered through all epochs in the
 * order in which they are given out; that number is the shard's id. So the queue only needs to
 * know how many were given out, and which of those are not done: memory and state are a few
 * bytes per open shard, however many shards there are.
 *
 * A shard is given to a rank for lease_s. The rank reports that it is done, or renews the
 * lease. If the lease expires, or the rank exits, the shard is the next one that is given out.
 * A shard fails if its lease expires, if its rank reports that, or if its rank fails and the
 * shard is the newest that it has. After more than `retries` failures the shard is dropped, and
 * ops->dropped is called, so that no shard vanishes silently.
 *
 * No I/O and no clock here: the caller passes now_ns. ops->changed reports what must be kept
 * (journal.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_QUEUE_H
#define MUSTER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

#define QUEUE_OPEN_MAX    (1 << 20) /* shards of a dataset that are given out and not done */
#define QUEUE_DROPPED_MAX (1 << 16) /* dropped shards with known ids; more are only counted */
#define QUEUE_RANKS_MAX   (1 << 20)
#define QUEUE_RETRIES_MAX 1000000
#define QUEUE_ID_MAX      (INT64_MAX / 2)

struct queue_rules {
    int64_t  size, shard; /* in records; both >= 1 */
    int64_t  epochs;      /* 0: endless */
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
    int64_t all;     /* shards of all epochs; 0: endless */
    int64_t given;   /* ids that were given out at least once */
    int64_t doing, again /* waiting to be given out again */, dropped, done;
    int64_t repeated;/* times that a shard was given out again */
    int64_t expired; /* leases */
    int64_t twice;   /* times that a rank reported a shard done that it no longer had */
};

enum queue_got { QUEUE_GOT, QUEUE_WAIT, QUEUE_END, QUEUE_FULL };
/* The answer to a rank that reports on a shard. */
enum queue_said { QUEUE_TAKEN, QUEUE_LOST /* another rank has it, or had it */, QUEUE_UNKNOWN };
enum queue_change { QUEUE_DONE, QUEUE_BACK, QUEUE_DROPPED };

struct queue_ops {
    /* Must be kept: this shard is done, came back (tries), or is dropped. */
    void (*changed)(enum queue_change what, const struct queue_shard *shard, void *arg);
    /* The lease of that rank has expired. */
    void (*expired)(const struct queue_shard *shard, int rank, void *arg);
    void (*dropped)(const struct queue_shard *shard, void *arg);
};

struct queue;

/* Checks rules. -1 with err: what is wrong with them. */
int queue_check(const struct queue_rules *rules, struct error *err);
/* Makes a queue. rules must be valid; ops is borrowed. */
struct queue *queue_new(const struct queue_rules *rules, const struct queue_ops *ops, void *arg);
void          queue_free(struct queue *queue); /* NULL is fine */
const struct queue_rules *queue_rules(const struct queue *queue);
/* Sets other epochs, lease_s and retries for a restored dataset. */
void queue_set_rules(struct queue *queue, const struct queue_rules *rules);

/* Gives the rank its next shard. WAIT: others still have some, ask again. FULL: too many are
 * open. */
enum queue_got  queue_get(struct queue *queue, int rank, int64_t now_ns, struct queue_shard *shard);
enum queue_said queue_done(struct queue *queue, int rank, int64_t id);
enum queue_said queue_renew(struct queue *queue, int rank, int64_t id, int64_t now_ns);
/* Renews the leases of all shards that the rank has. */
void            queue_renew_all(struct queue *queue, int rank, int64_t now_ns);
/* The rank cannot do the shard: another rank gets it, if one asks. */
enum queue_said queue_fail(struct queue *queue, int rank, int64_t id);

/* A rank has exited, by its own failure or otherwise. */
void queue_rank_gone(struct queue *queue, int rank, bool has_failed);
/* All ranks have exited: another generation follows. */
void queue_all_gone(struct queue *queue);

/* Takes back the shards whose lease has expired by now_ns. queue_due_ns() returns when to call
 * it next; 0: no lease runs. */
void    queue_expire(struct queue *queue, int64_t now_ns);
int64_t queue_due_ns(const struct queue *queue);

struct queue_counts queue_counts(const struct queue *queue);

/* Calls that describe the state to keep. next: all smaller ids were given out. again: this id
 * must be done (again). dropped: this id was dropped. */
struct queue_visitor {
    void (*next)(int64_t next, void *arg);
    void (*again)(int64_t id, int tries, void *arg);
    void (*dropped)(int64_t id, void *arg);
};
void queue_visit(const struct queue *queue, const struct queue_visitor *visitor, void *arg);

/* Restore that state before any rank asks, without calling ops. -1 with err: no such shard, or
 * more than QUEUE_OPEN_MAX are open. */
int queue_restore_next(struct queue *queue, int64_t next, struct error *err);
int queue_restore(struct queue *queue, enum queue_change what, int64_t id, int tries,
                  struct error *err);

#endif
