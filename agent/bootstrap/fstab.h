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

/* Returns the text with this line (it ends with LF) for place. It replaces the lines that
 * others have written for place, and the one that muster wrote before, whatever its place was.
 * Caller frees. NULL with err. */
char *fstab_put(const char *text, const char *place, const char *line, struct error *err);
/* Does the text have a line for this place that is not muster's? */
bool fstab_has(const char *text, const char *place);

#endif
