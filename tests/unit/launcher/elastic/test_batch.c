/* test_batch.c - which worlds keep a global batch
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

#include "elastic/batch.h"
#include "elastic/next_world.h"

static void parse(struct batch_rules *rules, const char *text)
{
    struct error err;

    if (batch_rules_parse(rules, "ds.json", text, strlen(text), &err) != 0)
        fail_msg("%s: %s", text, err.text);
}

/* Writes "total micro steps", or "no". */
static void words(const struct batch_rules *rules, int64_t ranks, char *text)
{
    struct batch batch;

    if (batch_of(rules, ranks, &batch) < 0)
        sprintf(text, "no");
    else
        sprintf(text, "%lld %lld %lld", (long long)batch.total, (long long)batch.micro,
                (long long)batch.steps);
}

#define TOTAL  "\"train_batch_size\": "
#define MICRO  "\"train_micro_batch_size_per_gpu\": "
#define STEPS  "\"gradient_accumulation_steps\": "
#define LISTED "{\"elasticity\": {\"enabled\": true, \"version\": 0.1, " \
               "\"max_train_batch_size\": 32, \"micro_batch_sizes\": [1, 2, 3, 7]}}"

static void test_worlds(void **state)
{
    static const struct {
        const char *text;
        int64_t     first, then;
        const char *said_first, *said_then;
    } cases[] = {
        { "{" MICRO "2, " STEPS "3}", 4, 2, "24 2 3", "24 2 6" },
        { "{" MICRO "2, " STEPS "3}", 4, 12, "24 2 3", "24 2 1" },
        { "{" MICRO "2, " STEPS "3}", 4, 3, "24 2 3", "24 2 4" },
        { "{" MICRO "2, " STEPS "3}", 4, 8, "24 2 3", "no" },
        { "{" MICRO "2}", 4, 3, "8 2 1", "no" },
        { "{" MICRO "2}", 4, 8, "8 2 1", "no" },
        { "{" TOTAL "24, " MICRO "2, " STEPS "3}", 4, 6, "24 2 3", "24 2 2" },
        { "{" TOTAL "24, " MICRO "2, " STEPS "3}", 3, 6, "no", "no" },
        { "{" TOTAL "24, " MICRO "2}", 4, 3, "24 2 3", "24 2 4" },
        { "{" TOTAL "24, " MICRO "2}", 5, 3, "no", "24 2 4" },
        { "{" TOTAL "24}", 4, 3, "24 6 1", "24 4 2" },
        { "{" TOTAL "24}", 4, 8, "24 6 1", "24 3 1" },
        { "{" TOTAL "24}", 4, 1, "24 6 1", "24 6 4" },
        { "{" TOTAL "24}", 4, 5, "24 6 1", "no" },
        { "{" TOTAL "24, " STEPS "2}", 4, 3, "24 3 2", "24 2 4" },
        { "{" TOTAL "2.4e1, " MICRO "\"auto\"} // HF", 4, 3, "24 6 1", "24 4 2" },
        { LISTED, 4, 8, "24 3 2", "24 3 1" },
        { LISTED, 4, 5, "24 3 2", "no" },
        { LISTED, 7, 2, "no", "24 3 4" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct batch_rules rules;
        char               got[80], then[80];

        parse(&rules, cases[i].text);
        words(&rules, cases[i].first, got);
        if (batch_of(&rules, cases[i].first, &rules.first) < 0)
            rules.first = (struct batch){ 0 };
        words(&rules, cases[i].then, then);
        if (strcmp(got, cases[i].said_first) != 0 || strcmp(then, cases[i].said_then) != 0)
            fail_msg("case %zu: %s, then %s", i, got, then);
        batch_rules_clear(&rules);
    }
}

/* Version 0.2 falls back to a batch for the current number of ranks, which is another batch. */
static void test_another_batch(void **state)
{
    struct batch_rules rules;
    char               text[80];

    (void)state;
    parse(&rules, "{\"elasticity\": {\"enabled\": true, \"max_train_batch_size\": 2000, "
                  "\"micro_batch_sizes\": [2, 4, 6], \"num_gpus_per_node\": 8}}");
    assert_int_equal(batch_of(&rules, 32, &rules.first), 0);
    assert_int_equal(rules.first.total, 1920);
    words(&rules, 16, text);
    assert_string_equal(text, "1920 6 20");
    words(&rules, 56, text); /* not in the list */
    assert_string_equal(text, "no");
    batch_rules_clear(&rules);
}

static void test_files(void **state)
{
    static const struct {
        const char *text;
        int         rc;
    } cases[] = {
        { "{}", 1 }, { "{" STEPS "2}", 1 }, { "{" TOTAL "\"auto\"}", 1 }, { "{" TOTAL "0}", 1 },
        { "{" TOTAL "1.5}", 1 }, { "", -1 }, { "[", -1 }, { "{" TOTAL "1, " TOTAL "2}", -1 },
        { "{\"elasticity\": {\"enabled\": false}}", 1 },
        { "{\"elasticity\": {\"enabled\": true, \"version\": 0.1}}", -1 },
        { "{\"elasticity\": {\"enabled\": true, \"version\": 0.1, \"max_train_batch_size\": 9, "
          "\"micro_batch_sizes\": [0]}}", -1 },
        { "{\"optimizer\": {\"type\": \"Lion\"}, " TOTAL "8}", 0 },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct batch_rules rules;
        struct error       err;

        if (batch_rules_parse(&rules, "ds.json", cases[i].text, strlen(cases[i].text), &err) !=
            cases[i].rc)
            fail_msg("case %zu", i);
        batch_rules_clear(&rules);
    }
}

static void test_names(void **state)
{
    static const struct {
        const char *args[4];
        const char *name; /* "": none */
    } cases[] = {
        { { "--deepspeed_config", "a.json" }, "a.json" }, { { "--deepspeed_config=b" }, "b" },
        { { "x", "--ds_config", "c" }, "c" },             { { "--ds_config=d", "e" }, "d" },
        { { "--deepspeed_config" }, "" },                 { { "--deepspeed_configs", "f" }, "" },
        { { "--deepspeed", "g.json" }, "" },
    };
    size_t i, count;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name;

        for (count = 0; cases[i].args[count] != NULL;)
            count++;
        name = batch_config_name((char *const *)cases[i].args, count);
        if (strcmp(name != NULL ? name : "", cases[i].name) != 0)
            fail_msg("case %zu: %s", i, name);
    }
}

/* The policy chooses the largest world that keeps the batch. */
static void test_policy(void **state)
{
    static const struct {
        size_t here, places;
    } cases[] = { { 4, 4 }, { 3, 3 }, { 5, 4 }, { 6, 6 }, { 7, 6 } };
    size_t i, k;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct batch_rules  batch;
        struct member_rules rules = { .goes_on = true, .is_elastic = true, .batch = &batch };
        struct membership   members = { 0 };
        struct error        err;

        parse(&batch, "{" MICRO "1, " STEPS "3}");
        assert_int_equal(batch_of(&batch, 4, &batch.first), 0);
        for (k = 0; k < cases[i].here; k++)
            membership_joined(&members, membership_add(&members, "", 1));
        assert_int_equal(next_world_size(&members, &rules), cases[i].places);
        if (cases[i].here == 5) {
            assert_int_equal(next_world_may_have(&members, &rules, 5, &err), -1);
            assert_non_null(strstr(err.text, "the batch size of its ds_config does not allow "
                                             "that; allowed: 1, 2, 3, 4"));
        }
        membership_clear(&members);
        batch_rules_clear(&batch);
    }
}

static void test_parts(void **state)
{
    static const char *tensor[] = { "x.py", "--tensor-model-parallel-size", "2",
                                    "--pipeline_model_parallel_size=2",
                                    "--model-parallel-sizes", "9" };
    static const char *broken[] = { "--tensor-model-parallel-size", "x",
                                    "--context-parallel-size" };
    static const char  autotp[] = "{" MICRO "2, \"tensor_parallel\": {\"autotp_size\": 2}}";
    struct batch_rules rules;
    struct error       err;
    char               said[100];

    (void)state;
    parse(&rules, autotp);
    words(&rules, 8, said);
    assert_string_equal(said, "8 2 1");
    assert_int_equal(batch_of(&rules, 8, &rules.first), 0);
    words(&rules, 4, said);
    assert_string_equal(said, "8 2 2");
    words(&rules, 5, said);
    assert_string_equal(said, "no");
    batch_rules_clear(&rules);

    parse(&rules, autotp);
    assert_int_equal(batch_rules_split(&rules, (char *const *)broken, 3, &err), 0);
    assert_int_equal(rules.parts, 2);
    assert_int_equal(batch_rules_split(&rules, (char *const *)tensor, 6, &err), 0);
    assert_int_equal(rules.parts, 4);
    words(&rules, 8, said);
    assert_string_equal(said, "4 2 1");
    batch_rules_clear(&rules);

    parse(&rules, LISTED);
    assert_int_equal(batch_rules_split(&rules, (char *const *)tensor, 1, &err), 0);
    assert_int_equal(batch_rules_split(&rules, (char *const *)tensor, 6, &err), -1);
    assert_non_null(strstr(err.text, "its model_parallel_size is 1, but 4 ranks share"));
    words(&rules, 4, said);
    assert_string_equal(said, "no");
    batch_rules_clear(&rules);

    parse(&rules, "{\"elasticity\": {\"enabled\": true, \"version\": 0.2, "
                  "\"max_train_batch_size\": 2000, \"micro_batch_sizes\": [2, 4, 6], "
                  "\"num_gpus_per_node\": 8, \"model_parallel_size\": 4}}");
    assert_int_equal(batch_rules_split(&rules, (char *const *)tensor, 6, &err), 0);
    assert_int_equal(batch_of(&rules, 32, &rules.first), 0);
    assert_int_equal(rules.first.total, rules.first.micro * rules.first.steps * 8);
    words(&rules, 30, said);
    assert_string_equal(said, "no");
    batch_rules_clear(&rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worlds), cmocka_unit_test(test_another_batch),
        cmocka_unit_test(test_files),  cmocka_unit_test(test_names),
        cmocka_unit_test(test_policy), cmocka_unit_test(test_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
