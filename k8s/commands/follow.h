/* follow.h - a job from its submission to its end, seen from this terminal
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FOLLOW_H
#define MUSTER_FOLLOW_H

#include "commands/place.h"

/* Carry out what the job asks for now: create what is missing, replace what is of another size,
 * remove the Pods of a paused job. Returns when nothing is left to do but to wait for the run: 0,
 * or an exit status after a message. */
#define FOLLOW_SETTLE_S (JOB_GRACE_S + 120)
int follow_settle(const struct place *place, struct job *job, struct observed *observed);

/* Print the launcher's log until the job has ended, clean up, and return the run's exit status.
 * Ctrl-C leaves the job alone and returns 130; a second one within FOLLOW_AGAIN_S deletes it.
 * tail: of the first launcher's log, print the last lines only; -1: all. */
#define FOLLOW_AGAIN_S 3
int follow_wait(const struct place *place, struct job *job, struct observed *observed,
                int64_t tail);

/* A line for each change of what the job does, until it has ended or is deleted; changes nothing.
 * Returns an exit status. */
int follow_watch(const struct place *place, struct job *job, struct observed *observed);

#endif
