/* scratch.h - a directory for files that must not outlive the agent, in memory where possible
 *
 * Only its user can enter it. The agent holds a lock on it, so that `muster clean` can tell the
 * directory of an agent that was killed from that of one which lives.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SCRATCH_H
#define MUSTER_AGENT_SCRATCH_H

#include <stdbool.h>

#include "err.h"

struct scratch {
    char path[64];
    int  fd; /* has the lock; -1: there is no directory */
};

/* -1 with err. */
int  scratch_make(struct scratch *scratch, struct error *err);
/* Removes it with all that is in it. */
void scratch_remove(struct scratch *scratch);

/* Calls found for each directory of this user whose agent is gone. */
void scratch_find_stale(void (*found)(const char *path, void *arg), void *arg);
/* Removes such a directory, and all that is in it. False: something is still there. */
bool scratch_clear(const char *path);

#endif
