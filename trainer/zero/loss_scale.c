/* loss_scale.c - see loss_scale.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/loss_scale.h"

#include <math.h>

static int  lower(struct loss_scale *scale, struct error *err);
static void raise_if_due(struct loss_scale *scale);

const struct loss_scale_rules loss_scale_none = { .fixed = 1 };

void loss_scale_init(struct loss_scale *scale, const struct loss_scale_rules *rules)
{
    *scale = (struct loss_scale){
        .rules = *rules,
        .scale = rules->fixed != 0 ? rules->fixed : ldexp(1, rules->initial_power),
        .last_overflow = -1,
        .patience = rules->hysteresis,
    };
}

int loss_scale_update(struct loss_scale *scale, bool has_overflow, struct error *err)
{
    int rc = 0;

    if (scale->rules.fixed == 0) {
        if (has_overflow)
            rc = lower(scale, err);
        else
            raise_if_due(scale);
    }
    scale->steps++;
    return rc;
}

static int lower(struct loss_scale *scale, struct error *err)
{
    const struct loss_scale_rules *rules = &scale->rules;

    scale->last_overflow = scale->steps;
    if (scale->patience > 1) {
        scale->patience--;
        return 0;
    }
    if (scale->scale <= rules->min)
        return err_set(err, "gradients overflow even at the smallest loss scale, %g", rules->min);
    scale->scale = fmax(scale->scale / 2, rules->min);
    return 0;
}

/* The step with the overflow does not count as a step without one. */
static void raise_if_due(struct loss_scale *scale)
{
    const struct loss_scale_rules *rules = &scale->rules;
    int64_t                        stable = scale->steps - scale->last_overflow - 1;

    if (rules->is_consecutive)
        scale->patience = rules->hysteresis;
    if (stable == 0 || stable % rules->window != 0)
        return;
    scale->patience = rules->hysteresis;
    scale->scale *= 2;
}
