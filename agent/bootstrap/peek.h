/* peek.h - what is on a disk that is not mounted
 *
 * A child mounts it read-only in a mount namespace of its own, without replaying its journal, and
 * ends: nothing is written, and nothing is left mounted however it ends.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PEEK_H
#define MUSTER_AGENT_PEEK_H

#include "bootstrap/disks.h"

/* Has the disk the file marker, and in it text (NULL: anything)? 1; 0 with err: no, and why; -1
 * with err: it cannot be mounted, or not by this user. */
int peek_marker(const char *root, const struct disk *disk, const char *marker, const char *text,
                struct error *err);
/* The same for a disk that is mounted at place. */
int peek_mounted(const char *root, const char *place, const char *marker, const char *text,
                 struct error *err);

#endif
