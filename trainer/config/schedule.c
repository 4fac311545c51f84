/* schedule.c - see schedule.h
 *
 * DeepSpeed steps its scheduler after the optimizer, and numbers the scheduler's steps from 0.
 * So the first optimizer step has the rate of number -1, the scheduler's initial state.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "config/schedule.h"

#include <math.h>
#include <stddef.h>

#define ONE_CYCLE_BETA2 0.99 /* fixed in DeepSpeed, no key sets it */

static double  warmup_lr(const struct schedule *s, double lr, double number);
static double  cosine_lr(const struct schedule *s, double lr, double number);
static double  warmup_share(const struct schedule *s, double number);
static double  range_lr(const struct schedule *s, double number);
static double  one_cycle_lr(const struct schedule *s, double number);
static double  cycle_height(const struct schedule *s, double number);
static double  cycle_size(const struct schedule *s);
static double  second_size(const struct schedule *s);

const char *schedule_name(enum schedule_type type)
{
    static const char *const names[SCHEDULE_TYPES] = {
        [SCHEDULE_WARMUP] = "WarmupLR",
        [SCHEDULE_WARMUP_DECAY] = "WarmupDecayLR",
        [SCHEDULE_WARMUP_COSINE] = "WarmupCosineLR",
        [SCHEDULE_RANGE_TEST] = "LRRangeTest",
        [SCHEDULE_ONE_CYCLE] = "OneCycle",
    };

    return names[type];
}

double schedule_lr(const struct schedule *s, double lr, int64_t steps_before)
{
    const double number = (double)steps_before - 1;

    switch (s->type) {
    case SCHEDULE_WARMUP:
    case SCHEDULE_WARMUP_DECAY:
        return warmup_lr(s, lr, number);
    case SCHEDULE_WARMUP_COSINE:
        return cosine_lr(s, lr, number);
    case SCHEDULE_RANGE_TEST:
        return range_lr(s, number);
    case SCHEDULE_ONE_CYCLE:
        return one_cycle_lr(s, number);
    default:
        return lr;
    }
}

static double warmup_lr(const struct schedule *s, double lr, double number)
{
    const double steps = fmax(2, (double)s->warmup_num_steps), total = (double)s->total_num_steps;
    double       max = s->warmup_max_lr, share = 1;

    if (isnan(max))
        max = s->type == SCHEDULE_WARMUP ? lr : 0.001;
    if (number < 0)
        return s->warmup_min_lr;
    if (number < steps)
        share = warmup_share(s, number);
    else if (s->type == SCHEDULE_WARMUP_DECAY)
        share = fmax(0, (total - number) / fmax(1, total - steps));
    return s->warmup_min_lr + (max - s->warmup_min_lr) * share;
}

static double cosine_lr(const struct schedule *s, double lr, double number)
{
    const double steps = fmax(2, (double)s->warmup_num_steps), total = (double)s->total_num_steps;
    double       progress;

    if (number < 0)
        return 0;
    if (number < steps)
        return lr *
               (s->warmup_min_ratio + (1 - s->warmup_min_ratio) * warmup_share(s, number));
    progress = fmin(1, (number - steps + 1) / fmax(1, total - steps));
    return lr *
           fmax(0, s->cos_min_ratio + (1 - s->cos_min_ratio) * (1 + cos(M_PI * progress)) / 2);
}

/* Returns how far the warmup is, from 0 to 1. */
static double warmup_share(const struct schedule *s, double number)
{
    const double steps = fmax(2, (double)s->warmup_num_steps);

    return s->warmup_type == SCHEDULE_LOG ? log(number + 1) / log(steps) : number / steps;
}

static double range_lr(const struct schedule *s, double number)
{
    double intervals = (number + 1) / (double)s->range_step_size;

    if (s->range_staircase)
        intervals = floor(intervals);
    return s->range_min_lr * (1 + s->range_step_rate * intervals);
}

static double one_cycle_lr(const struct schedule *s, double number)
{
    const double behind = number - cycle_size(s) + 1;

    if (number < 0)
        return s->cycle_min_lr;
    if (behind < 1)
        return s->cycle_min_lr + (s->cycle_max_lr - s->cycle_min_lr) * cycle_height(s, number);
    if (s->decay_step_size == 0 || s->decay_lr_rate == 0)
        return s->cycle_min_lr;
    return s->cycle_min_lr / (1 + s->decay_lr_rate * behind / (double)s->decay_step_size);
}

void schedule_betas(const struct schedule *s, int64_t steps_before, double betas[2])
{
    const double number = (double)steps_before - 1, behind = number - cycle_size(s) + 1;

    if (s->type != SCHEDULE_ONE_CYCLE || !s->cycle_momentum)
        return;
    betas[1] = ONE_CYCLE_BETA2;
    if (number < 0) /* as in DeepSpeed: only the step after this one has the maximum */
        betas[0] = s->cycle_min_mom;
    else if (behind < 1)
        betas[0] = s->cycle_max_mom -
                   (s->cycle_max_mom - s->cycle_min_mom) * cycle_height(s, number);
    else if (s->decay_step_size == 0 || s->decay_mom_rate == 0)
        betas[0] = s->cycle_max_mom;
    else
        betas[0] = s->cycle_max_mom *
                   (1 + s->decay_mom_rate * behind / (double)s->decay_step_size);
}

/* Returns 0 at both ends of the cycle and 1 at its peak; rises in stairs if they are
 * configured. */
static double cycle_height(const struct schedule *s, double number)
{
    const double first = (double)s->first_step_size, second = second_size(s);
    const double at = fmod(number + 1, first + second);
    const bool   rises = at <= first;
    const double up = rises ? at : first + second - at, size = rises ? first : second;
    double       stairs = (double)s->first_stair_count;

    if (!rises && s->second_stair_count >= 0)
        stairs = (double)s->second_stair_count;
    /* Multiply first: in floating point, 29 / 100 * 100 is less than 29. */
    return stairs > 0 ? floor(up * stairs / size) / stairs : up / size;
}

static double cycle_size(const struct schedule *s)
{
    return (double)s->first_step_size + second_size(s);
}

static double second_size(const struct schedule *s)
{
    return (double)(s->second_step_size >= 0 ? s->second_step_size : s->first_step_size);
}
