/* step_pace.h - how often a rank reports steps, and so for how long none is too long
 *
 * --hang-timeout=auto. A pure function of what was noted: it reads no clock. A trainer pauses for
 * evaluations, checkpoints and data: the limit is ten times the usual pause between two reports,
 * and twice the longest one so far, and five minutes at least.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STEP_PACE_H
#define MUSTER_STEP_PACE_H

#include <stdbool.h>
#include <stddef.h>

#define STEP_PACE_KEPT    64    /* of the last pauses between two reports */
#define STEP_PACE_NEEDED  3     /* so many make a pace */
#define STEP_PACE_LEAST_S 300.0 /* the first checkpoint or evaluation may be without output */
#define STEP_PACE_TIMES   10.0  /* the median pause */
#define STEP_PACE_PAUSES  2.0   /* the longest pause */

/* Starts as { 0 }. Only step_pace.c writes it. */
struct step_pace {
    double pause_s[STEP_PACE_KEPT]; /* the oldest is overwritten */
    size_t pauses;                  /* all that were noted */
    double longest_s;
    double last_s; /* of the last report; valid if has_last */
    bool   has_last;
};

/* The rank has reported a step. */
void step_pace_note(struct step_pace *pace, double now_s);
/* Notes a pause of which only the length is known. */
void step_pace_add(struct step_pace *pace, double pause_s);
/* The rank starts again, or another one is looked at: the time until its first step does not
 * count. */
void step_pace_again(struct step_pace *pace);

/* Returns the median of the last times between two reports, in seconds; negative: there were not
 * enough. */
double step_pace_median_s(const struct step_pace *pace);
/* Returns how long a run may report no step; negative: not known yet. */
double step_pace_limit_s(const struct step_pace *pace);

#endif
