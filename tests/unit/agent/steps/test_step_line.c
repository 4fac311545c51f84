/* test_step_line.c - which lines name a step
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

#include "steps/step_line.h"
#include "xalloc.h"

static bool parse(const char *line, struct step_line *found)
{
    /* A copy of its own size: a sanitizer sees what is read behind it. */
    char *copy = xmemdup(line, strlen(line) + 1);
    bool  is_found;

    copy = realloc(copy, strlen(line) > 0 ? strlen(line) : 1);
    is_found = step_line_parse(copy, strlen(line), found);
    free(copy);
    return is_found;
}

static void test_forms(void **state)
{
    static const struct {
        const char    *line;
        enum step_form form;
        int64_t        step;
    } lines[] = {
        { "step 12/100  loss 2.345678  lr 1.000e-04", STEP_FORM_MUSTER_TRAIN, 12 },
        { "\rstep 12/100  loss 2.345678", STEP_FORM_MUSTER_TRAIN, 12 },
        { "[2023-08-02 00:41:17,935] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=10, "
          "lr=[0.0001], mom=[(0.9, 0.999)]", STEP_FORM_DEEPSPEED, 10 },
        { "step=0, skipped=0, lr=[]", STEP_FORM_DEEPSPEED, 0 },
        { " iteration      199/  317892 | consumed samples:       152832 |", STEP_FORM_MEGATRON,
          199 },
        { " [2024-09-01 10:00:00] iteration 12345678/99999999 | elapsed", STEP_FORM_MEGATRON,
          12345678 },
        { "[titan] 2024-09-01 10:00:00,123 - root - INFO - \033[31mstep:  1  \033[32mloss:  "
          "8.1309  \033[33mmemory:  1.20GiB(1.51%)", STEP_FORM_TORCHTITAN, 1 },
        { "step: 1000  loss: 2", STEP_FORM_TORCHTITAN, 1000 },
        { "iter 10: loss 2.3456, time 12.00ms, mfu 1.00%", STEP_FORM_NANOGPT, 10 },
        { "{'loss': 2.31, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 0.03}",
          STEP_FORM_HUGGING_FACE, 30000 },
        { "{'loss': '2.31', 'epoch': '1.25'}", STEP_FORM_HUGGING_FACE, 1250000 },
        { "{\"loss\": 2.31, \"epoch\": 3}", STEP_FORM_HUGGING_FACE, 3000000 },
        { "{'eval_loss': 2.31, 'epoch': 3.0}", STEP_FORM_HUGGING_FACE, 3000000 },
        { " 12%|###       | 12/100 [00:10<01:15,  1.16it/s]", STEP_FORM_TQDM, 12 },
        { "  0%|          | 1/100 [00:01<01:39,  1.00s/it]\r  2%|2         | 2/100 [00:02<01:38, "
          "1.00s/it]", STEP_FORM_TQDM, 2 },
        { "12/? [1:02:03<?, ?it/s]", STEP_FORM_TQDM, 12 },
        { "Epoch 0:  12%|\xe2\x96\x88| 12/100 [00:10<01:15,  1.16it/s, v_num=0]", STEP_FORM_TQDM,
          12 },
        { "Epoch 0/9 \xe2\x94\x81\xe2\x94\x81 12/100 0:00:10 \xe2\x80\xa2 0:01:15 1.16it/s",
          STEP_FORM_RICH, 12 },
    };
    struct step_line found;
    size_t           i;

    (void)state;
    for (i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!parse(lines[i].line, &found))
            fail_msg("no step in: %s", lines[i].line);
        if (found.form != lines[i].form || found.step != lines[i].step)
            fail_msg("%s %lld in: %s", step_form_name(found.form), (long long)found.step,
                     lines[i].line);
    }
}

/* Heartbeats, dates, paths, configurations, and lines that are nearly one */
static void test_others(void **state)
{
    static const char *const lines[] = {
        "",
        "\r\r",
        "alive 2026-11-30 12/30 [00:10]",
        "step",
        "step=",
        "step=x, skipped=0",
        "step=10",
        "global_step=10, skipped=0",
        "micro_step=10/global_step=10, RunningAvgSamplesPerSec=1",
        "step=1234567890123456, skipped=0",
        "step 12/100",
        "the step 12/100  loss 2",
        "iteration 5 of 10 |",
        "iteration 5/ |",
        "iteration 5/10",
        "iterations: 5/10 |",
        "step: 12",
        "step: twelve  loss",
        "substep: 12  loss",
        "iter 10 loss 2",
        "an iter 10: loss 2",
        "{'loss': 2.31}",
        "{'epoch': 3}",
        "{loss: 1, epoch: 2}",
        "{'loss': 1, 'epoch': None}",
        "{'loss': 1, 'epoch': 12345678901234567890}",
        "loss 'epoch': 3",
        "12/100",
        "12/100 [",
        "12/100 [10<",
        "a12/100 [00:10<01:15]",
        "/data/12/100 [00:10<01:15]",
        "-12/100 [00:10<01:15]",
        "12/x [00:10<01:15]",
        "12/100 0:00:10",
        "\033[", "\033[31", "\033[31mstep:",
    };
    struct step_line found;
    size_t           i;

    (void)state;
    for (i = 0; i < sizeof lines / sizeof *lines; i++)
        if (parse(lines[i], &found))
            fail_msg("%s %lld in: %s", step_form_name(found.form), (long long)found.step,
                     lines[i]);
}

static void test_losses(void **state)
{
    static const struct {
        const char *line;
        double      loss; /* 0: none */
    } lines[] = {
        { "step 12/100  loss 2.345678  lr 1.000e-04", 2.345678 },
        { "iter 10: loss 2.5, time 12.00ms", 2.5 },
        { "step:  1  loss:  8.1309  memory:  1.20GiB", 8.1309 },
        { "{'loss': 2.31, 'epoch': 0.03}", 2.31 },
        { "{'loss': '-2.31', 'epoch': '0.03'}", -2.31 },
        { "{\"loss\": 3}", 3 },
        { "12/100 [00:10<01:15,  1.16it/s, loss=0.125]", 0.125 },
        { "| lm loss: 6.170E+00 | loss scale: 1.0 |", 6.17 },
        { "| loss scale: 4294967296.0 |", 0 },
        { "{'eval_loss': 2.31}", 0 },
        { "train_loss=2", 0 },
        { "losses: 2", 0 },
        { "loss2", 0 },
        { "loss", 0 },
        { "loss:", 0 },
        { "loss: ", 0 },
        { "loss 'x'", 0 },
        { "loss: nan", 0 },
        { "loss: inf", 0 },
        { "loss: 1e999", 0 },
        { "loss: +", 0 },
        { "loss: .", 0 },
        { "'loss", 0 },
        { "\"loss\"", 0 },
        { "loss = '", 0 },
        { "loss: 1.2345678901234567890123456789012345678901234567890", 1.2345678901234567 },
    };
    double loss;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t size = strlen(lines[i].line);
        char  *copy = xmemdup(lines[i].line, size); /* a sanitizer sees what is read behind it */
        bool   is_found = step_line_loss(copy, size, &loss);

        free(copy);
        if (is_found != (lines[i].loss != 0))
            fail_msg("%s in: %s", is_found ? "a loss" : "no loss", lines[i].line);
        if (is_found && (loss > lines[i].loss + 1e-9 || loss < lines[i].loss - 1e-9))
            fail_msg("%f in: %s", loss, lines[i].line);
    }
}

/* Of a long line the end counts. */
static void test_long(void **state)
{
    static const char bar[] = "\r 12%|###       | 12/100 [00:10<01:15,  1.16it/s]";
    char             *line = xmalloc(100000);
    struct step_line  found;

    (void)state;
    memset(line, 'x', 100000);
    assert_false(step_line_parse(line, 100000, &found));
    memcpy(line + 100000 - strlen(bar), bar, strlen(bar));
    assert_true(step_line_parse(line, 100000, &found));
    assert_int_equal(found.step, 12);
    free(line);
}

static void test_names(void **state)
{
    enum step_form form;

    (void)state;
    for (form = STEP_FORM_NONE; form < STEP_FORMS; form++)
        assert_true(strlen(step_form_name(form)) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
