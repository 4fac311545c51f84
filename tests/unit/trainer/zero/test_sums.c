/* test_sums.c - the sum of 512 passes' gradients in 16 bits, beside the sum in double
 *
 * Adam without a memory (beta1 is 0) leaves the gradient that it was given as its mean.
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
#include <unistd.h>

#include <cmocka.h>

#include "unit/trainer/comm/thread_comm.h"
#include "zero/swap_file.h"
#include "zero/zero.h"

#define LAYERS 3
#define COUNT  96 /* elements of each */
#define TOTAL  (LAYERS * COUNT)
#define PASSES 512

static char dir[] = "/tmp/test_sums.XXXXXX"; /* for files */

static const size_t      layers[LAYERS] = { COUNT, COUNT, COUNT };
static const struct adam adam = { .lr = 1e-3, .beta1 = 0, .beta2 = 0.9, .eps = 1e-8 };

struct sums {
    struct zero_options options;
    float               sum[TOTAL];
};

/* Uneven, but of one sign: so the sum grows, and rounding may lose what is added to it. */
static uint16_t gradient(enum dtype type, size_t i, int rank, int pass)
{
    const size_t   place = i * 31 + (size_t)rank * 4099 + (size_t)pass * 65537;
    const uint32_t bits = (uint32_t)place * 2654435761u;
    const float    value = 5e-3f + 1e-2f * (float)(bits >> 16) / 65536;

    return type == DTYPE_HALF ? float_to_half(value) : float_to_bfloat16(value);
}

static double widened(enum dtype type, uint16_t narrow)
{
    return (double)(type == DTYPE_HALF ? half_to_float(narrow) : bfloat16_to_float(narrow));
}

static int run_pass(struct zero *zero, enum dtype type, int rank, int pass, struct error *err)
{
    void *params, *grads;
    int   layer;

    zero_begin(zero, pass == 0, pass == PASSES - 1);
    for (layer = LAYERS - 1; layer >= 0; layer--) {
        uint16_t one;
        size_t   i;

        if (zero_enter(zero, layer, true, &params, &grads, err) < 0)
            return -1;
        for (i = 0; i < COUNT; i++) {
            one = gradient(type, (size_t)layer * COUNT + i, rank, pass);
            zero_device_cpu.add(&zero_device_cpu, type, (uint16_t *)grads + i, &one, 1);
        }
        zero_leave(zero, layer);
        if (zero_done(zero, layer, err) < 0)
            return -1;
    }
    return 0;
}

static int take_out(struct sums *sums, struct zero *zero, struct error *err)
{
    int                count, i;
    struct zero_piece *pieces = zero_pieces(zero, true, &count, err);

    for (i = 0; i < count; i++) {
        if (zero_piece_take(&pieces[i], err) < 0)
            return -1;
        memcpy(sums->sum + pieces[i].start, pieces[i].mean, pieces[i].count * sizeof(float));
        zero_piece_give(&pieces[i], false);
    }
    free(pieces);
    return 0;
}

static const char *rank_main(struct comm *comm, void *arg)
{
    struct sums       *sums = arg;
    struct error       err = { "" };
    struct zero       *zero = zero_open(comm, &sums->options, layers, LAYERS, &err);
    struct zero_result result;
    int                pass;

    if (zero == NULL)
        return "zero_open";
    for (pass = 0; pass < PASSES; pass++)
        if (run_pass(zero, sums->options.type, comm->rank, pass, &err) < 0)
            return "a pass";
    if (zero_step(zero, &adam, 1, &result, &err) < 0 || take_out(sums, zero, &err) < 0)
        return "the step";
    zero_close(zero);
    return comm->ops->close(comm, &err) < 0 ? "close" : NULL;
}

/* Returns by how much the sum is off on average, as a part of it. */
static double error_of(struct zero_options options, bool sums_in_float, int ranks)
{
    struct sums sums = { .options = options };
    double      want, off = 0;
    const char *wrong;
    size_t      i;
    int         rank, pass;

    sums.options.sums_in_float = sums_in_float;
    if ((wrong = thread_comm_run(ranks, rank_main, &sums)) != NULL)
        fail_msg("stage %d, %d ranks: %s", options.stage, ranks, wrong);
    for (i = 0; i < TOTAL; i++) {
        want = 0;
        for (rank = 0; rank < ranks; rank++)
            for (pass = 0; pass < PASSES; pass++)
                want += widened(options.type, gradient(options.type, i, rank, pass));
        off += fabs((double)sums.sum[i] - want) / want;
    }
    return off / TOTAL;
}

/* In float the sums are those of the passes' gradients; what is left is the rounding of the sum
 * over ranks, in each pass from stage 2 on, up and down. In 16 bits they are off; if they
 * were not, this test would have nothing to see. */
static void check(struct zero_options options, int ranks)
{
    const double narrow = error_of(options, false, ranks), wide = error_of(options, true, ranks);

    print_message("# stage %d, %d ranks, %s, place %d: off by %.3g, in float by %.3g\n",
                  options.stage, ranks, dtype_name(options.type), options.states.place, narrow,
                  wide);
    assert_true(wide < (ranks > 1 && options.stage > 1 ? 1.0 / 256 : 1e-6));
    assert_true(narrow > (options.type == DTYPE_HALF ? 1e-3 : 0.1));
}

static void test_sums(void **state)
{
    static const enum dtype types[] = { DTYPE_BFLOAT16, DTYPE_HALF };
    struct zero_options     options = { .bucket_max = 2 * COUNT, .io_block = SWAP_ALIGN,
                                        .io_depth = 2 };
    int                     i;

    (void)state;
    for (i = 0; i < 2; i++) {
        options.type = types[i];
        for (options.stage = 0; options.stage <= 3; options.stage++) {
            check(options, 1);
            check(options, 4);
        }
    }
}

/* And with states in a file, in stage 3 with parameters, too. */
static void test_offloaded(void **state)
{
    struct zero_options options = { .type = DTYPE_BFLOAT16, .bucket_max = 2 * COUNT,
                                    .states = { ZERO_FILE, false, dir, 2 },
                                    .io_block = SWAP_ALIGN, .io_depth = 2 };

    (void)state;
    for (options.stage = 1; options.stage <= 3; options.stage++) {
        if (options.stage == 3)
            options.params = options.states;
        check(options, 1);
        check(options, 4);
    }
}

int main(void)
{
    int rc;

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_offloaded),
    };

    if (mkdtemp(dir) == NULL)
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(dir) < 0 || rc != 0; /* it is empty */
}
