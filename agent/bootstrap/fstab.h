/* fstab.h - muster's lines in /etc/fstab
 *
 * They are in muster's block (block.h): one for the data disk, one for /dev/shm.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_FSTAB_H
#define MUSTER_AGENT_FSTAB_H

#include <stdbool.h>

#include "err.h"

#define FSTAB     "/etc/fstab"
#define FSTAB_SHM "/dev/shm"

/* The text with this line (it ends with LF) for place, instead of those that others have written
 * for it, and of the one that muster has written before, whatever its place was. Caller frees.
 * NULL with err. */
char *fstab_put(const char *text, const char *place, const char *line, struct error *err);
/* Have others written a line for this place? */
bool fstab_has(const char *text, const char *place);

#endif
