/* partials.h - files that a cut-off muster bcast may have left on this node
 *
 * The next bcast of the same file continues with such a file. If none comes, muster clean finds it
 * here: for each there is a note in ~/.cache/muster/partial, which has its path. A note is made
 * before the file gets its first byte and removed after the file, so none is forgotten.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PARTIALS_H
#define MUSTER_AGENT_PARTIALS_H

#include <stdbool.h>

/* Note the file `name` in an open directory. Returns the note, for partials_forget(), which frees
 * it; NULL if that cannot be noted, which is no reason to stop. */
char *partials_note(int dir_fd, const char *name);
void  partials_forget(char *note); /* the file is gone, or has another name */

/* Call found for each path that is still a file of ours and that nobody is writing. It returns
 * true if the file is no longer there. */
void partials_find(bool (*found)(const char *path, void *arg), void *arg);

#endif
