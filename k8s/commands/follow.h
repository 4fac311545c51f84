/* follow.h - a job from its submission to its end, seen from this terminal
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FOLLOW_H
#define MUSTER_FOLLOW_H

#include "commands/place.h"

/* Create what is missing. 0, or an exit status after a message. */
int follow_create(const struct place *place, const struct job *job, struct observed *observed);

/* Print the launcher's log until the job has ended, clean up, and return the run's exit status.
 * Ctrl-C leaves the job alone and returns 130; a second one within FOLLOW_AGAIN_S deletes it. */
#define FOLLOW_AGAIN_S 3
int follow_wait(const struct place *place, const struct job *job, struct observed *observed);

#endif
