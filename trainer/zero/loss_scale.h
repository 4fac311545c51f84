/* loss_scale.h - the factor that keeps half-precision gradients from vanishing
 *
 * The loss is multiplied by the scale before the backward pass, and the gradients are
 * divided by it before the step. A step whose gradients are not all finite is skipped.
 * With a dynamic scale, overflows first use up the hysteresis and then halve the scale;
 * window steps in a row without an overflow double it. The rules are DeepSpeed's, step
 * for step, with one exception: in the step that doubles the scale, DeepSpeed divides the
 * gradients by the new scale, although it multiplied the loss by the old one. Here the
 * caller must read scale before the update.
 *
 *     loss_scale_init -> [scale -> backward -> loss_scale_update]...
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LOSS_SCALE_H
#define MUSTER_LOSS_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct loss_scale_rules {
    double fixed;         /* not 0: a constant scale; the other rules are ignored */
    int    initial_power; /* the first scale is 2 to this power */
    int    window;        /* >= 1: steps without overflow until the scale doubles */
    int    hysteresis;    /* >= 1: overflows until the scale is halved for the first time */
    bool   is_consecutive; /* a step without overflow resets the hysteresis; else only
                              doubling resets it */
    double min;           /* > 0 */
};

/* Holds only plain numbers; a checkpoint stores the struct as it is. */
struct loss_scale {
    struct loss_scale_rules rules;
    double                  scale;
    int64_t                 steps;         /* updates so far, including skipped steps */
    int64_t                 last_overflow; /* the number of the step; -1: none yet */
    int                     patience;      /* overflows until the scale halves */
};

/* The rules for types that need no scale: bfloat16 and float. */
extern const struct loss_scale_rules loss_scale_none;

void loss_scale_init(struct loss_scale *scale, const struct loss_scale_rules *rules);

/* Call after each step that was done, or skipped because of has_overflow, which must be the
 * same on all ranks. Returns -1 if the scale would fall below its minimum. */
int loss_scale_update(struct loss_scale *scale, bool has_overflow, struct error *err);

#endif
