/* safe_openat.h - directories below another one, and never elsewhere
 *
 * The kernel resolves the path where it can (openat2), and refuses each symbolic link on
 * it. Where it cannot (before Linux 5.6, or forbidden by a container) the path is walked
 * name by name, which comes to the same.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SAFE_OPENAT_H
#define MUSTER_AGENT_SAFE_OPENAT_H

#include <sys/stat.h>

/* A path split in two: the name, which points into it, and an O_PATH descriptor of the
 * directory that has it. */
struct safe_place {
    int         dir_fd;
    const char *name;
};

/* Find the directory of path below root; path keeps the rules of entry_path_fault(). 0, and
 * dir_fd is the caller's to close; or -1 with errno: ELOOP for a symbolic link on the way. */
int safe_find(int root, const char *path, struct safe_place *place);

/* What is at place. 1: a file or a symbolic link, and *now; 0: nothing; -1 with errno when
 * it is something that nobody means to have replaced: EISDIR for a directory, EEXIST for a
 * device, pipe or socket. */
int safe_look(const struct safe_place *place, struct stat *now);

/* What is new is made under a name of its own, in the same directory, and then replaces what
 * is at place: 0, or -1 as above. Nobody can have made that name before us, by accident or
 * to trick us, as long as it is made with O_EXCL. */
#define SAFE_TEMPORARY_BYTES 32
void safe_temporary(char name[SAFE_TEMPORARY_BYTES]);
int  safe_replace(const struct safe_place *place, const char *temporary);

#endif
