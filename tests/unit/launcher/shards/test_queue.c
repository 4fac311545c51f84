/* test_queue.c - shards are given out, done, and given out again when they have to be
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "shards/order.h"
#include "shards/queue.h"

#define S NS_PER_S

struct seen {
    int changed[3], expired, dropped, last_rank;
};

static void changed_cb(enum queue_change what, const struct queue_shard *shard, void *arg)
{
    struct seen *seen = arg;

    (void)shard;
    seen->changed[what]++;
}

static void expired_cb(const struct queue_shard *shard, int rank, void *arg)
{
    struct seen *seen = arg;

    (void)shard;
    seen->expired++;
    seen->last_rank = rank;
}

static void dropped_cb(const struct queue_shard *shard, void *arg)
{
    struct seen *seen = arg;

    (void)shard;
    seen->dropped++;
}

static const struct queue_ops ops = { changed_cb, expired_cb, dropped_cb };

static struct queue *make(int64_t size, int64_t shard, int64_t epochs, struct seen *seen)
{
    struct queue_rules rules = { .size = size, .shard = shard, .epochs = epochs, .lease_s = 10,
                                 .retries = 2 };
    struct error       err;

    assert_int_equal(queue_check(&rules, &err), 0);
    return queue_new(&rules, &ops, seen);
}

static int64_t get(struct queue *queue, int rank, int64_t now_ns)
{
    struct queue_shard shard;

    assert_int_equal(queue_get(queue, rank, now_ns, &shard), QUEUE_GOT);
    return shard.id;
}

static void test_shards_cover_the_records(void **state)
{
    struct seen        seen = { 0 };
    struct queue      *queue = make(25, 10, 2, &seen);
    struct queue_shard shard;
    int64_t            at = 0;
    int                i;

    (void)state;
    for (i = 0; i < 6; i++) {
        assert_int_equal(queue_get(queue, 0, 0, &shard), QUEUE_GOT);
        assert_int_equal(shard.id, i);
        assert_int_equal(shard.epoch, i / 3);
        assert_int_equal(shard.start, at);
        assert_int_equal(shard.end, i % 3 == 2 ? 25 : at + 10);
        at = shard.end % 25;
    }
    assert_int_equal(queue_get(queue, 0, 0, &shard), QUEUE_WAIT);
    for (i = 0; i < 6; i++)
        assert_int_equal(queue_done(queue, 0, i), QUEUE_TAKEN);
    assert_int_equal(queue_get(queue, 0, 0, &shard), QUEUE_END);
    assert_int_equal(queue_counts(queue).done, 6);
    assert_int_equal(seen.changed[QUEUE_DONE], 6);
    queue_free(queue);
}

static void test_an_order_is_a_permutation_of_its_epoch(void **state)
{
    static const uint64_t counts[] = { 1, 2, 3, 4, 5, 16, 17, 1000, 4097 };
    unsigned char         met[4097];
    uint64_t              at, same = 0;
    size_t                i;

    (void)state;
    for (i = 0; i < sizeof counts / sizeof *counts; i++) {
        memset(met, 0, sizeof met);
        for (at = 0; at < counts[i]; at++)
            met[order_at(at, counts[i], 7, i)]++;
        for (at = 0; at < counts[i]; at++)
            assert_int_equal(met[at], 1);
    }
    for (at = 0; at < 1000; at++) {
        same += order_at(at, 1000, 7, 0) == order_at(at, 1000, 7, 1);
        same += order_at(at, 1000, 7, 0) == order_at(at, 1000, 8, 0);
        same += order_at(at, 1000, 7, 0) == at;
    }
    assert_true(same < 20); /* of 3000, by chance */
    assert_int_equal(order_at(5, 1000, 7, 1), order_at(5, 1000, 7, 1));
}

static void test_a_lease_expires_unless_it_is_renewed(void **state)
{
    struct seen        seen = { 0 };
    struct queue      *queue = make(30, 10, 1, &seen);
    struct queue_shard shard;

    (void)state;
    assert_int_equal(get(queue, 0, 0), 0);
    assert_int_equal(get(queue, 1, 1 * S), 1);
    assert_int_equal(queue_due_ns(queue), 10 * S);
    assert_int_equal(queue_renew(queue, 0, 0, 5 * S), QUEUE_TAKEN);
    assert_int_equal(queue_due_ns(queue), 11 * S);
    queue_expire(queue, 11 * S);
    assert_int_equal(seen.expired, 1);
    assert_int_equal(seen.last_rank, 1);
    assert_int_equal(queue_due_ns(queue), 15 * S);

    /* Nobody has got it since: it still counts as read once. */
    assert_int_equal(queue_done(queue, 1, 1), QUEUE_TAKEN);
    assert_int_equal(queue_counts(queue).twice, 0);

    queue_expire(queue, 15 * S);
    assert_int_equal(queue_get(queue, 1, 16 * S, &shard), QUEUE_GOT);
    assert_int_equal(shard.id, 0); /* before those that nobody has had */
    assert_int_equal(shard.tries, 1);
    assert_int_equal(queue_done(queue, 0, 0), QUEUE_LOST);
    assert_int_equal(queue_done(queue, 1, 0), QUEUE_TAKEN);
    assert_int_equal(queue_done(queue, 1, 0), QUEUE_LOST);
    assert_int_equal(queue_counts(queue).twice, 2);
    assert_int_equal(queue_counts(queue).repeated, 1);
    assert_int_equal(queue_done(queue, 1, 2), QUEUE_UNKNOWN);
    assert_int_equal(queue_done(queue, 1, -1), QUEUE_UNKNOWN);
    queue_free(queue);
}

static void test_a_late_renewal_takes_it_again(void **state)
{
    struct seen   seen = { 0 };
    struct queue *queue = make(30, 10, 1, &seen);

    (void)state;
    get(queue, 0, 0);
    get(queue, 0, 0);
    queue_expire(queue, 20 * S);
    assert_int_equal(queue_counts(queue).again, 2);
    assert_int_equal(queue_renew(queue, 0, 1, 21 * S), QUEUE_TAKEN);
    assert_int_equal(queue_renew(queue, 1, 0, 21 * S), QUEUE_LOST);
    assert_int_equal(queue_counts(queue).again, 1);
    assert_int_equal(queue_counts(queue).doing, 1);
    queue_renew_all(queue, 0, 25 * S);
    queue_renew_all(queue, 999, 25 * S);
    assert_int_equal(queue_due_ns(queue), 35 * S);
    queue_free(queue);
}

static void test_a_dead_rank_gives_back_in_order(void **state)
{
    struct seen   seen = { 0 };
    struct queue *queue = make(100, 10, 1, &seen);
    int           i;

    (void)state;
    for (i = 0; i < 6; i++)
        get(queue, i % 2, 0);
    queue_rank_gone(queue, 1, false);
    queue_rank_gone(queue, 77, true);
    assert_int_equal(get(queue, 0, 0), 1);
    assert_int_equal(get(queue, 0, 0), 3);
    assert_int_equal(get(queue, 0, 0), 5);
    assert_int_equal(get(queue, 0, 0), 6);
    assert_int_equal(queue_done(queue, 1, 1), QUEUE_LOST); /* a rank of that number, later */
    queue_all_gone(queue);
    assert_int_equal(queue_counts(queue).doing, 0);
    assert_int_equal(queue_counts(queue).again, 7);
    assert_int_equal(seen.changed[QUEUE_BACK], 0);
    queue_free(queue);
}

static void test_what_fails_too_often_is_dropped_and_told(void **state)
{
    struct seen        seen = { 0 };
    struct queue      *queue = make(30, 10, 1, &seen);
    struct queue_shard shard;

    (void)state;
    assert_int_equal(get(queue, 0, 0), 0);
    assert_int_equal(queue_fail(queue, 1, 0), QUEUE_LOST);
    assert_int_equal(queue_fail(queue, 0, 0), QUEUE_TAKEN);
    assert_int_equal(queue_fail(queue, 0, 0), QUEUE_LOST); /* it does not have it now */
    assert_int_equal(get(queue, 5, 0), 0);
    queue_expire(queue, 10 * S);
    assert_int_equal(get(queue, 1, 10 * S), 0);
    assert_int_equal(get(queue, 1, 10 * S), 1);
    queue_rank_gone(queue, 1, true); /* shard 1 is the likely cause, not 0 */
    assert_int_equal(seen.dropped, 0);
    assert_int_equal(get(queue, 1, 10 * S), 0);
    queue_rank_gone(queue, 1, true);
    assert_int_equal(seen.dropped, 1);
    assert_int_equal(seen.changed[QUEUE_DROPPED], 1);
    assert_int_equal(queue_counts(queue).dropped, 1);
    assert_int_equal(get(queue, 0, 10 * S), 1);
    assert_int_equal(get(queue, 0, 10 * S), 2);
    assert_int_equal(queue_done(queue, 0, 1), QUEUE_TAKEN);
    assert_int_equal(queue_done(queue, 0, 2), QUEUE_TAKEN);
    assert_int_equal(queue_get(queue, 0, 10 * S, &shard), QUEUE_END);
    assert_int_equal(queue_counts(queue).done, 2);
    queue_free(queue);
}

static void test_what_one_rank_cannot_read_another_may(void **state)
{
    struct seen        seen = { 0 };
    struct queue      *queue = make(30, 10, 1, &seen);
    struct queue_shard shard;

    (void)state;
    assert_int_equal(get(queue, 0, 0), 0);
    assert_int_equal(queue_fail(queue, 0, 0), QUEUE_TAKEN);
    assert_int_equal(get(queue, 0, 0), 1);
    assert_int_equal(get(queue, 1, 0), 0);
    assert_int_equal(queue_fail(queue, 1, 0), QUEUE_TAKEN);
    assert_int_equal(get(queue, 1, 0), 2);
    assert_int_equal(get(queue, 1, 0), 0); /* nothing else is left */
    assert_int_equal(queue_fail(queue, 1, 0), QUEUE_TAKEN);
    assert_int_equal(seen.dropped, 1);
    assert_int_equal(queue_get(queue, 1, 0, &shard), QUEUE_WAIT);
    queue_free(queue);
}

static void test_too_many_open_shards_are_refused(void **state)
{
    struct seen        seen = { 0 };
    struct queue      *queue = make(INT64_MAX / 4, 1, 1, &seen);
    struct queue_shard shard;
    int                i;

    (void)state;
    for (i = 0; i < QUEUE_OPEN_MAX; i++)
        get(queue, i % 1000, 0);
    assert_int_equal(queue_get(queue, 0, 0, &shard), QUEUE_FULL);
    assert_int_equal(queue_done(queue, 5, 5), QUEUE_TAKEN);
    assert_int_equal(queue_get(queue, 0, 0, &shard), QUEUE_GOT);
    queue_free(queue);
}

static void test_bad_rules(void **state)
{
    static const struct queue_rules bad[] = {
        { 0, 1, 1, 0, false, 1, 0 },
        { -1, 1, 1, 0, false, 1, 0 },
        { 1, 0, 1, 0, false, 1, 0 },
        { 1, 1, -1, 0, false, 1, 0 },
        { INT64_MAX, 1, 1, 0, false, 1, 0 },
        { INT64_MAX / 4, 1, 3, 0, false, 1, 0 },
        { 1, 1, 1, 0, false, 0, 0 },
        { 1, 1, 1, 0, false, 1e9, 0 },
        { 1, 1, 1, 0, false, 1, -1 },
    };
    const struct queue_rules good = { 1, 100, 0, 0, true, 0.1, 0 };
    struct error             err;
    size_t                   i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(queue_check(&bad[i], &err), -1);
    assert_int_equal(queue_check(&good, &err), 0);
}

/* 10 000 shards, 40 ranks; ranks die, leases expire, ranks stay silent and come back late. Each
 * shard is taken as done exactly once, or it was dropped and told; and whoever was told that a
 * shard is not theirs any more, read it a second time, and was counted. */
#define SHARDS 10000
#define RANKS  40

struct world {
    struct seen    seen;
    struct queue  *queue;
    int64_t        held[RANKS][8];
    int            holds[RANKS];
    unsigned char  done[SHARDS];
    int64_t        twice, now_ns;
};

static void finish_one(struct world *world, int rank)
{
    int64_t id = world->held[rank][--world->holds[rank]];

    if (queue_done(world->queue, rank, id) == QUEUE_TAKEN)
        world->done[id]++;
    else
        world->twice++;
}

static bool step(struct world *world)
{
    int                rank = rand() % RANKS, what = rand() % 1000;
    struct queue_shard shard;

    world->now_ns += rand() % (S / 100);
    queue_expire(world->queue, world->now_ns);
    if (what < 3) { /* killed: it forgets, and the launcher learns of it */
        world->holds[rank] = 0;
        queue_rank_gone(world->queue, rank, what == 0);
    } else if (what < 4) {
        memset(world->holds, 0, sizeof world->holds);
        queue_all_gone(world->queue);
    } else if (what < 6 && world->holds[rank] > 0) {
        queue_fail(world->queue, rank, world->held[rank][--world->holds[rank]]);
    } else if (what < 500 && world->holds[rank] < 8) {
        switch (queue_get(world->queue, rank, world->now_ns, &shard)) {
        case QUEUE_GOT:
            world->held[rank][world->holds[rank]++] = shard.id;
            break;
        case QUEUE_END:
            return false;
        default:
            break;
        }
    } else if (rank != 7 && world->holds[rank] > 0) { /* rank 7 is slow */
        finish_one(world, rank);
    } else if (rank == 7 && what > 990 && world->holds[rank] > 0) {
        finish_one(world, rank);
    }
    return true;
}

static void test_each_shard_is_done_once_whatever_dies(void **state)
{
    struct world       *world = calloc(1, sizeof *world);
    struct queue_counts counts;
    int64_t             done = 0, i;
    int                 steps = 0;

    (void)state;
    srand(13);
    world->queue = make(SHARDS * 3 - 1, 3, 1, &world->seen);
    while (step(world))
        assert_true(++steps < 2000000);
    counts = queue_counts(world->queue);
    for (i = 0; i < SHARDS; i++) {
        assert_true(world->done[i] <= 1);
        done += world->done[i];
    }
    assert_int_equal(done, counts.done);
    assert_int_equal(done + world->seen.dropped, SHARDS);
    assert_int_equal(world->seen.dropped, counts.dropped);
    assert_int_equal(world->seen.expired, counts.expired);
    assert_int_equal(world->twice, counts.twice);
    assert_true(counts.repeated > 100 && counts.expired > 10 && counts.twice > 0);
    queue_free(world->queue);
    free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shards_cover_the_records),
        cmocka_unit_test(test_an_order_is_a_permutation_of_its_epoch),
        cmocka_unit_test(test_a_lease_expires_unless_it_is_renewed),
        cmocka_unit_test(test_a_late_renewal_takes_it_again),
        cmocka_unit_test(test_a_dead_rank_gives_back_in_order),
        cmocka_unit_test(test_what_fails_too_often_is_dropped_and_told),
        cmocka_unit_test(test_what_one_rank_cannot_read_another_may),
        cmocka_unit_test(test_too_many_open_shards_are_refused),
        cmocka_unit_test(test_bad_rules),
        cmocka_unit_test(test_each_shard_is_done_once_whatever_dies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
