/* test_frozen.c - frozen parameters in all stages, worlds and places
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/background.h"
#include "unit/trainer/comm/thread_comm.h"
#include "unit/trainer/zero/frozen_passes.h"
#include "zero/swap_file.h"

static char dir[] = "/tmp/test_frozen.XXXXXX"; /* for files */

struct how {
    int             stage, buffers;
    enum zero_place place;
    bool            in_background;
};

static const char *rank_main(struct comm *comm, void *arg)
{
    const struct how         *how = arg;
    const struct zero_options options = { .stage = how->stage, .bucket_max = 5000,
                                          .params = { how->place, false, dir, how->buffers },
                                          .states = { ZERO_FILE, false, "/nowhere", 1 },
                                          .io_block = SWAP_ALIGN, .io_depth = 3 };
    struct error              err;
    const char               *wrong;

    if (how->in_background)
        comm = comm_background(comm, &err);
    wrong = frozen_passes(comm, options);
    return comm->ops->close(comm, &err) < 0 ? "close" : wrong;
}

/* Only stage 3 sends anything, and offloads; states are ignored. */
static void test_all(void **state)
{
    struct how  how;
    const char *wrong;
    int         ranks, i;

    (void)state;
    for (ranks = 1; ranks <= 4; ranks++) {
        for (i = 0; i < 2 * 4; i++) {
            how = (struct how){ .stage = i / 2, .in_background = i % 2 == 1 };
            if ((wrong = thread_comm_run(ranks, rank_main, &how)) != NULL)
                fail_msg("%d ranks, stage %d: %s", ranks, how.stage, wrong);
            assert_int_equal(thread_comm_counts.all_reduce + thread_comm_counts.reduce_scatter,
                             0);
            assert_true((thread_comm_counts.all_gather > 0) == (how.stage == 3 && ranks > 1));
        }
        for (i = 0; i < 2 * 5; i++) {
            how = (struct how){ .stage = 3, .buffers = 1 + i / 2, .in_background = i % 2 == 1,
                                .place = i < 2 ? ZERO_HOST : ZERO_FILE };
            if ((wrong = thread_comm_run(ranks, rank_main, &how)) != NULL)
                fail_msg("%d ranks, place %d, %d buffers: %s", ranks, how.place, how.buffers,
                         wrong);
        }
    }
}

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
