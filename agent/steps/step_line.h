/* step_line.h - the step of a training that a line of output names
 *
 * Known trainers write their steps in forms of their own:
 *
 *     DeepSpeed     [Rank 0] step=10, skipped=0, lr=[1e-05], mom=[(0.9, 0.999)]
 *     Megatron-LM   iteration      199/  317892 | consumed samples: ...
 *     torchtitan    step: 10  loss:  7.1234  ... (with colours)
 *     nanoGPT       iter 10: loss 2.3456, time 12.00ms, mfu 1.00%
 *     Hugging Face  {'loss': 2.31, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 0.03}
 *     tqdm          12%|###       | 12/100 [00:10<01:15,  1.16it/s]; also Lightning's bar
 *     Rich          Epoch 0/9 ---- 12/100 0:00:10 - 0:01:15 1.16it/s; Lightning's other bar
 *     muster-train  step 12/100  loss 2.345678  lr 1.000e-04
 *
 * Pure, and fast: agents look at every line of their ranks.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STEP_LINE_H
#define MUSTER_STEP_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The more exact ones first. */
enum step_form {
    STEP_FORM_NONE,
    STEP_FORM_CALL, /* no line: the rank has called muster.step() */
    STEP_FORM_MUSTER_TRAIN,
    STEP_FORM_DEEPSPEED,
    STEP_FORM_MEGATRON,
    STEP_FORM_TORCHTITAN,
    STEP_FORM_NANOGPT,
    STEP_FORM_HUGGING_FACE, /* step: the epoch, in millionths */
    STEP_FORM_RICH,
    STEP_FORM_TQDM,
    STEP_FORMS,
};

struct step_line {
    enum step_form form;
    int64_t        step; /* not negative */
    int64_t        most; /* the last step that there will be; -1: the line does not say */
    bool           has_loss;
    double         loss; /* finite */
};

/* Lines are looked at up to here. */
#define STEP_LINE_MAX 1024

/* Does the line name a step? It may hold any bytes, and ends without a newline. After a carriage
 * return it begins again: the last part that names one counts. */
bool step_line_parse(const char *line, size_t size, struct step_line *found);

/* Finds "loss: 2.31", "'loss': 2.31", "loss=2.31" or the like in a line or a part of one, and sets
 * the loss. "eval_loss" and "loss scale" are none. */
bool step_line_loss(const char *line, size_t size, double *loss);

/* Returns whose form it is, for the user: "DeepSpeed". */
const char *step_form_name(enum step_form form);

#endif
