/* test_mailbox.c - messages from threads to the event loop: summed, and delivered once
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <pthread.h>

#include <cmocka.h>

#include "output/mailbox.h"
#include "xalloc.h"

#define NODES   3
#define THREADS 4
#define POSTS   20000

struct fixture {
    struct event_base *base;
    struct mailbox    *mailbox;
    pthread_t          loop; /* the callbacks must come from here */
    size_t             consumed[NODES];
    int                deliveries, failures[2], error[2];
    size_t             answer; /* bytes that consumed_cb posts for node 1, once */
};

static void consumed_cb(size_t node, size_t bytes, void *arg)
{
    struct fixture *f = arg;
    size_t          answer = f->answer;

    assert_true(pthread_equal(pthread_self(), f->loop));
    assert_in_range(node, 0, NODES - 1);
    f->consumed[node] += bytes;
    f->deliveries++;
    f->answer = 0;
    mailbox_give(f->mailbox, 1, answer);
}

static void failed_cb(bool is_stderr, int error, void *arg)
{
    struct fixture *f = arg;

    assert_true(pthread_equal(pthread_self(), f->loop));
    f->failures[is_stderr]++;
    f->error[is_stderr] = error;
}

static int setup(void **state)
{
    static const struct output_ops ops = { .consumed = consumed_cb, .failed = failed_cb };
    struct fixture                *f = xcalloc(1, sizeof *f);
    size_t                         i;

    f->base = event_base_new();
    f->loop = pthread_self();
    f->mailbox = mailbox_new(f->base, &ops, f);
    for (i = 0; i < NODES; i++)
        mailbox_add_node(f->mailbox, i);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    mailbox_free(f->mailbox);
    event_base_free(f->base);
    free(f);
    return 0;
}

static void turn(struct fixture *f)
{
    event_base_loop(f->base, EVLOOP_NONBLOCK);
}

static void test_nothing_is_delivered_before_the_loop(void **state)
{
    struct fixture *f = *state;

    mailbox_give(f->mailbox, 0, 5);
    mailbox_fail(f->mailbox, false, EPIPE);
    assert_int_equal(f->deliveries + f->failures[0], 0);
    turn(f);
    assert_int_equal(f->consumed[0], 5);
    assert_int_equal(f->error[0], EPIPE);
    turn(f); /* and only once */
    assert_int_equal(f->consumed[0], 5);
    assert_int_equal(f->failures[0], 1);
}

/* The loop returns, though there is nothing to deliver. */
static void test_wake(void **state)
{
    struct fixture *f = *state;

    mailbox_wake(f->mailbox);
    event_base_loop(f->base, EVLOOP_ONCE);
    assert_int_equal(f->deliveries + f->failures[0] + f->failures[1], 0);
}

static void test_bytes_of_a_node_are_summed(void **state)
{
    struct fixture *f = *state;

    mailbox_give(f->mailbox, 2, 1);
    mailbox_give(f->mailbox, 0, 10);
    mailbox_give(f->mailbox, 2, 2);
    mailbox_give(f->mailbox, 1, 0); /* nothing to deliver */
    turn(f);
    assert_int_equal(f->consumed[0], 10);
    assert_int_equal(f->consumed[1], 0);
    assert_int_equal(f->consumed[2], 3);
    assert_int_equal(f->deliveries, 2);
}

static void test_both_descriptors_can_fail(void **state)
{
    struct fixture *f = *state;

    mailbox_fail(f->mailbox, true, ENOSPC);
    mailbox_fail(f->mailbox, false, EPIPE);
    turn(f);
    assert_int_equal(f->failures[0], 1);
    assert_int_equal(f->error[0], EPIPE);
    assert_int_equal(f->failures[1], 1);
    assert_int_equal(f->error[1], ENOSPC);
}

/* A callback may post again: that is delivered by a later turn, without a deadlock. */
static void test_callbacks_may_post(void **state)
{
    struct fixture *f = *state;

    f->answer = 7;
    mailbox_give(f->mailbox, 0, 5);
    turn(f);
    turn(f);
    assert_int_equal(f->consumed[0], 5);
    assert_int_equal(f->consumed[1], 7);
}

static void test_nodes_are_added_while_bytes_wait(void **state)
{
    struct fixture *f = *state;

    mailbox_give(f->mailbox, 2, 5);
    mailbox_add_node(f->mailbox, 100);
    mailbox_add_node(f->mailbox, 50);
    mailbox_give(f->mailbox, 2, 5);
    turn(f);
    assert_int_equal(f->consumed[2], 10);
}

/* At the end the loop does not run any more: failures are delivered at once, credit is not. */
static void test_settle(void **state)
{
    struct fixture *f = *state;

    mailbox_give(f->mailbox, 0, 5);
    mailbox_fail(f->mailbox, true, ETIMEDOUT);
    mailbox_settle(f->mailbox);
    assert_int_equal(f->failures[1], 1);
    assert_int_equal(f->error[1], ETIMEDOUT);
    assert_int_equal(f->deliveries, 0);
    mailbox_settle(f->mailbox);
    turn(f);
    assert_int_equal(f->failures[1], 1);
    assert_int_equal(f->consumed[0], 5);
}

static void *post_many(void *arg)
{
    struct fixture *f = arg;
    size_t          i;

    for (i = 0; i < POSTS; i++)
        mailbox_give(f->mailbox, i % NODES, 1 + i % 2);
    return NULL;
}

static void test_nothing_is_lost_among_threads(void **state)
{
    struct fixture *f = *state;
    pthread_t       thread[THREADS];
    size_t          i, sum = 0;

    for (i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, post_many, f), 0);
    for (i = 0; i < 100; i++)
        turn(f);
    for (i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    turn(f);
    for (i = 0; i < NODES; i++)
        sum += f->consumed[i];
    assert_int_equal(sum, THREADS * POSTS * 3 / 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_is_delivered_before_the_loop),
        TEST(test_wake),
        TEST(test_bytes_of_a_node_are_summed),
        TEST(test_both_descriptors_can_fail),
        TEST(test_callbacks_may_post),
        TEST(test_nodes_are_added_while_bytes_wait),
        TEST(test_settle),
        TEST(test_nothing_is_lost_among_threads),
    };

    return cmocka_run_group_tests_name("mailbox", tests, NULL, NULL);
}
