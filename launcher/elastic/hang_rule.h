/* hang_rule.h - does a run hang? A pure function of what muster has seen
 *
 * Either sign is enough: no rank does anything, or no rank reports a step though some have before.
 * Ranks that wait for each other may use all CPU time and GPUs, and print heartbeats; then only
 * their steps tell, or NCCL. A checkpoint is as good a sign of life as a step. If there are no
 * steps, checkpoints alone tell, once their pace is known.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HANG_RULE_H
#define MUSTER_HANG_RULE_H

#include <stdbool.h>

#include "elastic/step_pace.h"

#define HANG_AUTO            (-1.0)
#define HANG_AUTO_IDLE_S     600.0  /* with auto: ranks may wait for a file server */
#define HANG_AFTER_LAST_S    1800.0 /* ranks may save their work after their last step */

enum hang_verdict { HANG_NO, HANG_IDLE, HANG_NO_STEP, HANG_NO_CHECKPOINT, HANG_COLLECTIVE };

/* All times in seconds, none of them longer than since the run was last held up by something
 * else. */
struct hang_signs {
    double                  limit_s; /* --hang-timeout; HANG_AUTO */
    double                  idle_s;  /* for how long no rank has done anything */
    double                  step_s;  /* since the last step of any rank; negative: there was none */
    bool                    is_last_step; /* the ranks' output promises no other */
    const struct step_pace *pace;
    bool                    has_checkpoint; /* the ranks have written one */
    double                  checkpoint_s;   /* since the last one; if has_checkpoint */
    const struct step_pace *checkpoint_pace; /* if has_checkpoint */
    double                  stuck_s; /* for how long ranks have waited for each other in NCCL;
                                        0: they do not, or that is not known */
};

/* *limit_s: the limit that was exceeded, if any. */
enum hang_verdict hang_judge(const struct hang_signs *signs, double *limit_s);

/* Returns how long ranks may do nothing, and for how long they may report no step; the latter is
 * negative with HANG_AUTO until the pace is known. */
double hang_idle_limit_s(const struct hang_signs *signs);
double hang_step_limit_s(const struct hang_signs *signs);
/* Returns for how long ranks may wait for each other in NCCL: others wait while one of them writes
 * a checkpoint. */
double hang_collective_limit_s(const struct hang_signs *signs);
/* Returns for how long ranks that report no steps may write no checkpoint; negative: not known. */
double hang_checkpoint_limit_s(const struct hang_signs *signs);

#endif
