/* test_train_data.c - samples, the state of a training as text, and its options
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

#include "train/data.h"
#include "train/state.h"
#include "train/train_options.h"
#include "xalloc.h"

#define LENGTH 10
#define SIZE   1004 /* a hundred samples, their last target, and some bytes too few */

static char path[] = "/tmp/test_train_data.XXXXXX";

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

/* Each epoch has each sample once, in another order, the same whoever asks. */
static void test_epochs(void **state)
{
    struct data  data, again;
    struct error err;
    int32_t      tokens[LENGTH], targets[LENGTH], other[LENGTH];
    int64_t      number, epoch, moved = 0;
    char         seen[100];
    int          i;

    (void)state;
    assert_int_equal(data_open(&data, path, LENGTH, false, 256, 7, &err), 0);
    assert_int_equal(data_open(&again, path, LENGTH, false, 256, 7, &err), 0);
    assert_int_equal(data.samples, 100);
    for (epoch = 0; epoch < 3; epoch++) {
        memset(seen, 0, sizeof seen);
        for (number = 0; number < 100; number++) {
            data_sample(&data, epoch * 100 + number, tokens, targets);
            data_sample(&again, epoch * 100 + number, other, targets);
            assert_memory_equal(tokens, other, sizeof tokens);
            for (i = 0; i < 100; i++) /* which one it is: bytes repeat after 251 */
                if (tokens[0] == i * LENGTH % 251 && !seen[i])
                    break;
            assert_true(i < 100);
            seen[i] = 1;
            moved += i != number;
            for (i = 0; i < LENGTH - 1; i++)
                assert_int_equal(targets[i], tokens[i + 1]);
            assert_int_equal(targets[LENGTH - 1], (tokens[LENGTH - 1] + 1) % 251);
        }
    }
    assert_true(moved > 200);
    data_close(&data);
    data_close(&again);
}

/* Of all tokens 15 % are targets; 80 % of these are masked, 10 % changed. */
static void test_masks(void **state)
{
    struct data  data, plain;
    struct error err;
    int32_t      tokens[LENGTH], targets[LENGTH], whole[LENGTH], next[LENGTH];
    int          number, i, hidden = 0, masked = 0, changed = 0;

    (void)state;
    assert_int_equal(data_open(&data, path, LENGTH, true, 257, 7, &err), 0);
    assert_int_equal(data_open(&plain, path, LENGTH, false, 257, 7, &err), 0);
    for (number = 0; number < 10000; number++) {
        data_sample(&data, number, tokens, targets);
        data_sample(&plain, number, whole, next);
        for (i = 0; i < LENGTH; i++) {
            if (targets[i] < 0) {
                assert_int_equal(tokens[i], whole[i]);
                continue;
            }
            assert_int_equal(targets[i], whole[i]);
            hidden++;
            masked += tokens[i] == DATA_MASK;
            changed += tokens[i] != DATA_MASK && tokens[i] != whole[i];
        }
    }
    assert_in_range(hidden, 14500, 15500);
    assert_in_range(masked, hidden * 78 / 100, hidden * 82 / 100);
    assert_in_range(changed, hidden * 8 / 100, hidden * 12 / 100);
    data_close(&data);
    data_close(&plain);
}

static void test_bad_data(void **state)
{
    struct data  data;
    struct error err;

    (void)state;
    assert_int_equal(data_open(&data, "/nowhere", LENGTH, false, 256, 7, &err), -1);
    assert_string_equal(err.text, "/nowhere: No such file or directory");
    assert_int_equal(data_open(&data, "/dev/null", LENGTH, false, 256, 7, &err), -1);
    assert_string_equal(err.text, "/dev/null: empty");
    assert_int_equal(data_open(&data, path, SIZE, false, 256, 7, &err), -1);
    assert_non_null(strstr(err.text, "shorter than one sample"));
    assert_int_equal(data_open(&data, path, LENGTH, true, 256, 7, &err), -1);
    assert_non_null(strstr(err.text, "text has 257 tokens, the model's vocabulary 256"));
}

static void test_state(void **state)
{
    struct state was = { .step = 12, .updates = 10, .samples = 1200, .seed = UINT64_MAX }, is;
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
    assert_true(is.samples == was.samples && is.seed == was.seed);
    assert_true(is.scale.scale == was.scale.scale && is.scale.steps == was.scale.steps);
    assert_true(is.scale.last_overflow == was.scale.last_overflow);
    assert_int_equal(is.scale.patience, was.scale.patience);
    for (cut = text + strlen(text) - 1; cut > text; cut--) { /* nothing of it is optional */
        *cut = '\0';
        if (cut[-1] == '\n')
            assert_int_equal(state_parse(&is, text, &err), -1);
    }
    assert_int_equal(state_parse(&is, "step 1x\n", &err), -1);
    assert_string_equal(err.text, "the state of the training: step is no number");
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
        cmocka_unit_test(test_epochs),      cmocka_unit_test(test_masks),
        cmocka_unit_test(test_bad_data),    cmocka_unit_test(test_state),
        cmocka_unit_test(test_fixed_scale), cmocka_unit_test(test_options),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
