/* leave.h - watches an elastic job's hostfile, and lets workers exit that are no longer in it
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_INIT_LEAVE_H
#define MUSTER_INIT_LEAVE_H

#include <stdbool.h>

/* The last contents of a hostfile; start from { .path = ... }. */
struct leave {
    const char *path;
    char       *text; /* NULL: not read yet */
};

/* Reads the hostfile. If hosts have vanished from it, starts a child that tells their
 * muster-init to exit when the launcher's muster has released them. The caller need not wait
 * for the child. */
void leave_step(struct leave *leave);
void leave_clear(struct leave *leave);

/* Returns hosts in before but not in now, separated by commas; caller frees. "": none. */
char *leave_gone(const char *before, const char *now);

#endif
