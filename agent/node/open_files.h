/* open_files.h - what a process has open, by name
 *
 * Only names are read: to look at the files themselves could hang on a dead file
 * server. Of a process that is not ours to look into, nothing is seen.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_OPEN_FILES_H
#define MUSTER_AGENT_OPEN_FILES_H

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct open_files {
    DIR *folder; /* NULL: there is nothing to be seen */
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

/* Does it have the socket with that inode? */
bool open_files_socket(pid_t pid, unsigned long inode);

#endif
