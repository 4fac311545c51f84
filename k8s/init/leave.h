/* leave.h - the hostfile of an elastic job changes: workers that are not in it any more may end
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_INIT_LEAVE_H
#define MUSTER_INIT_LEAVE_H

#include <stdbool.h>

/* The hosts of a hostfile as they were last; starts as { .path = ... }. */
struct leave {
    const char *path;
    char       *text; /* NULL: not read yet */
};

/* Look at it. If hosts have gone, a child tells their muster-init to end when the launcher's muster
 * has let them go; nobody has to wait for it. */
void leave_step(struct leave *leave);
void leave_clear(struct leave *leave);

/* The hosts of before that are not in now, separated by commas; caller frees. "": none. */
char *leave_gone(const char *before, const char *now);

#endif
