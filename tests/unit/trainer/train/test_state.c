/* test_state.c - gaps in samples, the state of a training as text, and its options
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

#include "data/samples.h"
#include "train/state.h"
#include "train/train_options.h"
#include "xalloc.h"

#define LENGTH 10
#define SIZE   1004 /* a hundred samples, and some bytes too few for another one */

static char path[] = "/tmp/test_train_state.XXXXXX";

static int make_file(void **state)
{
    int fd = mkstemp(path), i;

    (void)state;
    for (i = 0; i < SIZE; i++) {
        uint8_t byte = (uint8_t)(i % 251);

        if (write(fd, &byte, 1) != 1)
            return -1;
    }
    return close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* Of all tokens 15 % are targets; 80 % of these are masked, 10 % changed. */
static void test_masks(void **state)
{
    struct samples samples, again, plain;
    struct error   err;
    int32_t        tokens[LENGTH], targets[LENGTH], whole[LENGTH], next[LENGTH];
    int            i, hidden = 0, masked = 0, changed = 0;
    uint64_t       number;

    (void)state;
    assert_int_equal(samples_open(&samples, path, LENGTH, true, 257, 7, NULL, &err), 0);
    assert_int_equal(samples_open(&again, path, LENGTH, true, 257, 7, NULL, &err), 0);
    assert_int_equal(samples_open(&plain, path, LENGTH, false, 257, 7, NULL, &err), 0);
    for (number = 0; number < 10000; number++) {
        assert_int_equal(samples_take(&again, number, whole, next, NULL, &err), 0);
        assert_int_equal(samples_take(&samples, number, tokens, targets, NULL, &err), 0);
        assert_memory_equal(tokens, whole, sizeof tokens);
        assert_memory_equal(targets, next, sizeof tokens);
        for (i = 0; i < LENGTH; i++) {
            hidden += targets[i] >= 0;
            masked += tokens[i] == SAMPLES_MASK;
            changed += targets[i] >= 0 && tokens[i] != SAMPLES_MASK && tokens[i] != targets[i];
            assert_true(targets[i] >= 0 || tokens[i] < 251);
        }
        assert_int_equal(samples_take(&plain, number, whole, next, NULL, &err), 0);
        for (i = 0; i < LENGTH; i++)
            assert_int_equal(next[i], (whole[i] + 1) % 251);
    }
    assert_in_range(hidden, 14500, 15500);
    assert_in_range(masked, hidden * 78 / 100, hidden * 82 / 100);
    assert_in_range(changed, hidden * 8 / 100, hidden * 12 / 100);
    samples_close(&samples);
    samples_close(&again);
    samples_close(&plain);
}

static void test_bad_data(void **state)
{
    struct samples samples;
    struct error   err;

    (void)state;
    assert_int_equal(samples_open(&samples, "/nowhere", LENGTH, false, 256, 7, NULL, &err), -1);
    assert_non_null(strstr(err.text, "/nowhere: No such file"));
    samples_close(&samples);
    assert_int_equal(samples_open(&samples, path, LENGTH, true, 256, 7, NULL, &err), -1);
    assert_non_null(
        strstr(err.text, "text and the mask need 257 tokens, but the vocabulary has only 256"));
    samples_close(&samples);
}

/* From bfloat16 to half, and back and forth: the scale begins as that of half does. */
static void test_scale_of_others(void **state)
{
    static const struct loss_scale_rules half = { .initial_power = 16, .window = 10,
                                                  .hysteresis = 2, .min = 1 };
    const struct loss_scale_rules       *rules[] = { &loss_scale_none, &half, &loss_scale_none,
                                                     &half };
    struct state                         is = { .step = 1 };
    struct error                         err;
    char                                *text;
    size_t                               i;

    (void)state;
    loss_scale_init(&is.scale, rules[0]);
    for (i = 1; i < sizeof rules / sizeof rules[0]; i++) {
        assert_int_equal(loss_scale_update(&is.scale, false, &err), 0);
        text = state_text(&is);
        loss_scale_init(&is.scale, rules[i]);
        assert_int_equal(state_parse(&is, text, &err), 0);
        assert_true(is.scale.scale == (rules[i] == &half ? 65536 : 1));
        assert_int_equal(is.scale.patience, rules[i] == &half ? 2 : 0);
        free(text);
    }
    assert_int_equal(is.scale.last_overflow, -1);
    assert_int_equal(is.scale.steps, 0);
}

static void test_state(void **state)
{
    struct state was = { .step = 12, .updates = 10, .samples = 1200, .shards = 600,
                         .seed = UINT64_MAX, .best = 2.125 }, is;
    struct error err;
    char        *text, *cut;

    (void)state;
    loss_scale_init(&was.scale, &(struct loss_scale_rules){ .initial_power = 16, .window = 10,
                                                            .hysteresis = 2, .min = 1 });
    was.scale.scale = 0x1.8p14;
    was.scale.steps = 12;
    was.scale.last_overflow = 7;
    was.scale.patience = 1;
    text = state_text(&was);
    is = (struct state){ .scale = { .rules = was.scale.rules } };
    assert_int_equal(state_parse(&is, text, &err), 0);
    assert_true(is.step == was.step && is.updates == was.updates);
    assert_true(is.samples == was.samples && is.shards == was.shards && is.seed == was.seed);
    assert_true(is.best == 2.125);
    assert_true(is.scale.scale == was.scale.scale && is.scale.steps == was.scale.steps);
    assert_true(is.scale.last_overflow == was.scale.last_overflow);
    assert_int_equal(is.scale.patience, was.scale.patience);
    memcpy(strstr(text, "best 2.125"), "best -.125", 10);
    assert_int_equal(state_parse(&is, text, &err), -1);
    assert_string_equal(err.text, "the state of the training is invalid");
    memcpy(strstr(text, "best -.125"), "bust 2.125", 10); /* of an earlier version */
    assert_int_equal(state_parse(&is, text, &err), 0);
    assert_true(is.best == 0);
    for (cut = text + strlen(text) - 1; cut > text; cut--) { /* nothing of it is optional */
        *cut = '\0';
        if (cut[-1] == '\n')
            assert_int_equal(state_parse(&is, text, &err), -1);
    }
    assert_int_equal(state_parse(&is, "step 1x\n", &err), -1);
    assert_string_equal(err.text, "the state of the training: step is not a number");
    free(text);
}

/* A run that has a scale of its own keeps it. */
static void test_fixed_scale(void **state)
{
    struct state a = { .step = 1 }, b = { .step = 0 };
    struct error err;
    char        *text;

    (void)state;
    loss_scale_init(&a.scale, &(struct loss_scale_rules){ .fixed = 128 });
    loss_scale_init(&b.scale, &loss_scale_none);
    text = state_text(&a);
    assert_int_equal(state_parse(&b, text, &err), 0);
    assert_true(b.scale.scale == 1);
    assert_int_equal(b.step, 1);
    free(text);
}

/* getopt only changes the order of its words. */
static int parse(struct train_options *options, int argc, const char **argv, struct error *err)
{
    return train_options_parse(options, argc, (char **)argv, err);
}

static void test_options(void **state)
{
    const char *fine[] = { "muster-train", "--local_rank=3", "--deepspeed",
                           "--deepspeed_config", "ds.json", "--model=gpt2", "--data", "text",
                           "--steps", "7", NULL };
    const char *unknown[] = { "muster-train", "--frobnicate", NULL };
    const char *zero[] = { "muster-train", "--steps", "0", NULL };
    const char *few[] = { "muster-train", "--deepspeed_config", "ds.json", NULL };
    struct train_options options;
    struct error         err;

    (void)state;
    assert_int_equal(parse(&options, 10, fine, &err), TRAIN_OPTIONS_RUN);
    assert_string_equal(options.model, "gpt2");
    assert_int_equal(options.steps, 7);
    assert_int_equal(options.length, 64);
    assert_true(options.timeout_s == 300);
    assert_int_equal(parse(&options, 2, unknown, &err), -1);
    assert_string_equal(err.text, "unknown option --frobnicate");
    assert_int_equal(parse(&options, 3, zero, &err), -1);
    assert_non_null(strstr(err.text, "--steps: '0' is not a number from 1"));
    assert_int_equal(parse(&options, 3, few, &err), -1);
    assert_string_equal(err.text, "--model is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masks),       cmocka_unit_test(test_bad_data),
        cmocka_unit_test(test_state),       cmocka_unit_test(test_fixed_scale),
        cmocka_unit_test(test_options),     cmocka_unit_test(test_scale_of_others),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
