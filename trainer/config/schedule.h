/* schedule.h - the learning rate as a function of the step
 *
 * DeepSpeed's five schedulers, with exactly the same numbers. A step that is skipped because of
 * an overflow does not count.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SCHEDULE_H
#define MUSTER_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum schedule_type {
    SCHEDULE_WARMUP,        /* WarmupLR */
    SCHEDULE_WARMUP_DECAY,  /* WarmupDecayLR */
    SCHEDULE_WARMUP_COSINE, /* WarmupCosineLR */
    SCHEDULE_RANGE_TEST,    /* LRRangeTest */
    SCHEDULE_ONE_CYCLE,     /* OneCycle */
    SCHEDULE_CONSTANT,      /* no scheduler */
    SCHEDULE_TYPES
};

enum schedule_warmup { SCHEDULE_LOG, SCHEDULE_LINEAR };

struct schedule {
    int     type;
    double  warmup_min_lr, warmup_max_lr; /* max NAN: the optimizer's (WarmupLR) or 0.001 */
    int64_t warmup_num_steps, total_num_steps;
    int     warmup_type; /* enum schedule_warmup */
    double  warmup_min_ratio, cos_min_ratio;

    double  range_min_lr, range_step_rate;
    int64_t range_step_size;
    bool    range_staircase;

    double  cycle_min_lr, cycle_max_lr, decay_lr_rate;
    int64_t first_step_size, second_step_size; /* second < 0: the same as first */
    int64_t first_stair_count, second_stair_count;
    int64_t decay_step_size;
    bool    cycle_momentum;
    double  cycle_min_mom, cycle_max_mom, decay_mom_rate;
};

/* Returns the rate of the optimizer step after steps_before others; lr: the optimizer's own. */
double schedule_lr(const struct schedule *schedule, double lr, int64_t steps_before);

/* Sets Adam's betas for OneCycle; the other schedulers do not change them. */
void schedule_betas(const struct schedule *schedule, int64_t steps_before, double betas[2]);

/* Returns DeepSpeed's name; NULL for SCHEDULE_CONSTANT. */
const char *schedule_name(enum schedule_type type);

#endif
