/* test_zero.c - all stages, worlds and types of element train to the same bits
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "comm/background.h"
#include "unit/trainer/comm/thread_comm.h"
#include "unit/trainer/zero/zero_training.h"
#include "xalloc.h"
#include "zero/swap_file.h"

#define OVERLAP_ROUNDS 20 /* a machine at its limit needs 3 */

/* As plainly in all that comes out of it. */
static void check(struct training t, int ranks)
{
    struct training *plain = xmemdup(&t, sizeof t), *divided = xmemdup(&t, sizeof t);
    const char      *wrong = thread_comm_run(ranks, training_rank, divided);
    int              step;

    if (wrong != NULL)
        fail_msg("stage %d, %d ranks: %s", t.stage, ranks, wrong);
    training_plainly(plain);
    if (t.overflow_step >= 0)
        assert_int_equal(divided->bad_rank, t.in_sum ? -1 : t.overflow_from);
    for (step = 0; step < STEPS; step++) {
        assert_int_equal(divided->is_skipped[step], plain->is_skipped[step]);
        assert_int_equal(divided->bad[step], plain->bad[step]);
        if (!divided->is_skipped[step])
            assert_true(divided->norm[step] == plain->norm[step]);
    }
    if (memcmp(divided->param, plain->param, sizeof t.param) != 0 ||
        memcmp(divided->mean, plain->mean, sizeof t.mean) != 0 ||
        memcmp(divided->square, plain->square, sizeof t.square) != 0)
        fail_msg("stage %d, %d ranks, %d passes, %s, places %d and %d: other parameters", t.stage,
                 ranks, t.passes, dtype_name(t.type), t.params, t.states);
    assert_memory_equal(&divided->memory, &divided->needed, sizeof t.memory);
    free(plain);
    free(divided);
}

static void test_stages(void **state)
{
    static const int        worlds[] = { 1, 2, 3, 4, 6 }, passes[] = { 1, 2, 2 };
    static const enum dtype types[] = { DTYPE_FLOAT, DTYPE_BFLOAT16, DTYPE_HALF };
    int                     stage, world, type, pass;

    (void)state;
    for (stage = 0; stage <= 3; stage++)
        for (world = 0; world < 5; world++)
            for (type = 0; type < 3; type++)
                for (pass = 0; pass < 3; pass++)
                    check((struct training){ .stage = stage, .passes = passes[pass],
                                             .type = types[type],
                                             .sums_in_float = pass == 2, .bucket_max = 1100,
                                             .overflow_step = -1,
                                             .in_background = world % 2 == 1,
                                             .is_sparing = pass == 0 },
                          worlds[world]);
}

/* States in a file, in each stage; in stage 3 also parameters on the host and in a file, with fewer
 * and more buffers than there are layers. */
static void test_places(void **state)
{
    static const int        worlds[] = { 1, 2, 3 }, buffers[] = { 1, 2, 4, 30 };
    static const enum dtype types[] = { DTYPE_FLOAT, DTYPE_BFLOAT16 };
    struct training         t = { .passes = 2, .bucket_max = 1100, .overflow_step = 3 };
    int                     i;

    (void)state;
    for (i = 0; i < 12; i++) {
        t.type = types[(i + i / 4) % 2];
        t.sums_in_float = i % 3 > 0;
        t.buffers = buffers[i % 4];
        t.in_background = i % 4 < 2;
        t.is_sparing = i % 3 > 0;
        t.states = ZERO_FILE;
        t.params = ZERO_THERE;
        t.stage = i % 3;
        check(t, worlds[i / 4]);
        t.stage = 3;
        t.params = ZERO_HOST;
        check(t, worlds[i / 4]);
        t.params = ZERO_FILE;
        check(t, worlds[i / 4]);
        t.states = ZERO_THERE;
        check(t, worlds[i / 4]);
    }
    t.params = ZERO_HOST;
    t.states = ZERO_THERE;
    for (i = 0; i < 6; i++) {
        t.type = types[i % 2];
        check(t, worlds[i / 2]);
    }
}

/* A spared parameter without a gradient keeps its value, and another shrinks by lr * decay of it in
 * each step. */
static void check_still(struct training t, int ranks)
{
    const float     decay = (float)(training_adam.lr * training_adam.weight_decay);
    const char     *wrong = thread_comm_run(ranks, training_rank, &t);
    volatile float  want, change; /* each rounded to float */
    size_t          i;
    int             step;

    if (wrong != NULL)
        fail_msg("stage %d, %d ranks: %s", t.stage, ranks, wrong);
    for (i = 0; i < TOTAL; i++) {
        want = training_initial(i);
        for (step = 0; step < STEPS && !(t.is_sparing && training_spares(i)); step++) {
            change = decay * want;
            want = want - change;
        }
        if (t.param[i] != want)
            fail_msg("stage %d, %d ranks, places %d and %d: element %zu is %.9g, not %.9g",
                     t.stage, ranks, t.params, t.states, i, (double)t.param[i], (double)want);
    }
}

static void test_spared(void **state)
{
    struct training t = { .passes = 1, .bucket_max = 1100, .buffers = 2, .overflow_step = -1,
                          .is_still = true };
    int             i;

    (void)state;
    for (i = 0; i < 8; i++) {
        t.is_sparing = i % 4 > 0;
        t.type = i < 4 ? DTYPE_FLOAT : DTYPE_BFLOAT16;
        for (t.stage = 0; t.stage <= 3; t.stage++) {
            t.states = i % 2 == 1 ? ZERO_FILE : ZERO_THERE;
            t.params = t.stage == 3 ? (enum zero_place)(i % 3) : ZERO_THERE;
            check_still(t, 1);
            check_still(t, 4);
        }
    }
}

/* Where parameters are elsewhere, two layers of a size are in memory, and no more, also of one
 * rank. */
static void test_rooms(void **state)
{
    const size_t            rooms = (2 * 1024 + 64 + 32 + 64) * sizeof(float);
    const struct zero_options options = { .stage = 3, .type = DTYPE_FLOAT,
                                          .params = { ZERO_FILE, false, training_dir, 2 } };
    const struct zero_memory  memory = zero_memory_needed(&options, training_layers, LAYERS, 1);

    (void)state;
    assert_int_equal(memory.rooms, rooms);
    assert_int_equal(memory.rings, 2 * SWAP_ALIGN);
    assert_int_equal(memory.params, BUCKETS * SWAP_ALIGN);
}

/* Whose gradient it is, is found, on whatever rank, and if it is on none. */
static void test_clip_and_overflow(void **state)
{
    struct training t = { .passes = 3, .type = DTYPE_BFLOAT16, .bucket_max = 2500, .clip = 10,
                          .overflow_step = 2 };

    (void)state;
    for (t.stage = 0; t.stage <= 3; t.stage++) {
        for (t.overflow_from = 0; t.overflow_from < 4; t.overflow_from++) {
            t.in_background = t.overflow_from % 2 == 1;
            t.sums_in_float = t.overflow_from > 1;
            check(t, 4);
        }
        t.in_sum = true;
        check(t, 4);
        t.in_sum = false;
    }
}

/* One reduce-scatter and one all-gather a bucket: what crosses the network is what the
 * stage needs, and not twice that. */
static void test_traffic(void **state)
{
    const size_t    padded = (TOTAL + 127) / 128 * 128; /* four pieces of whole 32 */
    struct training t = { .passes = 1, .type = DTYPE_FLOAT, .bucket_max = 100000,
                          .overflow_step = -1 };

    (void)state;
    t.stage = 0;
    check(t, 4);
    assert_int_equal(thread_comm_counts.bytes,
                     STEPS * 2 * sizeof(float) * ((TOTAL + 31) / 32 * 32));
    t.stage = 2;
    check(t, 4);
    assert_int_equal(thread_comm_counts.reduce_scatter, STEPS);
    assert_int_equal(thread_comm_counts.all_gather, STEPS + 1);
    assert_int_equal(thread_comm_counts.all_reduce, STEPS);
    assert_int_equal(thread_comm_counts.bytes, (2 * STEPS + 1) * padded * sizeof(float) +
                                                   STEPS * 2 * sizeof(double));
    /* Of two sizes, each with two rooms: seven layers and the tied one again; then 3 to 0. */
    t.stage = 3;
    check(t, 4);
    assert_int_equal(thread_comm_counts.reduce_scatter, STEPS * BUCKETS);
    assert_int_equal(thread_comm_counts.all_gather, STEPS * (BUCKETS + 1 + 4));
}

/* In the background, gradients travel while the layer before is computed, and in stage 3
 * parameters while the layer before, or behind, is: most of the network's time is hidden. Layers
 * and network are asleep for a time. One after the other they take at least the sum of it, however
 * fast the machine is; a busy one takes longer, so it has some rounds. */
static void test_overlap(void **state)
{
    const struct thread_comm_counts *counts = &thread_comm_counts;
    struct training t = { .passes = 1, .type = DTYPE_FLOAT, .compute_ns = 10000000,
                          .in_background = true, .overflow_step = -1 };
    int64_t         start, took, sum;
    int             round;

    (void)state;
    thread_comm_delay_ns = t.compute_ns;
    for (t.stage = 2; t.stage <= 3; t.stage++) {
        round = 0;
        do {
            start = clock_now_ns();
            check(t, 2);
            took = clock_now_ns() - start;
            sum = STEPS * 2 * LAYERS * t.compute_ns +
                  (counts->all_reduce + counts->reduce_scatter + counts->all_gather) *
                      thread_comm_delay_ns;
            print_message("# stage %d: %.0f ms; one after the other at least %.0f ms\n", t.stage,
                          (double)took / 1e6, (double)sum / 1e6);
        } while (took > sum / 10 * 9 && ++round < OVERLAP_ROUNDS);
        assert_true(took <= sum / 10 * 9);
    }
    thread_comm_delay_ns = 0;
}

static const char *lost_peer(struct comm *inner, void *arg)
{
    struct training    *t = arg;
    struct zero_options options = { .stage = t->stage, .type = t->type };
    struct error        err = { "" };
    struct comm        *comm = comm_background(inner, &err);
    struct zero        *zero = zero_open(comm, &options, training_layers, LAYERS, &err);
    int                 rc;

    training_fill(zero);
    rc = zero_publish(zero, &err);
    if (rc == 0)
        rc = training_steps(t, comm, zero, &err);
    zero_close(zero);
    comm->ops->abort(comm);
    if (rc == 0 || strcmp(err.text, "rank 1 on nowhere is gone") != 0)
        return "the failure is not told";
    return NULL;
}

static void test_failure(void **state)
{
    struct training *t = xcalloc(1, sizeof *t);
    const char      *wrong = NULL;

    (void)state;
    *t = (struct training){ .passes = 1, .type = DTYPE_BFLOAT16, .overflow_step = -1 };
    for (t->stage = 0; t->stage <= 3 && wrong == NULL; t->stage++)
        for (thread_comm_fail_at = 0; thread_comm_fail_at < 40 && wrong == NULL;
             thread_comm_fail_at += 7)
            wrong = thread_comm_run(3, lost_peer, t);
    thread_comm_fail_at = -1;
    if (wrong != NULL)
        fail_msg("%s", wrong);
    free(t);
}

int main(void)
{
    int rc;

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_spared),
        cmocka_unit_test(test_rooms),
        cmocka_unit_test(test_clip_and_overflow),
        cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_failure),
    };

    if (mkdtemp(training_dir) == NULL)
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(training_dir) < 0 || rc != 0; /* it is empty */
}
