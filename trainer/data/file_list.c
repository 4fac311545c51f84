/* file_list.c - see file_list.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "data/file_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "xalloc.h"

static int check_name(const char *path, struct error *err);
static int read_directory(struct strlist *files, const char *path, struct error *err);

int file_list_read(struct strlist *files, const char *path, struct error *err)
{
    struct stat is;

    *files = (struct strlist){ 0 };
    if (stat(path, &is) < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    if (S_ISDIR(is.st_mode))
        return read_directory(files, path, err);
    if (check_name(path, err) < 0)
        return -1;
    strlist_add(files, path);
    return 0;
}

static int check_name(const char *path, struct error *err)
{
    static const char *const packed[] = { ".gz", ".zst", ".xz", ".bz2", ".zip", ".tar",
                                          ".parquet", ".arrow" };
    size_t i;

    for (i = 0; i < sizeof packed / sizeof packed[0]; i++)
        if (file_ends_in(path, packed[i]))
            return err_set(err, "%s: %s files are not supported: make text or JSON lines of it "
                                "(.jsonl)", path, packed[i]);
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
    char           *inside;
    int             i, rc = 0, count = scandir(path, &entries, is_shown, by_name);

    if (count < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    if (count == 0)
        rc = err_set(err, "%s: no files", path);
    if (count > FILE_LIST_MAX)
        rc = err_set(err, "%s: more than %d files", path, FILE_LIST_MAX);
    for (i = 0; i < count; i++) {
        inside = xasprintf("%s/%s", path, entries[i]->d_name);
        if (rc == 0 && (rc = check_name(inside, err)) == 0)
            strlist_add(files, inside);
        free(inside);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

bool file_is_json(const char *path)
{
    return file_ends_in(path, ".json") || file_ends_in(path, ".jsonl") ||
           file_ends_in(path, ".ndjson");
}

bool file_ends_in(const char *path, const char *suffix)
{
    const size_t length = strlen(path), end = strlen(suffix);

    return length >= end && strcasecmp(path + length - end, suffix) == 0;
}
