/* step_history.h - the steps of a whole run, and its losses, as a line that can be drawn
 *
 * However long the run, there are at most STEP_HISTORY_MOST points: when they are full, every other
 * one goes, and from then on only every second report is kept, and so on. Pure: it reads no clock.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STEP_HISTORY_H
#define MUSTER_STEP_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STEP_HISTORY_MOST 256

/* Starts as { 0 }. Only step_history.c writes it. */
struct step_history {
    struct step_point {
        uint64_t number; /* from 1, of those that were kept; it only grows */
        double   at_s;   /* when the step was reported, by whatever clock */
        int64_t  step;
        bool     has_loss;
        double   loss;
    } point[STEP_HISTORY_MOST];
    size_t   count;
    uint64_t kept, noted;
    uint64_t every; /* only each of so many reports is kept; 0: of one */
};

/* A rank has reported a step with a number. loss: NULL: it is not known. */
void step_history_note(struct step_history *history, double at_s, int64_t step,
                       const double *loss);

#endif
