/* step_reach.h - how far the steps of a world have come, in this generation and before it
 *
 * --max-no-progress. A pure function of what was noted. Numbers that go back while the ranks run,
 * as those of bars that begin again in each epoch, do not say how far a training is: then nothing
 * is known.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STEP_REACH_H
#define MUSTER_STEP_REACH_H

#include <stdbool.h>
#include <stdint.h>

/* Starts as step_reach_none. Only step_reach.c writes it. */
struct step_reach {
    int64_t before; /* the highest step of all earlier generations; -1: none */
    int64_t now;    /* of this one */
    bool    goes_back; /* the numbers of a rank have gone back */
};

extern const struct step_reach step_reach_none;

/* A rank has reported a step, after last; -1: without a number, or no step in this generation. */
void step_reach_note(struct step_reach *reach, int64_t step, int64_t last);
/* The ranks start again. */
void step_reach_again(struct step_reach *reach);

/* Does the world have steps whose numbers say how far it is? */
bool step_reach_is_known(const struct step_reach *reach);
/* Has this generation come further than all before? */
bool step_reach_is_new(const struct step_reach *reach);
/* Returns the highest step of all generations; -1: not known. */
int64_t step_reach_most(const struct step_reach *reach);

#endif
