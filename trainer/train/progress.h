/* progress.h - the progress that rank 0 prints during a training
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROGRESS_H
#define MUSTER_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "train/step.h"

struct progress {
    int64_t every;      /* steps between two lines */
    int64_t last;       /* the last step of the training */
    double  tokens;     /* per step, over all ranks */
    bool    is_tty;     /* update one line */
    bool    has_line;   /* that line is on the screen now */
    int64_t start_ns, first; /* start_ns: the time before step first */
    int64_t last_ns;         /* the time before the current step */
};

/* Starts to measure at the current step. */
void progress_init(struct progress *progress, const struct step *step, int64_t last);

/* Call it after each step. */
void progress_step(struct progress *progress, const struct step *step,
                   const struct step_result *result);

/* Call it before something else is printed. */
void progress_clear(struct progress *progress);

#endif
