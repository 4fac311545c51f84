/* open_files.c - see open_files.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/open_files.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void open_files_begin(struct open_files *files, pid_t pid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    files->folder = opendir(path);
}

bool open_files_next(struct open_files *files)
{
    struct dirent *entry;
    ssize_t        length;

    while (files->folder != NULL && (entry = readdir(files->folder)) != NULL) {
        length = readlinkat(dirfd(files->folder), entry->d_name, files->name,
                            sizeof files->name - 1);
        if (length <= 0)
            continue; /* "." and "..", or closed just now */
        files->name[length] = '\0';
        return true;
    }
    return false;
}

void open_files_end(struct open_files *files)
{
    if (files->folder != NULL)
        closedir(files->folder);
}

bool open_files_socket(pid_t pid, unsigned long inode)
{
    struct open_files files;
    char              want[64];
    bool              found = false;

    snprintf(want, sizeof want, "socket:[%lu]", inode);
    for (open_files_begin(&files, pid); !found && open_files_next(&files);)
        found = strcmp(files.name, want) == 0;
    open_files_end(&files);
    return found;
}
