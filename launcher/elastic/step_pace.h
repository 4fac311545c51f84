/* step_pace.h - how often a run reports steps, and so for how long none is too long
 *
 * --hang-timeout=auto. A pure function of what was noted: it reads no clock. A trainer pauses for
 * evaluations, checkpoints and data, so the limit is a minute more than ten times the usual time
 * between two reports, and never less than that and half of the longest pause that was seen.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STEP_PACE_H
#define MUSTER_STEP_PACE_H

#include <stddef.h>

#define STEP_PACE_KEPT    64   /* of the last times between two reports */
#define STEP_PACE_NEEDED  3    /* so many make a pace */
#define STEP_PACE_LEAST_S 60.0
#define STEP_PACE_TIMES   10.0
#define STEP_PACE_PAUSE   1.5

/* Starts as { 0 }. Only step_pace.c writes it. */
struct step_pace {
    double gap_s[STEP_PACE_KEPT]; /* the oldest is overwritten */
    size_t gaps;                  /* all that were noted */
    double longest_s;
    double last_s; /* of the last report; valid if has_last */
    bool   has_last;
};

/* A step was reported. Reports of several ranks at about the same time are one. */
void step_pace_note(struct step_pace *pace, double now_s);
/* The ranks start again: the time until their first step does not count. */
void step_pace_again(struct step_pace *pace);

/* Returns the median of the last times between two reports, in seconds; negative: there were not
 * enough. */
double step_pace_median_s(const struct step_pace *pace);
/* Returns how long a run may report no step; negative: not known yet. */
double step_pace_limit_s(const struct step_pace *pace);

#endif
