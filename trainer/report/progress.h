/* progress.h - the progress that rank 0 prints during a training
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROGRESS_H
#define MUSTER_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "config/ds_config.h"
#include "report/figures.h"

struct progress {
    /* The caller sets these. */
    const struct ds_config *config; /* resolved; borrowed */
    bool     is_silent; /* another rank prints */
    int64_t  last;      /* the last step of the training */
    int64_t  length;    /* tokens of a sample */
    uint64_t epoch;     /* samples of the data */
    /* ---- */
    int64_t every;      /* steps between two lines */
    bool    is_tty;     /* update one line */
    bool    has_line;   /* that line is on the screen now */
    int64_t start_ns, first; /* start_ns: the time before step first */
    int64_t last_ns;         /* the time before the current step */
};

/* Starts to measure; step: the number of steps so far. */
void progress_begin(struct progress *progress, int64_t step);

/* Call it after each step. */
void progress_step(struct progress *progress, const struct figures *figures);

/* Call it before something else is printed. */
void progress_clear(struct progress *progress);

#endif
