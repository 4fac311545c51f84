/* test_elasticity.c - DeepSpeed's worked examples of elasticity
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ds/elastic.h"

#define SIZES(...)                                \
    .micro = (const int64_t[]){ __VA_ARGS__ },    \
    .micros = sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)
#define ONE_RANK_A_NODE .ranks_per_node = 1, .model_parallel = 1
#define BIG                                                                                  \
    {                                                                                        \
        .version = 0.1, .max_batch = 10000, SIZES(8, 12, 16, 17), .min_ranks = 32,           \
        .max_ranks = 1500, .prefer_larger = true, ONE_RANK_A_NODE                            \
    }
#define SMALL(MAX, RANKS, ...)                                                               \
    {                                                                                        \
        .version = 0.1, .max_batch = MAX, SIZES(__VA_ARGS__), .min_ranks = 1,                \
        .max_ranks = RANKS, .prefer_larger = true, ONE_RANK_A_NODE                           \
    }
#define NODES(MAX, MP, MIN, ...)                                                             \
    {                                                                                        \
        .version = 0.2, .max_batch = MAX, SIZES(__VA_ARGS__), .min_ranks = MIN,              \
        .max_ranks = 10000, .prefer_larger = true, .ranks_per_node = 8, .model_parallel = MP \
    }

static void test_examples(void **state)
{
    const struct {
        struct elastic_request request;
        int64_t                world, batch, micro;
        const char            *worlds; /* how the list begins; all of it when it ends in "." */
    } cases[] = {
        { BIG, 0, 9792, 0,
          "32 34 36 48 51 64 68 72 96 102 136 144 153 192 204 272 288 306 408 576 612 816 1224." },
        { BIG, 64, 9792, 17, "32" },
        { SMALL(32, 1500, 1, 2, 3, 7), 4, 24, 3, "1 2 3 4 6 8 12 24." },
        { SMALL(100, 10000, 8, 10, 12), 0, 96, 0, "1 2 3 4 6 8 12." },
        { SMALL(2000, 10000, 2, 4, 6), 0, 1680, 0,
          "1 2 3 4 5 6 7 8 10 12 14 15 20 21 24 28 30 35 40 42 56 60 70 84 105 120 140 168 210 280 "
          "420 840." },
        { SMALL(2000, 10000, 2, 4, 6), 3, 1680, 4, "1" },
        { SMALL(2000, 10000, 2, 4, 6), 8, 1680, 6, "1" },
        { SMALL(4, 4, 1, 2, 3, 4), 1, 4, 4, "1 2 4." },
        { SMALL(4, 4, 1, 2, 3, 4), 2, 4, 2, "1 2 4." },
        { SMALL(4, 4, 1, 2, 3, 4), 4, 4, 1, "1 2 4." },
        { NODES(2000, 1, 1, 2, 4, 6), 32, 1920, 6,
          "8 16 24 32 40 48 64 80 96 120 160 192 240 320" },
        /* 4 data-parallel ranks on two nodes fit into no list: they get one of their own. */
        { NODES(10000, 4, 32, 8, 12, 16, 17), 16, 9996, 17, "4." },
        /* Not the larger: the first that fits. */
        { { .version = 0.2, .max_batch = 3288, SIZES(8, 24), .min_ranks = 2, .max_ranks = 64,
            .ranks_per_node = 8, .model_parallel = 1 }, 128, 3072, 8, "128." },
    };
    struct elastic_plan plan;
    struct error        err;
    char                text[256];
    size_t              i, j, at, length;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (elastic_plan(&plan, &cases[i].request, cases[i].world, &err) < 0)
            fail_msg("case %zu: %s", i, err.text);
        assert_int_equal(plan.batch, cases[i].batch);
        assert_int_equal(plan.micro, cases[i].micro);
        text[0] = '\0';
        for (at = j = 0; j < plan.count && at < sizeof text - 24; j++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%lld", j == 0 ? "" : " ",
                                   (long long)plan.worlds[j]);
        snprintf(text + at, sizeof text - at, ".");
        length = strlen(cases[i].worlds);
        if (strncmp(text, cases[i].worlds, length) != 0)
            fail_msg("case %zu: %s is not %s", i, text, cases[i].worlds);
        elastic_plan_clear(&plan);
    }
}

static void test_refused(void **state)
{
    const struct {
        struct elastic_request request;
        int64_t                world;
        const char            *text;
    } cases[] = {
        { BIG, 128, "128 ranks do not fit batch size 9792" },
        { SMALL(32, 1500, 1, 2, 3, 7), 7, "7 ranks do not fit batch size 24" },
        { SMALL(4, 4, 8), 0, "micro batch 8 is more than max_train_batch_size 4" },
        { SMALL(4, 0, 1), 0, "max_gpus 0 is less than min_gpus 1" },
        { SMALL(200000000, 4, 1), 0, "more than 100000000" },
        { NODES(2000, 1, 1, 2), 0, "needs the number of ranks" },
        { NODES(2000, 3, 1, 2), 6, "8 is not a multiple of model_parallel_size 3" },
        { NODES(2000, 4, 1, 2), 6, "6 ranks are not a multiple of model_parallel_size 4" },
        { { .version = 0.1,
            .max_batch = 4,
            SIZES(2),
            .min_ranks = 1,
            .max_ranks = 9,
            .ranks_per_node = 4,
            .model_parallel = 2 },
          0,
          "version 0.1 does not support model_parallel_size" },
        { { .version = 0.3, ONE_RANK_A_NODE }, 0, "0.3 is neither 0.1 nor 0.2" },
        { { .version = 0.1,
            .max_batch = 4,
            SIZES(2),
            .min_ranks = 3,
            .max_ranks = 9,
            ONE_RANK_A_NODE },
          0,
          "no batch of at most 4 suits 3 to 9 ranks" },
    };
    struct elastic_plan plan;
    struct error        err;
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(elastic_plan(&plan, &cases[i].request, cases[i].world, &err), -1);
        if (strstr(err.text, cases[i].text) == NULL)
            fail_msg("case %zu: '%s' does not say '%s'", i, err.text, cases[i].text);
        elastic_plan_clear(&plan);
    }
}

/* Of equally many, the smaller batch when the larger is not preferred. */
static void test_smaller(void **state)
{
    struct elastic_request request = SMALL(64, 4, 1, 2);
    struct elastic_plan    plan;
    struct error           err;

    (void)state;
    assert_int_equal(elastic_plan(&plan, &request, 0, &err), 0);
    assert_int_equal(plan.batch, 60);
    elastic_plan_clear(&plan);
    request.prefer_larger = false;
    assert_int_equal(elastic_plan(&plan, &request, 4, &err), 0);
    assert_int_equal(plan.batch, 48);
    assert_int_equal(plan.micro, 2);
    elastic_plan_clear(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_smaller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
