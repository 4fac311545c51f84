/* queue.c - see queue.h
 *
 * An open shard (given out, and neither done nor dropped) has an entry. All entries are in a
 * hash table by id, and each is in one of two lists: DOING, in the order in which leases
 * expire, or AGAIN, in the order in which shards are given out. All leases have the same
 * length, so a renewed one expires last. Each step costs the same, however many shards there
 * are.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "shards/queue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "clock.h"
#include "shards/order.h"
#include "xalloc.h"

#define LEASE_LEAST_S 0.1
#define LEASE_MOST_S  1e8
#define NOBODY        (-1)
/* How many of the shards that came back are searched for one that the rank has not failed
 * with. */
#define LOOKED_AT_MAX 8

struct entry {
    int64_t id, due_ns;
    int     rank, tries; /* rank: has it, or had it when the lease expired; or NOBODY */
    int     not_for;     /* a rank that could not read it, or NOBODY */
    enum { ENTRY_NEW, ENTRY_DOING, ENTRY_AGAIN } state;
    TAILQ_ENTRY(entry) place; /* in doing or again */
    TAILQ_ENTRY(entry) other; /* of the same rank; only while ENTRY_DOING */
    SLIST_ENTRY(entry) chain; /* with the same hash */
};

TAILQ_HEAD(entries, entry);
SLIST_HEAD(bucket, entry);

struct queue {
    struct queue_rules      rules;
    const struct queue_ops *ops;
    void                   *arg;
    int64_t                 count; /* shards per epoch */
    int64_t                 next;  /* the first id that was never given out */
    struct entries          doing, again;
    struct entries         *of_rank; /* the newest first */
    int                     ranks;   /* the length of of_rank */
    struct bucket          *bucket;
    size_t                  buckets, open;
    int64_t                *dropped; /* the first QUEUE_DROPPED_MAX of them */
    struct queue_counts     counts;
};

static struct queue_shard shard_of(const struct queue *queue, int64_t id, int tries);
static struct entry      *next_again(const struct queue *queue, int rank);
static bool               is_last(const struct queue *queue, int64_t id);
static struct entry      *entry_new(struct queue *queue, int64_t id);
static struct entry      *entry_find(const struct queue *queue, int64_t id);
static void               entry_free(struct queue *queue, struct entry *entry);
static void               leave(struct queue *queue, struct entry *entry);
static void               lend(struct queue *queue, struct entry *entry, int rank, int64_t now_ns);
static void               put_back(struct queue *queue, struct entry *entry);
static void               put_last(struct queue *queue, struct entry *entry);
static void               count_failure(struct queue *queue, struct entry *entry);
static void               note_dropped(struct queue *queue, int64_t id);
static enum queue_said    not_yours(struct queue *queue, int64_t id);
static void               room_for_rank(struct queue *queue, int rank);
static void               room_for_entry(struct queue *queue);
static struct bucket     *bucket_of(const struct queue *queue, int64_t id);
static int                reach(struct queue *queue, int64_t id, struct error *err);

int queue_check(const struct queue_rules *rules, struct error *err)
{
    int64_t count;

    if (rules->size < 1 || rules->size > QUEUE_ID_MAX)
        return err_set(err, "size must be a number of records, at least 1");
    if (rules->shard < 1 || rules->shard > QUEUE_ID_MAX)
        return err_set(err, "shard must be a number of records, at least 1");
    count = (rules->size - 1) / rules->shard + 1;
    if (rules->epochs < 0 || rules->epochs > QUEUE_ID_MAX / count)
        return err_set(err, "epochs must be from 0 (endless) to %lld",
                       (long long)(QUEUE_ID_MAX / count));
    if (!(rules->lease_s >= LEASE_LEAST_S) || rules->lease_s > LEASE_MOST_S)
        return err_set(err, "lease must be from %g to %g seconds", LEASE_LEAST_S, LEASE_MOST_S);
    if (rules->retries < 0 || rules->retries > QUEUE_RETRIES_MAX)
        return err_set(err, "retries must be from 0 to %d", QUEUE_RETRIES_MAX);
    return 0;
}

struct queue *queue_new(const struct queue_rules *rules, const struct queue_ops *ops, void *arg)
{
    struct queue *queue = xcalloc(1, sizeof *queue);

    queue->rules = *rules;
    queue->ops = ops;
    queue->arg = arg;
    queue->count = (rules->size - 1) / rules->shard + 1;
    queue->counts.all = rules->epochs * queue->count;
    TAILQ_INIT(&queue->doing);
    TAILQ_INIT(&queue->again);
    return queue;
}

void queue_free(struct queue *queue)
{
    struct entry *entry;

    if (queue == NULL)
        return;
    while ((entry = TAILQ_FIRST(&queue->doing)) != NULL)
        entry_free(queue, entry);
    while ((entry = TAILQ_FIRST(&queue->again)) != NULL)
        entry_free(queue, entry);
    free(queue->of_rank);
    free(queue->bucket);
    free(queue->dropped);
    free(queue);
}

const struct queue_rules *queue_rules(const struct queue *queue)
{
    return &queue->rules;
}

void queue_set_rules(struct queue *queue, const struct queue_rules *rules)
{
    queue->rules = *rules;
    queue->counts.all = rules->epochs * queue->count;
}

/* --- requests of ranks ------------------------------------------------------ */

enum queue_got queue_get(struct queue *queue, int rank, int64_t now_ns, struct queue_shard *shard)
{
    const bool    is_all_given = is_last(queue, queue->next);
    struct entry *entry = next_again(queue, rank);

    if (entry == NULL && (is_all_given || queue->open >= QUEUE_OPEN_MAX))
        entry = TAILQ_FIRST(&queue->again); /* there is no better one */
    if (entry != NULL)
        queue->counts.repeated++;
    else if (is_all_given)
        return TAILQ_EMPTY(&queue->doing) ? QUEUE_END : QUEUE_WAIT;
    else if (queue->open >= QUEUE_OPEN_MAX)
        return QUEUE_FULL;
    else
        entry = entry_new(queue, queue->next++);
    lend(queue, entry, rank, now_ns);
    *shard = shard_of(queue, entry->id, entry->tries);
    return QUEUE_GOT;
}

/* Passes over shards that this rank could not read: another rank may. */
static struct entry *next_again(const struct queue *queue, int rank)
{
    struct entry *entry;
    int           looked = 0;

    TAILQ_FOREACH (entry, &queue->again, place) {
        if (entry->not_for != rank)
            return entry;
        if (++looked == LOOKED_AT_MAX)
            break;
    }
    return NULL;
}

enum queue_said queue_done(struct queue *queue, int rank, int64_t id)
{
    struct entry      *entry = entry_find(queue, id);
    struct queue_shard shard;
    enum queue_said    said;

    /* Its lease may have expired; but if no other rank got it since, it was read once. */
    if (entry == NULL || entry->rank != rank) {
        said = not_yours(queue, id);
        queue->counts.twice += said == QUEUE_LOST;
        return said;
    }
    shard = shard_of(queue, id, entry->tries);
    entry_free(queue, entry);
    queue->ops->changed(QUEUE_DONE, &shard, queue->arg);
    return QUEUE_TAKEN;
}

enum queue_said queue_renew(struct queue *queue, int rank, int64_t id, int64_t now_ns)
{
    struct entry *entry = entry_find(queue, id);

    if (entry == NULL || entry->rank != rank)
        return not_yours(queue, id);
    lend(queue, entry, rank, now_ns);
    return QUEUE_TAKEN;
}

void queue_renew_all(struct queue *queue, int rank, int64_t now_ns)
{
    struct entry *entry;

    if (rank >= queue->ranks)
        return;
    TAILQ_FOREACH (entry, &queue->of_rank[rank], other) {
        entry->due_ns = now_ns + (int64_t)(queue->rules.lease_s * NS_PER_S);
        TAILQ_REMOVE(&queue->doing, entry, place);
        TAILQ_INSERT_TAIL(&queue->doing, entry, place);
    }
}

enum queue_said queue_fail(struct queue *queue, int rank, int64_t id)
{
    struct entry *entry = entry_find(queue, id);

    if (entry == NULL || entry->rank != rank || entry->state != ENTRY_DOING)
        return not_yours(queue, id);
    put_back(queue, entry);
    entry->rank = NOBODY;
    entry->not_for = rank;
    count_failure(queue, entry);
    return QUEUE_TAKEN;
}

/* --- ranks that exit, leases that expire ------------------------------------ */

/* If the rank failed, the shard that it got last is the likely cause. */
void queue_rank_gone(struct queue *queue, int rank, bool has_failed)
{
    struct entry *entry;
    int64_t       newest = -1;

    if (rank < 0 || rank >= queue->ranks)
        return;
    if (has_failed && !TAILQ_EMPTY(&queue->of_rank[rank]))
        newest = TAILQ_FIRST(&queue->of_rank[rank])->id;
    while ((entry = TAILQ_FIRST(&queue->of_rank[rank])) != NULL) {
        put_back(queue, entry);
        entry->rank = NOBODY;
        if (entry->id == newest)
            count_failure(queue, entry);
    }
}

void queue_all_gone(struct queue *queue)
{
    struct entry *entry;
    int           rank;

    for (rank = 0; rank < queue->ranks; rank++)
        queue_rank_gone(queue, rank, false);
    TAILQ_FOREACH (entry, &queue->again, place)
        entry->rank = NOBODY; /* that number will mean another rank */
}

void queue_expire(struct queue *queue, int64_t now_ns)
{
    struct entry      *entry;
    struct queue_shard shard;

    while ((entry = TAILQ_FIRST(&queue->doing)) != NULL && entry->due_ns <= now_ns) {
        shard = shard_of(queue, entry->id, entry->tries);
        queue->counts.expired++;
        queue->ops->expired(&shard, entry->rank, queue->arg);
        put_back(queue, entry);
        count_failure(queue, entry);
    }
}

int64_t queue_due_ns(const struct queue *queue)
{
    return TAILQ_EMPTY(&queue->doing) ? 0 : TAILQ_FIRST(&queue->doing)->due_ns;
}

/* --- the state -------------------------------------------------------------- */

struct queue_counts queue_counts(const struct queue *queue)
{
    struct queue_counts counts = queue->counts;

    counts.given = queue->next;
    counts.done = queue->next - (int64_t)queue->open - counts.dropped;
    return counts;
}

void queue_visit(const struct queue *queue, const struct queue_visitor *visitor, void *arg)
{
    const struct entry *entry;
    int64_t             i;

    visitor->next(queue->next, arg);
    TAILQ_FOREACH (entry, &queue->doing, place)
        visitor->again(entry->id, entry->tries, arg);
    TAILQ_FOREACH (entry, &queue->again, place)
        visitor->again(entry->id, entry->tries, arg);
    for (i = 0; i < queue->counts.dropped && i < QUEUE_DROPPED_MAX; i++)
        visitor->dropped(queue->dropped[i], arg);
}

int queue_restore_next(struct queue *queue, int64_t next, struct error *err)
{
    if (next < queue->next || next > QUEUE_ID_MAX || (next > 0 && is_last(queue, next - 1)))
        return err_set(err, "there is no shard %lld", (long long)next - 1);
    queue->next = next;
    return 0;
}

int queue_restore(struct queue *queue, enum queue_change what, int64_t id, int tries,
                  struct error *err)
{
    struct entry *entry;

    if (reach(queue, id, err) < 0)
        return -1;
    entry = entry_find(queue, id);
    if (what == QUEUE_BACK) {
        if (entry == NULL) {
            entry = entry_new(queue, id);
            put_last(queue, entry);
        }
        entry->tries = tries;
        return 0;
    }
    if (what == QUEUE_DROPPED)
        note_dropped(queue, id);
    if (entry != NULL)
        entry_free(queue, entry);
    return 0;
}

/* That id was given out, and so was every smaller one. Adds those that are new to AGAIN: they
 * may not be done. */
static int reach(struct queue *queue, int64_t id, struct error *err)
{
    if (id < 0 || id >= QUEUE_ID_MAX || is_last(queue, id))
        return err_set(err, "there is no shard %lld", (long long)id);
    if (id - queue->next >= QUEUE_OPEN_MAX - (int64_t)queue->open)
        return err_set(err,
                       "more than %d shards are neither done nor waiting to be given out again",
                       QUEUE_OPEN_MAX);
    while (queue->next <= id)
        put_last(queue, entry_new(queue, queue->next++));
    return 0;
}

/* --- entries ---------------------------------------------------------------- */

static struct queue_shard shard_of(const struct queue *queue, int64_t id, int tries)
{
    const struct queue_rules *rules = &queue->rules;
    struct queue_shard        shard = { .id = id, .epoch = id / queue->count, .tries = tries };
    int64_t                   place = id % queue->count;

    if (rules->is_shuffled)
        place = (int64_t)order_at((uint64_t)place, (uint64_t)queue->count, rules->seed,
                                  (uint64_t)shard.epoch);
    shard.start = place * rules->shard;
    shard.end = rules->size - shard.start > rules->shard ? shard.start + rules->shard
                                                         : rules->size;
    return shard;
}

/* Is the id beyond the last shard? */
static bool is_last(const struct queue *queue, int64_t id)
{
    return queue->rules.epochs > 0 ? id >= queue->counts.all : id >= QUEUE_ID_MAX;
}

static struct entry *entry_new(struct queue *queue, int64_t id)
{
    struct entry *entry = xcalloc(1, sizeof *entry);

    entry->id = id;
    entry->rank = entry->not_for = NOBODY;
    room_for_entry(queue);
    SLIST_INSERT_HEAD(bucket_of(queue, id), entry, chain);
    queue->open++;
    return entry;
}

static struct entry *entry_find(const struct queue *queue, int64_t id)
{
    struct entry *entry = NULL;

    if (queue->buckets > 0)
        SLIST_FOREACH (entry, bucket_of(queue, id), chain)
            if (entry->id == id)
                break;
    return entry;
}

static void entry_free(struct queue *queue, struct entry *entry)
{
    leave(queue, entry);
    SLIST_REMOVE(bucket_of(queue, entry->id), entry, entry, chain);
    queue->open--;
    free(entry);
}

/* Removes the entry from its list. */
static void leave(struct queue *queue, struct entry *entry)
{
    if (entry->state == ENTRY_DOING) {
        TAILQ_REMOVE(&queue->doing, entry, place);
        TAILQ_REMOVE(&queue->of_rank[entry->rank], entry, other);
        queue->counts.doing--;
    } else if (entry->state == ENTRY_AGAIN) {
        TAILQ_REMOVE(&queue->again, entry, place);
        queue->counts.again--;
    }
    entry->state = ENTRY_NEW;
}

/* Gives the rank an entry that is new or is given out again, or renews its lease. */
static void lend(struct queue *queue, struct entry *entry, int rank, int64_t now_ns)
{
    leave(queue, entry);
    room_for_rank(queue, rank);
    entry->rank = rank;
    entry->state = ENTRY_DOING;
    entry->due_ns = now_ns + (int64_t)(queue->rules.lease_s * NS_PER_S);
    TAILQ_INSERT_TAIL(&queue->doing, entry, place);
    TAILQ_INSERT_HEAD(&queue->of_rank[rank], entry, other);
    queue->counts.doing++;
}

/* Makes the entry the next one that is given out. */
static void put_back(struct queue *queue, struct entry *entry)
{
    leave(queue, entry);
    entry->state = ENTRY_AGAIN;
    TAILQ_INSERT_HEAD(&queue->again, entry, place);
    queue->counts.again++;
}

static void put_last(struct queue *queue, struct entry *entry)
{
    entry->state = ENTRY_AGAIN;
    TAILQ_INSERT_TAIL(&queue->again, entry, place);
    queue->counts.again++;
}

/* May free entry. */
static void count_failure(struct queue *queue, struct entry *entry)
{
    struct queue_shard shard = shard_of(queue, entry->id, ++entry->tries);

    if (entry->tries <= queue->rules.retries) {
        queue->ops->changed(QUEUE_BACK, &shard, queue->arg);
        return;
    }
    entry_free(queue, entry);
    note_dropped(queue, shard.id);
    queue->ops->changed(QUEUE_DROPPED, &shard, queue->arg);
    queue->ops->dropped(&shard, queue->arg);
}

static void note_dropped(struct queue *queue, int64_t id)
{
    int64_t known = queue->counts.dropped++;

    if (known >= QUEUE_DROPPED_MAX)
        return;
    if ((known & (known - 1)) == 0) /* 0, 1, 2, 4, 8 ... */
        queue->dropped = xreallocarray(queue->dropped, known == 0 ? 1 : 2 * (size_t)known,
                                       sizeof *queue->dropped);
    queue->dropped[known] = id;
}

static enum queue_said not_yours(struct queue *queue, int64_t id)
{
    return id >= 0 && id < queue->next ? QUEUE_LOST : QUEUE_UNKNOWN;
}

static void room_for_rank(struct queue *queue, int rank)
{
    struct entries *old = queue->of_rank;
    int             i, ranks = queue->ranks;

    if (rank < ranks)
        return;
    while (ranks <= rank)
        ranks = ranks == 0 ? 64 : 2 * ranks;
    /* The first entry of a list points to its head, so that a head cannot just move. */
    queue->of_rank = xcalloc((size_t)ranks, sizeof *queue->of_rank);
    for (i = 0; i < ranks; i++) {
        TAILQ_INIT(&queue->of_rank[i]);
        if (i < queue->ranks)
            TAILQ_CONCAT(&queue->of_rank[i], &old[i], other);
    }
    queue->ranks = ranks;
    free(old);
}

static void room_for_entry(struct queue *queue)
{
    struct bucket *old = queue->bucket;
    size_t         i, buckets = queue->buckets;
    struct entry  *entry;

    if (queue->open < buckets)
        return;
    queue->buckets = buckets == 0 ? 64 : 2 * buckets;
    queue->bucket = xcalloc(queue->buckets, sizeof *queue->bucket); /* empty */
    for (i = 0; i < buckets; i++)
        while ((entry = SLIST_FIRST(&old[i])) != NULL) {
            SLIST_REMOVE_HEAD(&old[i], chain);
            SLIST_INSERT_HEAD(bucket_of(queue, entry->id), entry, chain);
        }
    free(old);
}

static struct bucket *bucket_of(const struct queue *queue, int64_t id)
{
    return &queue->bucket[(uint64_t)id & (queue->buckets - 1)];
}
