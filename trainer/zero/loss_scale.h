/* loss_scale.h - the factor that keeps half-precision gradients from vanishing
 *
 * The loss is multiplied by the scale before the backward pass, and gradients are
 * divided by it before the step. A step whose gradients are not all finite is
 * skipped. With a dynamic scale, overflows use up hysteresis and then halve the
 * scale; window steps in a row without one double it. The rules are DeepSpeed's, to
 * the step, but for one: there, gradients of the step that doubles the scale are
 * divided by the new scale, although the old one had multiplied the loss. Here,
 * take scale before the update.
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
    double fixed;         /* not 0: this scale for ever, and the rest is not used */
    int    initial_power; /* the first scale is 2 to this power */
    int    window;        /* >= 1: steps without overflow until the scale doubles */
    int    hysteresis;    /* >= 1: this overflow in a row halves the scale */
    bool   is_consecutive; /* a step without overflow refills hysteresis; else only
                              doubling does */
    double min;           /* > 0 */
};

/* Plain numbers: a checkpoint holds them as they are. */
struct loss_scale {
    struct loss_scale_rules rules;
    double                  scale;
    int64_t                 steps;         /* updates so far, skipped steps included */
    int64_t                 last_overflow; /* the number of that step; -1: none yet */
    int                     patience;      /* overflows until the scale halves */
};

/* The rules of a run whose numbers need no scale: bfloat16 and float. */
extern const struct loss_scale_rules loss_scale_none;

void loss_scale_init(struct loss_scale *scale, const struct loss_scale_rules *rules);

/* A step has been done, or skipped since has_overflow, which all ranks agree on. -1:
 * the scale would have to go below its minimum. */
int loss_scale_update(struct loss_scale *scale, bool has_overflow, struct error *err);

#endif
