/* file_list.c - see file_list.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "data/file_list.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int read_directory(struct strlist *files, const char *path, struct error *err);

int file_list_read(struct strlist *files, const char *path, struct error *err)
{
    struct stat is;

    *files = (struct strlist){ 0 };
    if (stat(path, &is) < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    if (S_ISDIR(is.st_mode))
        return read_directory(files, path, err);
    strlist_add(files, path);
    return 0;
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int read_directory(struct strlist *files, const char *path, struct error *err)
{
    struct dirent **entries;
    char            inside[PATH_MAX];
    int             i, count = scandir(path, &entries, is_shown, by_name);

    if (count < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    for (i = 0; i < count; i++) {
        snprintf(inside, sizeof inside, "%s/%s", path, entries[i]->d_name);
        if (i < FILE_LIST_MAX)
            strlist_add(files, inside);
        free(entries[i]);
    }
    free(entries);
    return count > FILE_LIST_MAX ? err_set(err, "%s: more than %d files", path, FILE_LIST_MAX) : 0;
}

bool file_is_json(const char *path)
{
    return file_ends_in(path, ".json") || file_ends_in(path, ".jsonl") ||
           file_ends_in(path, ".ndjson");
}

bool file_ends_in(const char *path, const char *suffix)
{
    const size_t length = strlen(path), end = strlen(suffix);

    return length >= end && strcmp(path + length - end, suffix) == 0;
}
