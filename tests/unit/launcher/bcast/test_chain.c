/* test_chain.c - who gets its copy from whom, and what happens when a node is late
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bcast/chain.h"
#include "clock.h"

#define NODES 5

static struct chain chain;
static int64_t      now_ns;

static void join_all(size_t nodes)
{
    size_t n;

    now_ns = 100 * NS_PER_S;
    chain_init(&chain, NODES);
    for (n = 0; n < nodes; n++) {
        chain_join(&chain, n, now_ns);
        chain_linked(&chain, n, now_ns);
    }
}

/* For so long all those nodes, as bits, answer; and those make progress. */
static void passes(double seconds, unsigned answer, unsigned progress)
{
    const int64_t end_ns = now_ns + (int64_t)(seconds * NS_PER_S);
    size_t        n;

    while (now_ns < end_ns) {
        now_ns += NS_PER_S / 10;
        for (n = 0; n < NODES; n++) {
            if ((answer >> n & 1) != 0)
                chain_heard(&chain, n, now_ns);
            if ((progress >> n & 1) != 0)
                chain_progress(&chain, n, now_ns);
        }
    }
}

static void all_wait(void)
{
    size_t n;

    for (n = 0; n < NODES; n++)
        if (chain.node[n].is_member)
            chain_wait(&chain, n, true, now_ns);
}

static void moves(size_t node, int source, enum chain_why why)
{
    struct chain_move move;

    assert_true(chain_next_move(&chain, now_ns, &move));
    assert_int_equal(move.node, node);
    assert_int_equal(move.source, source);
    assert_int_equal(move.why, why);
    assert_int_equal(chain.node[node].source, source);
}

static void nothing_moves(void)
{
    struct chain_move move;

    assert_false(chain_next_move(&chain, now_ns, &move));
}

static void each_gets_it_from_the_one_before(void **state)
{
    (void)state;
    chain_init(&chain, NODES);
    assert_int_equal(chain_join(&chain, 3, 0), CHAIN_LAUNCHER);
    assert_int_equal(chain_join(&chain, 0, 0), 3);
    assert_int_equal(chain_join(&chain, 4, 0), 0);
    assert_true(chain_is_needed(&chain, 0));
    assert_false(chain_is_needed(&chain, 4));
    chain_clear(&chain);
}

static void in_a_tree_two_get_it_from_each(void **state)
{
    (void)state;
    chain_init(&chain, NODES);
    chain.is_tree = true;
    assert_int_equal(chain_join(&chain, 3, 0), CHAIN_LAUNCHER);
    assert_int_equal(chain_join(&chain, 0, 0), 3);
    assert_int_equal(chain_join(&chain, 4, 0), 3);
    assert_int_equal(chain_join(&chain, 1, 0), 0);
    chain_leave(&chain, 1);
    chain_leave(&chain, 4);
    assert_int_equal(chain_join(&chain, 2, 0), 3);
    chain_clear(&chain);
}

/* Nodes 1 and 2 get it from 0, nodes 3 and 4 from 1. */
static void a_stopped_branch_is_bypassed(void **state)
{
    size_t n;

    (void)state;
    now_ns = 100 * NS_PER_S;
    chain_init(&chain, NODES);
    chain.is_tree = true;
    for (n = 0; n < NODES; n++) {
        chain_join(&chain, n, now_ns);
        chain_linked(&chain, n, now_ns);
    }
    all_wait();
    passes(2.1, 1 << 0 | 1 << 2 | 1 << 3 | 1 << 4, 1 << 0 | 1 << 2);
    moves(1, CHAIN_NOBODY, CHAIN_PARKED);
    moves(3, 0, CHAIN_BYPASSED);
    moves(4, 0, CHAIN_BYPASSED);
    nothing_moves();
    chain_heard(&chain, 1, now_ns + 1);
    moves(1, 2, CHAIN_RETURNED); /* node 0 has enough to do */
    chain_clear(&chain);
}

static void a_node_that_is_gone_gets_no_successor(void **state)
{
    (void)state;
    join_all(3);
    chain_leave(&chain, 2);
    assert_int_equal(chain_join(&chain, 3, now_ns), 1);
    chain_clear(&chain);
}

static void a_slow_start_is_nobodys_fault(void **state)
{
    (void)state;
    join_all(4);
    all_wait();
    passes(10, 0xf, 0);
    nothing_moves(); /* the launcher itself has nothing for them */
    chain_clear(&chain);
}

static void those_that_want_nothing_are_left_alone(void **state)
{
    (void)state;
    join_all(4);
    passes(10, 0, 0);
    nothing_moves();
    chain_clear(&chain);
}

static void a_stopped_node_is_bypassed(void **state)
{
    (void)state;
    join_all(4);
    all_wait();
    passes(1, 0xf, 0xf);
    passes(1.9, 0xd, 0x1);
    nothing_moves();
    passes(0.3, 0xd, 0x1);
    moves(1, CHAIN_NOBODY, CHAIN_PARKED);
    moves(2, 0, CHAIN_BYPASSED);
    nothing_moves();
    assert_int_equal(chain.node[3].source, 2);
    assert_false(chain_is_needed(&chain, 1));
    passes(10, 0xd, 0xd);
    nothing_moves();
    passes(0.1, 0xf, 0xd); /* it answers again */
    moves(1, 3, CHAIN_RETURNED);
    nothing_moves();
    chain_clear(&chain);
}

static void a_stopped_head_is_bypassed(void **state)
{
    (void)state;
    join_all(3);
    all_wait();
    passes(1, 0x7, 0x7);
    passes(2.2, 0x6, 0);
    moves(0, CHAIN_NOBODY, CHAIN_PARKED);
    moves(1, CHAIN_LAUNCHER, CHAIN_BYPASSED);
    nothing_moves();
    chain_clear(&chain);
}

static void a_stopped_tail_that_nobody_needs_goes_to_the_end(void **state)
{
    (void)state;
    join_all(3);
    all_wait();
    passes(1, 0x7, 0x7);
    passes(2.2, 0x3, 0x3);
    moves(2, CHAIN_NOBODY, CHAIN_PARKED);
    passes(0.1, 0x7, 0x3);
    moves(2, 1, CHAIN_RETURNED);
    nothing_moves();
    chain_clear(&chain);
}

/* It has everything and does not serve. */
static void a_source_that_is_done_and_stops_is_bypassed(void **state)
{
    (void)state;
    join_all(3);
    all_wait();
    chain_finish(&chain, 0);
    chain_finish(&chain, 1);
    assert_true(chain_is_needed(&chain, 1));
    passes(2.2, 0x5, 0);
    moves(1, CHAIN_NOBODY, CHAIN_PARKED);
    moves(2, 0, CHAIN_BYPASSED);
    passes(0.1, 0x7, 0);
    nothing_moves(); /* it needs nothing */
    chain_clear(&chain);
}

static void two_in_a_row_stop(void **state)
{
    (void)state;
    join_all(5);
    all_wait();
    passes(1, 0x1f, 0x1f);
    passes(2.2, 0x19, 0x1);
    moves(1, CHAIN_NOBODY, CHAIN_PARKED);
    moves(2, 0, CHAIN_BYPASSED);
    passes(2.2, 0x19, 0x1);
    moves(2, CHAIN_NOBODY, CHAIN_PARKED);
    moves(3, 0, CHAIN_BYPASSED);
    nothing_moves();
    chain_clear(&chain);
}

static void a_dead_connection_is_replaced(void **state)
{
    int i;

    (void)state;
    join_all(4);
    all_wait();
    passes(1, 0xf, 0xf);
    passes(2.2, 0xf, 0x3);
    moves(2, 0, CHAIN_DEAD);
    passes(10, 0xf, 0x3);
    nothing_moves(); /* it says itself when it cannot connect */
    chain_linked(&chain, 2, now_ns);
    passes(2.2, 0xf, 0x3);
    moves(2, CHAIN_LAUNCHER, CHAIN_DEAD);
    nothing_moves();
    for (i = 0; i < 2; i++) {
        passes(10, 0xf, 0x3);
        nothing_moves(); /* the launcher is the last resort */
    }
    chain_clear(&chain);
}

/* Node 2 waits for node 1, which gets a chunk every 3 seconds. */
static void a_slow_source_is_not_a_dead_one(void **state)
{
    int i;

    (void)state;
    join_all(3);
    all_wait();
    for (i = 0; i < 5; i++) {
        passes(3, 0x7, 0);
        nothing_moves();
        passes(0.1, 0x7, 0x3);
        nothing_moves();
        passes(0.1, 0x7, 0x4);
    }
    chain_clear(&chain);
}

static void a_node_that_is_lost_is_bypassed_at_once(void **state)
{
    (void)state;
    join_all(4);
    all_wait();
    chain_leave(&chain, 1);
    chain_leave(&chain, 0);
    moves(2, CHAIN_LAUNCHER, CHAIN_BYPASSED);
    nothing_moves();
    assert_int_equal(chain.node[3].source, 2);
    chain_clear(&chain);
}

static void a_detached_node_is_fed_by_the_launcher(void **state)
{
    (void)state;
    join_all(4);
    all_wait();
    chain_detach(&chain, 2, now_ns);
    assert_int_equal(chain.node[2].source, CHAIN_LAUNCHER);
    assert_int_equal(chain.node[3].source, 2);
    assert_false(chain_is_needed(&chain, 1));
    chain_clear(&chain);
}

static void a_launcher_that_did_not_run_blames_nobody(void **state)
{
    (void)state;
    join_all(4);
    all_wait();
    now_ns += 60 * NS_PER_S;
    chain_forgive(&chain, now_ns);
    nothing_moves();
    chain_clear(&chain);
}

static void a_launcher_that_did_not_run_has_heard_nobody(void **state)
{
    (void)state;
    join_all(3);
    all_wait();
    passes(1, 0x7, 0x7);
    passes(2.2, 0x5, 0x1);
    moves(1, CHAIN_NOBODY, CHAIN_PARKED);
    moves(2, 0, CHAIN_BYPASSED);
    now_ns += 60 * NS_PER_S;
    chain_forgive(&chain, now_ns);
    nothing_moves();
    chain_heard(&chain, 1, now_ns);
    moves(1, 2, CHAIN_RETURNED);
    chain_clear(&chain);
}

/* Whatever stops, returns or leaves, in whatever order: no node is below itself. */
static void there_are_no_circles(void **state)
{
    unsigned seed = 1;
    int      round, n, at, steps;

    (void)state;
    join_all(NODES);
    for (round = 0; round < 5000; round++) {
        struct chain_move move;

        seed = seed * 1103515245 + 12345;
        all_wait();
        passes(0.5, seed >> 16 & 0x1f, seed >> 21 & 0x1f);
        while (chain_next_move(&chain, now_ns, &move))
            ;
        if (round % 1000 == 999)
            chain_leave(&chain, (size_t)(round / 1000));
        for (n = 0; n < NODES; n++) {
            for (at = n, steps = 0; at >= 0; at = chain.node[at].source)
                assert_true(steps++ < NODES);
        }
    }
    chain_clear(&chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gets_it_from_the_one_before),
        cmocka_unit_test(in_a_tree_two_get_it_from_each),
        cmocka_unit_test(a_stopped_branch_is_bypassed),
        cmocka_unit_test(a_node_that_is_gone_gets_no_successor),
        cmocka_unit_test(a_slow_start_is_nobodys_fault),
        cmocka_unit_test(those_that_want_nothing_are_left_alone),
        cmocka_unit_test(a_stopped_node_is_bypassed),
        cmocka_unit_test(a_stopped_head_is_bypassed),
        cmocka_unit_test(a_stopped_tail_that_nobody_needs_goes_to_the_end),
        cmocka_unit_test(a_source_that_is_done_and_stops_is_bypassed),
        cmocka_unit_test(two_in_a_row_stop),
        cmocka_unit_test(a_dead_connection_is_replaced),
        cmocka_unit_test(a_slow_source_is_not_a_dead_one),
        cmocka_unit_test(a_node_that_is_lost_is_bypassed_at_once),
        cmocka_unit_test(a_detached_node_is_fed_by_the_launcher),
        cmocka_unit_test(a_launcher_that_did_not_run_blames_nobody),
        cmocka_unit_test(a_launcher_that_did_not_run_has_heard_nobody),
        cmocka_unit_test(there_are_no_circles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
