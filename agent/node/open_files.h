/* open_files.h - the names of the files that a process has open
 *
 * Only names are read: opening the files themselves could hang on a dead file server. For
 * a process that we may not look into, the list is empty.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_OPEN_FILES_H
#define MUSTER_AGENT_OPEN_FILES_H

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct open_files {
    DIR *folder; /* NULL: nothing to read */
    char name[PATH_MAX];
};

/* All of them, in no order: "/dev/nvidia0", "socket:[4711]" ...
 *
 *     for (open_files_begin(&files, pid); open_files_next(&files);)
 *         look at files.name;
 *     open_files_end(&files);
 */
void open_files_begin(struct open_files *files, pid_t pid);
bool open_files_next(struct open_files *files);
void open_files_end(struct open_files *files);

/* True if it has the socket with that inode open. */
bool open_files_socket(pid_t pid, unsigned long inode);

#endif
