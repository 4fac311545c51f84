/* figures.h - what a step of a training says of itself
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FIGURES_H
#define MUSTER_FIGURES_H

#include <stdint.h>

/* The parts of a step whose time is measured. A GPU may still be working when the host has
 * finished the backward pass; the rest of that time counts as update. */
enum step_part { STEP_FORWARD, STEP_BACKWARD, STEP_UPDATE, STEP_PARTS };

struct figures {
    int64_t step, samples; /* so far, this step's included */
    double  loss;          /* the mean over all targets of all ranks */
    double  lr;
    double  scale; /* of this step's loss */
    double  norm;  /* of the whole gradient; NAN: the step was skipped */
    double  seconds[STEP_PARTS]; /* on this rank, over all passes */
    double  mib[STEP_PARTS];     /* in use after each part; with memory_breakdown */
};

#endif
