/* peek.h - looks at a disk that is not mounted
 *
 * A child mounts the disk read-only in its own mount namespace, without journal recovery, and
 * exits: nothing is written, and nothing stays mounted however the child exits.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PEEK_H
#define MUSTER_AGENT_PEEK_H

#include "bootstrap/disks.h"

/* Does the disk have the file marker with text in it (NULL: any text)? 1; 0 with err: no, and
 * why; -1 with err: the disk cannot be mounted, or not by this user. */
int peek_marker(const char *root, const struct disk *disk, const char *marker, const char *text,
                struct error *err);
/* The same for a disk that is mounted at place. */
int peek_mounted(const char *root, const char *place, const char *marker, const char *text,
                 struct error *err);

#endif
