/* follow.h - follows a job from its submission to its end on this terminal
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FOLLOW_H
#define MUSTER_FOLLOW_H

#include "commands/place.h"

/* Executes what the job asks for now: creates missing objects, replaces those for another
 * number of workers, removes the Pods of a paused job. Returns when only the run is left to
 * wait for: 0, or an exit status after a message. */
#define FOLLOW_SETTLE_S (JOB_GRACE_S + 120)
int follow_settle(const struct place *place, struct job *job, struct observed *observed);

/* Prints the launcher's log until the job has ended, cleans up, and returns the run's exit
 * status. Ctrl-C leaves the job alone and returns 130; a second one within FOLLOW_AGAIN_S
 * deletes it. tail: print only the last lines of the first launcher's log; -1: all. */
#define FOLLOW_AGAIN_S 3
int follow_wait(const struct place *place, struct job *job, struct observed *observed,
                int64_t tail);

/* Prints a line for each change of the job's state, until the job has ended or is deleted.
 * Changes nothing. Returns an exit status. */
int follow_watch(const struct place *place, struct job *job, struct observed *observed);

#endif
