/* progress.h - what rank 0 says while a training goes on
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROGRESS_H
#define MUSTER_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "train/step.h"

struct progress {
    int64_t every;      /* steps from line to line */
    int64_t last;       /* step */
    double  tokens;     /* of a step, over all ranks */
    bool    is_tty;     /* one line that changes */
    bool    has_line;   /* and it stands there now */
    int64_t start_ns, first; /* the clock before step first */
    int64_t last_ns;         /* and before this one */
};

/* From the step behind first on. */
void progress_init(struct progress *progress, const struct step *step, int64_t last);

/* A step is done. */
void progress_step(struct progress *progress, const struct step *step,
                   const struct step_result *result);

/* Something else is about to be printed. */
void progress_clear(struct progress *progress);

#endif
