/* partials.h - files that an interrupted muster bcast may have left on this node
 *
 * The next bcast of the same file continues with such a file. Without a next bcast, muster
 * clean finds the file by its note in ~/.cache/muster/partial, which contains its path. A note
 * is made before the file gets its first byte and removed after the file, so no file is
 * forgotten.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PARTIALS_H
#define MUSTER_AGENT_PARTIALS_H

#include <stdbool.h>

/* Notes the file `name` in an open directory. Returns the note, for partials_forget(), which
 * frees it; NULL if the file cannot be noted, which is no reason to stop. */
char *partials_note(int dir_fd, const char *name);
void  partials_forget(char *note); /* the file is gone, or has another name */

/* Calls found for each path that is still a file of ours and that no process is writing. found
 * returns true if the file no longer exists. */
void partials_find(bool (*found)(const char *path, void *arg), void *arg);

#endif
