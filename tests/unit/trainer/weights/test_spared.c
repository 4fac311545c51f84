/* test_spared.c - what weight decay spares: the option's words, and the ranges for zero
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

#include "unit/trainer/model/model_fixture.h"
#include "weights/tuning.h"

static struct ops *ops;

static int open_ops(void **state)
{
    struct error err;

    (void)state;
    ops = ops_cpu_new(DTYPE_FLOAT, &err);
    return ops != NULL ? 0 : -1;
}

static int close_ops(void **state)
{
    (void)state;
    ops->free(ops);
    return 0;
}

/* Returns how many ranges there are; claims that they are in order, have gaps, and have exactly the
 * elements of parameters that are spared. Padding may be in them or not. */
static int check_ranges(const struct model *model)
{
    int                     count, i = 0;
    struct partition_range *range = tuning_spared(model, &count);
    size_t                  at;

    for (at = 0; at < model->count; at++) {
        const struct model_param *param = model_param_at(model, at);

        while (i < count && at >= range[i].start + range[i].count) {
            assert_true(range[i].count > 0);
            i++;
            assert_true(i == count || range[i].start > at);
        }
        if (param != NULL && param->is_spared != (i < count && at >= range[i].start))
            fail_msg("%s, element %zu", param->name, at);
    }
    if (count > 0)
        assert_true(range[count - 1].start + range[count - 1].count <= model->count);
    free(range);
    return count;
}

static const struct {
    int                 model; /* of tiny */
    struct tuning_words words;
    int                 ranges;
} good[] = {
    { 0, { .no_decay = NULL }, 9 },
    { 0, { .no_decay = "default" }, 9 },
    { 1, { .no_decay = "default" }, 10 },
    { 3, { .no_decay = "default" }, 7 },
    { 6, { .no_decay = "default" }, 7 },
    { 3, { .no_decay = "none" }, 0 },
    { 3, { .no_decay = "." }, 1 },
    { 3, { .no_decay = "embed_tokens|lm_head" }, 2 },
    { 3, { .no_decay = "default", .freeze = "bias$|layers\\.0" }, 3 },
    { 3, { .no_decay = "default", .lora = "r=2" }, 0 },
    { 3, { .no_decay = "lora_A", .lora = "r=2,targets=q_proj" }, 2 },
};

static void test_ranges(void **state)
{
    struct tuning tuning;
    struct error  err = { "" };
    struct model *model;
    size_t        i;
    int           got;

    (void)state;
    for (i = 0; i < sizeof good / sizeof good[0]; i++) {
        model = tuning_model(&tuning, &good[i].words, &tiny[good[i].model], ops, &err);
        if (model == NULL)
            fail_msg("%s", err.text);
        got = check_ranges(model);
        if (got != good[i].ranges)
            fail_msg("row %zu: %d ranges instead of %d", i, got, good[i].ranges);
        model_free(model);
        tuning_clear(&tuning);
    }
}

static const struct {
    struct tuning_words words;
    const char         *why;
} bad[] = {
    { { .no_decay = "(" }, "--no-decay '(': Unmatched ( or \\(" },
    { { .no_decay = "Default" },
      "--no-decay 'Default': no name of a trained parameter has a match" },
    { { .no_decay = "norm", .freeze = "norm" },
      "--no-decay 'norm': no name of a trained parameter has a match" },
};

static void test_refused(void **state)
{
    struct tuning tuning;
    struct error  err;
    size_t        i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_null(tuning_model(&tuning, &bad[i].words, &tiny[3], ops, &err));
        assert_string_equal(err.text, bad[i].why);
        tuning_clear(&tuning);
    }
}

/* Ranks that spare other parameters must not train together. */
static void test_hash(void **state)
{
    static const char *const words[] = { "default", "none", "bias", "norm" };
    uint64_t                 hash[4];
    size_t                   i, j;

    (void)state;
    for (i = 0; i < 4; i++) {
        const struct tuning tuning = { .words = { .no_decay = words[i] } };

        hash[i] = tuning_hash(&tuning, 1);
        assert_true(hash[i] == tuning_hash(&tuning, 1));
        for (j = 0; j < i; j++)
            assert_true(hash[i] != hash[j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_hash),
    };

    return cmocka_run_group_tests(tests, open_ops, close_ops);
}
