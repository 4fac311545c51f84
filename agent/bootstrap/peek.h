/* peek.h - looks at a disk that is not mounted
 *
 * A child mounts the disk read-only in its own mount namespace, without journal recovery, and
 * exits: nothing is written, and nothing stays mounted however the child exits.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PEEK_H
#define MUSTER_AGENT_PEEK_H

#include "bootstrap/disks.h"
#include "strlist.h"

/* Does the disk have the file marker with text in it? text NULL: a folder is a marker, too. 1; 0
 * with err: no, and why; -1 with err: the disk cannot be mounted, or not by this user. */
int peek_marker(const char *root, const struct disk *disk, const char *marker, const char *text,
                struct error *err);
/* The same for a disk that is mounted at place. */
int peek_mounted(const char *root, const char *place, const char *marker, const char *text,
                 struct error *err);

/* Adds what is in the root directory of the disk, sorted, to names, which the caller clears; the
 * name of a folder ends in "/". place: where it is mounted; NULL: nowhere. -1 with err: it cannot
 * be mounted or read; names is then empty. */
int peek_names(const char *root, const struct disk *disk, const char *place,
               struct strlist *names, struct error *err);

#endif
