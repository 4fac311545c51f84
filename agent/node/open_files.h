/* open_files.h - the names of the files that a process has open
 *
 * This reads only names: opening the files could hang on a dead file server. If we may not
 * examine the process, the list is empty.
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

/* Iterates over all of them, in no order: "/dev/nvidia0", "socket:[4711]" ...
 *
 *     for (open_files_begin(&files, pid); open_files_next(&files);)
 *         look at files.name;
 *     open_files_end(&files); */
void open_files_begin(struct open_files *files, pid_t pid);
bool open_files_next(struct open_files *files);
void open_files_end(struct open_files *files);

/* True if the process has the socket with that inode open. */
bool open_files_socket(pid_t pid, unsigned long inode);

#endif
