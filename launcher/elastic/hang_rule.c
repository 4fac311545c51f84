/* hang_rule.c - see hang_rule.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/hang_rule.h"

static double least(const struct hang_signs *signs);

enum hang_verdict hang_judge(const struct hang_signs *signs, double *limit_s)
{
    *limit_s = hang_idle_limit_s(signs);
    if (signs->idle_s >= *limit_s)
        return HANG_IDLE;
    *limit_s = hang_collective_limit_s(signs);
    if (signs->stuck_s > 0 && least(signs) >= *limit_s)
        return HANG_COLLECTIVE;
    if (signs->step_s < 0 && signs->has_checkpoint) {
        *limit_s = hang_checkpoint_limit_s(signs);
        return *limit_s >= 0 && signs->checkpoint_s >= *limit_s ? HANG_NO_CHECKPOINT : HANG_NO;
    }
    *limit_s = hang_step_limit_s(signs);
    return signs->step_s >= 0 && *limit_s >= 0 && signs->step_s >= *limit_s &&
                   !(signs->has_checkpoint && signs->checkpoint_s < *limit_s)
               ? HANG_NO_STEP
               : HANG_NO;
}

/* A checkpoint may take as long as the longest pause so far. */
double hang_idle_limit_s(const struct hang_signs *signs)
{
    double learnt_s = step_pace_limit_s(signs->pace);

    if (signs->limit_s >= 0)
        return signs->limit_s;
    return learnt_s > HANG_AUTO_IDLE_S ? learnt_s : HANG_AUTO_IDLE_S;
}

/* Returns for how long ranks have waited in NCCL, and shown no other sign of progress. */
static double least(const struct hang_signs *signs)
{
    double least_s = signs->stuck_s;

    if (signs->step_s >= 0 && signs->step_s < least_s)
        least_s = signs->step_s;
    if (signs->has_checkpoint && signs->checkpoint_s < least_s)
        least_s = signs->checkpoint_s;
    return least_s;
}

double hang_collective_limit_s(const struct hang_signs *signs)
{
    double limit_s = hang_idle_limit_s(signs), learnt_s = step_pace_limit_s(signs->pace);

    if (signs->limit_s < 0 && learnt_s >= 0)
        limit_s = learnt_s;
    return signs->is_last_step && limit_s < HANG_AFTER_LAST_S ? HANG_AFTER_LAST_S : limit_s;
}

double hang_step_limit_s(const struct hang_signs *signs)
{
    double limit_s = signs->limit_s >= 0 ? signs->limit_s : step_pace_limit_s(signs->pace);

    return signs->is_last_step && limit_s < HANG_AFTER_LAST_S ? HANG_AFTER_LAST_S : limit_s;
}

/* Between two checkpoints ranks may work for hours, which --hang-timeout says nothing of. */
double hang_checkpoint_limit_s(const struct hang_signs *signs)
{
    double learnt_s = step_pace_limit_s(signs->checkpoint_pace);

    return learnt_s >= 0 && learnt_s < signs->limit_s ? signs->limit_s : learnt_s;
}
