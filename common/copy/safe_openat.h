/* safe_openat.h - open directories below a given one, and never anywhere else
 *
 * If the kernel has openat2(), it resolves the path and refuses each symbolic link. Otherwise
 * (before Linux 5.6, or forbidden in a container) the path is walked name by name, with the
 * same result.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SAFE_OPENAT_H
#define MUSTER_AGENT_SAFE_OPENAT_H

#include <sys/stat.h>

/* A path in two parts: an O_PATH descriptor of the directory, and the name in it, which
 * points into the path. */
struct safe_place {
    int         dir_fd;
    const char *name;
};

/* From now on behaves as if the kernel had no openat2(). */
void safe_walk_always(void);

/* Opens the directory of path below root; path must obey the rules of entry_path_fault().
 * Returns 0, and the caller closes dir_fd; or -1 with errno: ELOOP for a symbolic link on the
 * way. */
int safe_find(int root, const char *path, struct safe_place *place);

/* Looks at place. Returns 1 and *now for a file or a symbolic link; 0 if the name is free; -1
 * with errno if place must not be replaced: EISDIR for a directory, EEXIST for a device, pipe
 * or socket. */
int safe_look(const struct safe_place *place, struct stat *now);

/* A new file is made under a temporary name in the same directory, and then safe_replace()
 * moves it to place: 0, or -1 as above. O_EXCL ensures that no other process has made that name
 * before us, by accident or on purpose. */
#define SAFE_TEMPORARY_BYTES 32
void safe_temporary(char name[SAFE_TEMPORARY_BYTES]);
int  safe_replace(const struct safe_place *place, const char *temporary);

#endif
