/* test_zero.c - all stages, worlds and types of element train to the same bits
 *
 * The gradients are small whole numbers that depend on the parameters, so every sum is
 * exact, in any order: a parameter that came late, or from the wrong rank, shows. So it does
 * wherever parameters and states are kept.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "comm/background.h"
#include "unit/trainer/comm/thread_comm.h"
#include "xalloc.h"
#include "zero/swap_file.h"
#include "zero/zero.h"

#define LAYERS  8
#define BUCKETS 7  /* of stage 3: a layer without elements is in none */
#define TIED    0  /* the last layer takes this one too */
#define TOTAL   4102
#define SAMPLES 24 /* of a step, over all ranks and passes */
#define STEPS   6

#define OVERLAP_ROUNDS 20 /* a machine at its limit needs 3 */

static char dir[] = "/tmp/test_zero.XXXXXX"; /* for files */

static const size_t layers[LAYERS] = { 1000, 37, 1000, 1000, 1, 0, 1000, 64 };

struct training {
    /* What to do. */
    int        stage, passes;
    enum dtype type;
    size_t     bucket_max;
    double     clip;
    bool       in_background;
    int64_t    compute_ns;    /* a layer takes so long, either way */
    int        overflow_step; /* a gradient of this step is infinite; -1: none */
    int        overflow_from; /* from this rank on; each: one that comes later, too */
    bool       in_sum;        /* on none of them, but all together */

    enum zero_place params, states;
    int             buffers;

    /* What came out. */
    float              param[TOTAL], mean[TOTAL], square[TOTAL];
    double             norm[STEPS];
    bool               is_skipped[STEPS];
    int64_t            bad[STEPS];
    int                bad_rank;
    struct zero_memory memory, needed;
};

static const struct adam adam = { .lr = 0.05, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8,
                                  .weight_decay = 0.01, .decoupled = true,
                                  .bias_correction = true };

static float initial(size_t i)
{
    return (float)((i * 7919) % 257) / 128 - 1;
}

/* One sample's gradient of element i. */
static float gradient(float param, size_t i, int step, int sample)
{
    float target = (float)((i * 31 + (size_t)(step * SAMPLES + sample) * 17) % 5) - 2;

    return fmaxf(-3, fminf(3, rintf(4 * param) - target));
}

static float load(enum dtype type, const void *array, size_t i)
{
    switch (type) {
    case DTYPE_HALF:     return half_to_float(((const uint16_t *)array)[i]);
    case DTYPE_BFLOAT16: return bfloat16_to_float(((const uint16_t *)array)[i]);
    default:             return ((const float *)array)[i];
    }
}

static void add(enum dtype type, void *array, size_t i, float value)
{
    value += load(type, array, i);
    switch (type) {
    case DTYPE_HALF:     ((uint16_t *)array)[i] = float_to_half(value); break;
    case DTYPE_BFLOAT16: ((uint16_t *)array)[i] = float_to_bfloat16(value); break;
    default:             ((float *)array)[i] = value; break;
    }
}

static size_t start_of(int layer)
{
    size_t start = 0;

    while (layer-- > 0)
        start += layers[layer];
    return start;
}

/* What a layer adds to the gradient of `of`: itself all samples but the last, which the
 * tied layer has for it. */
static void add_gradient(const struct training *t, struct comm *comm, int layer, int of,
                         const void *params, void *grads, int step, int pass)
{
    const int mine = SAMPLES / comm->size / t->passes;
    const int first = (pass * comm->size + comm->rank) * mine;
    size_t    start = start_of(of), i;
    int       sample;

    for (sample = first; sample < first + mine; sample++) {
        if (of == TIED && (layer == TIED) == (sample % 3 == 0))
            continue;
        for (i = 0; i < layers[of]; i++)
            add(t->type, grads, i,
                gradient(load(t->type, params, i), start + i, step, sample));
    }
    if (t->overflow_step != step || pass > 0)
        return;
    if (layer == 3 && (t->in_sum || comm->rank >= t->overflow_from))
        add(t->type, grads, 123, !t->in_sum ? INFINITY : t->type == DTYPE_HALF ? 6e4f : 3e38f);
    if (layer == 1)
        add(t->type, grads, 12, INFINITY);
}

static void compute(const struct training *t)
{
    const struct timespec pause = { .tv_nsec = t->compute_ns };

    if (t->compute_ns > 0)
        nanosleep(&pause, NULL);
}

static int forward(const struct training *t, struct zero *zero, struct error *err)
{
    void *params, *tied;
    int   layer;

    for (layer = 0; layer < LAYERS; layer++) {
        if (zero_enter(zero, layer, false, &params, NULL, err) < 0)
            return -1;
        if (layer == LAYERS - 1) {
            if (zero_enter(zero, TIED, false, &tied, NULL, err) < 0)
                return -1;
            zero_leave(zero, TIED);
        }
        compute(t);
        zero_leave(zero, layer);
    }
    return 0;
}

static int backward(const struct training *t, struct comm *comm, struct zero *zero, int step,
                    int pass, struct error *err)
{
    void *params, *grads, *tied, *tied_grads;
    int   layer;

    for (layer = LAYERS - 1; layer >= 0; layer--) {
        if (zero_enter(zero, layer, true, &params, &grads, err) < 0)
            return -1;
        if (layer == LAYERS - 1) {
            if (zero_enter(zero, TIED, true, &tied, &tied_grads, err) < 0)
                return -1;
            add_gradient(t, comm, layer, TIED, tied, tied_grads, step, pass);
            zero_leave(zero, TIED);
        }
        add_gradient(t, comm, layer, layer, params, grads, step, pass);
        compute(t);
        zero_leave(zero, layer);
        if (zero_done(zero, layer, err) < 0)
            return -1;
    }
    return 0;
}

static int run_passes(struct training *t, struct comm *comm, struct zero *zero, int step,
                      struct error *err)
{
    int pass;

    for (pass = 0; pass < t->passes; pass++) {
        zero_begin(zero, pass == 0, pass == t->passes - 1);
        if (forward(t, zero, err) < 0 || backward(t, comm, zero, step, pass, err) < 0)
            return -1;
    }
    return 0;
}

static int find_rank(struct training *t, struct comm *comm, struct zero *zero, int step,
                     int64_t bad, struct error *err)
{
    int rank;

    zero_search(zero, bad);
    if (run_passes(t, comm, zero, step, err) < 0 || zero_search_end(zero, &rank, err) < 0)
        return -1;
    if (comm->rank == comm->size - 1)
        t->bad_rank = rank;
    return 0;
}

static int train(struct training *t, struct comm *comm, struct zero *zero, struct error *err)
{
    struct zero_result result;
    int                step;

    for (step = 0; step < STEPS; step++) {
        if (run_passes(t, comm, zero, step, err) < 0 ||
            zero_step(zero, &adam, 2, &result, err) < 0 ||
            (result.is_skipped && find_rank(t, comm, zero, step, result.bad, err) < 0))
            return -1;
        if (comm->rank == comm->size - 1) {
            t->norm[step] = result.norm;
            t->is_skipped[step] = result.is_skipped;
            t->bad[step] = result.bad;
        }
    }
    return 0;
}

static int fill(struct zero *zero)
{
    struct zero_piece *pieces;
    struct error       err;
    int                count, i;
    size_t             at;

    pieces = zero_pieces(zero, false, &count, &err);
    for (i = 0; i < count; i++) {
        if (zero_piece_take(&pieces[i], &err) < 0)
            return -1;
        for (at = 0; at < pieces[i].count; at++)
            pieces[i].param[at] = initial(pieces[i].start + at);
        zero_piece_give(&pieces[i], true);
    }
    free(pieces);
    return 0;
}

static int take_out(struct training *t, struct zero *zero)
{
    struct zero_piece *pieces;
    struct error       err;
    int                count, i;

    pieces = zero_pieces(zero, true, &count, &err);
    for (i = 0; i < count; i++) {
        if (zero_piece_take(&pieces[i], &err) < 0)
            return -1;
        memcpy(t->param + pieces[i].start, pieces[i].param, pieces[i].count * sizeof(float));
        memcpy(t->mean + pieces[i].start, pieces[i].mean, pieces[i].count * sizeof(float));
        memcpy(t->square + pieces[i].start, pieces[i].square,
               pieces[i].count * sizeof(float));
        zero_piece_give(&pieces[i], false);
    }
    free(pieces);
    return 0;
}

static const char *rank_main(struct comm *comm, void *arg)
{
    struct training    *t = arg;
    struct zero_options options = { .stage = t->stage, .type = t->type,
                                    .bucket_max = t->bucket_max, .clip = t->clip,
                                    .params = { t->params, false, dir, t->buffers },
                                    .states = { t->states, false, dir, t->buffers },
                                    .io_block = SWAP_ALIGN, .io_depth = 3 };
    struct error        err;
    struct zero        *zero;

    if (t->in_background)
        comm = comm_background(comm, &err);
    zero = zero_open(comm, &options, layers, LAYERS, &err);
    if (zero == NULL)
        return "zero_open";
    if (fill(zero) < 0)
        return "fill";
    if (zero_publish(zero, &err) < 0)
        return "zero_publish";
    if (train(t, comm, zero, &err) < 0)
        return "train";
    if (take_out(t, zero) < 0)
        return "take_out";
    if (comm->rank == 0) {
        t->memory = zero_memory(zero);
        t->needed = zero_memory_needed(&options, layers, LAYERS, comm->size);
    }
    zero_close(zero);
    return comm->ops->close(comm, &err) < 0 ? "close" : NULL;
}

static float rounded(enum dtype type, float value)
{
    if (type == DTYPE_HALF)
        return half_to_float(float_to_half(value));
    return type == DTYPE_FLOAT ? value : bfloat16_to_float(float_to_bfloat16(value));
}

/* The same without ranks, passes and buckets. */
static void train_plainly(struct training *t)
{
    float    *grad = xcalloc(TOTAL, sizeof *grad);
    double    squares, factor;
    int       step, sample, done = 0;
    size_t    i;

    for (i = 0; i < TOTAL; i++)
        t->param[i] = initial(i);
    for (step = 0; step < STEPS; step++) {
        squares = 0;
        for (i = 0; i < TOTAL; i++) {
            grad[i] = 0;
            for (sample = 0; sample < SAMPLES; sample++)
                grad[i] += gradient(rounded(t->type, t->param[i]), i, step, sample);
            squares += (double)grad[i] * (double)grad[i];
        }
        t->norm[step] = sqrt(squares) / 2;
        t->bad[step] = -1;
        if (step == t->overflow_step) {
            t->bad[step] = (int64_t)start_of(3) + 123;
            t->is_skipped[step] = true;
            continue;
        }
        factor = t->clip > 0 ? 0.5 / fmax(1, (t->norm[step] + 1e-6) / t->clip) : 0.5;
        adam_step(&adam, ++done, factor,
                  &(struct adam_arrays){ .count = TOTAL, .param = t->param, .mean = t->mean,
                                         .square = t->square, .grad = grad,
                                         .grad_type = DTYPE_FLOAT });
    }
    free(grad);
}

/* As plainly in all that comes out of it. */
static void check(struct training t, int ranks)
{
    struct training *plain = xmemdup(&t, sizeof t), *divided = xmemdup(&t, sizeof t);
    const char      *wrong = thread_comm_run(ranks, rank_main, divided);
    int              step;

    if (wrong != NULL)
        fail_msg("stage %d, %d ranks: %s", t.stage, ranks, wrong);
    train_plainly(plain);
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
    static const int        worlds[] = { 1, 2, 3, 4, 6 }, passes[] = { 1, 2 };
    static const enum dtype types[] = { DTYPE_FLOAT, DTYPE_BFLOAT16, DTYPE_HALF };
    int                     stage, world, type, pass;

    (void)state;
    for (stage = 0; stage <= 3; stage++)
        for (world = 0; world < 5; world++)
            for (type = 0; type < 3; type++)
                for (pass = 0; pass < 2; pass++)
                    check((struct training){ .stage = stage, .passes = passes[pass],
                                             .type = types[type], .bucket_max = 1100,
                                             .overflow_step = -1,
                                             .in_background = world % 2 == 1 },
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
        t.buffers = buffers[i % 4];
        t.in_background = i % 4 < 2;
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

/* Where parameters are elsewhere, two layers of a size are in memory, and no more, also of one
 * rank. */
static void test_rooms(void **state)
{
    const size_t            rooms = (2 * 1024 + 64 + 32 + 64) * sizeof(float);
    const struct zero_options options = { .stage = 3, .type = DTYPE_FLOAT,
                                          .params = { ZERO_FILE, false, dir, 2 } };
    const struct zero_memory  memory = zero_memory_needed(&options, layers, LAYERS, 1);

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
    struct zero        *zero = zero_open(comm, &options, layers, LAYERS, &err);
    int                 rc;

    fill(zero);
    rc = zero_publish(zero, &err);
    if (rc == 0)
        rc = train(t, comm, zero, &err);
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
        cmocka_unit_test(test_rooms),
        cmocka_unit_test(test_clip_and_overflow),
        cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_failure),
    };

    if (mkdtemp(dir) == NULL)
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(dir) < 0 || rc != 0; /* it is empty */
}
