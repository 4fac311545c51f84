/* pushed.c - see pushed.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "journal/pushed.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entry.h"
#include "file.h"
#include "xalloc.h"

#define OURS "muster-" /* after a dot: the record, and files that muster bcast has not completed */

static int  by_path(const void *a, const void *b);
static bool is_same(const struct pushed_file *file, const char *full, const struct stat *about);
static bool is_of_others(const struct pushed *pushed, const char *directory, const FTSENT *found);

int pushed_parse(const void *bytes, size_t size, struct pushed *pushed, struct error *err)
{
    struct entry_reader reader = { .at = bytes, .left = size };
    struct entry        entry;
    const char         *below;
    size_t              room = 0;
    int                 rc;

    *pushed = (struct pushed){ 0 };
    while ((rc = entry_next(&reader, &entry, err)) > 0) {
        below = strchr(entry.path, '/');
        if (below == NULL || (entry.type != ENTRY_FILE && entry.type != ENTRY_LINK))
            continue;
        if (pushed->count == room) {
            room = room > 0 ? 2 * room : 64;
            pushed->item = xreallocarray(pushed->item, room, sizeof *pushed->item);
        }
        pushed->item[pushed->count++] = (struct pushed_file){
            .path = xstrdup(below + 1), .target = xstrdup(entry.target),
            .type = (char)entry.type, .size = entry.size, .mtime = entry.mtime,
        };
    }
    if (rc < 0)
        pushed_clear(pushed);
    else if (pushed->count > 0)
        qsort(pushed->item, pushed->count, sizeof *pushed->item, by_path);
    return rc;
}

int pushed_read(const char *directory, struct pushed *pushed, struct error *err)
{
    char  *path = xasprintf("%s/" PUSHED_RECORD, directory), *bytes = NULL;
    size_t size;
    int    rc = 0;

    *pushed = (struct pushed){ 0 };
    if (access(path, F_OK) == 0) {
        bytes = file_read_at_once(path, PUSHED_RECORD_MAX, &size, err);
        rc = bytes == NULL || pushed_parse(bytes, size, pushed, err) < 0 ? -1 : 1;
        if (bytes != NULL && rc < 0)
            err_set(err, "%s: not a list of muster bootstrap", path);
    }
    free(bytes);
    free(path);
    return rc;
}

void pushed_clear(struct pushed *pushed)
{
    size_t i;

    for (i = 0; i < pushed->count; i++) {
        free(pushed->item[i].path);
        free(pushed->item[i].target);
    }
    free(pushed->item);
    *pushed = (struct pushed){ 0 };
}

void pushed_put(const struct pushed_file *file, struct buffer *into)
{
    char        *path = xasprintf("./%s", file->path);
    struct entry entry = { .type = (enum entry_type)file->type, .size = file->size,
                           .mtime = file->mtime, .path = path, .target = file->target };

    path[0] = '_'; /* the name of the directory: any will do */
    into->size += entry_put((unsigned char *)buffer_reserve(into, ENTRY_BYTES_MAX), &entry);
    free(path);
}

static int by_path(const void *a, const void *b)
{
    const struct pushed_file *one = a, *other = b;

    return strcmp(one->path, other->path);
}

/* --- what is there ----------------------------------------------------------- */

bool pushed_matches(const struct pushed *pushed, const char *directory, const char *path,
                    bool *is_there)
{
    struct pushed_file  key = { .path = (char *)path };
    struct pushed_file *at = pushed->count > 0
                                 ? bsearch(&key, pushed->item, pushed->count,
                                           sizeof *pushed->item, by_path)
                                 : NULL;
    char               *full = xasprintf("%s/%s", directory, path);
    struct stat         about;
    bool                is = false;

    *is_there = lstat(full, &about) == 0;
    while (at != NULL && at > pushed->item && strcmp(at[-1].path, path) == 0)
        at--;
    for (; *is_there && !is && at != NULL && at < pushed->item + pushed->count &&
           strcmp(at->path, path) == 0;
         at++)
        is = is_same(at, full, &about);
    free(full);
    return is;
}

static bool is_same(const struct pushed_file *file, const char *full, const struct stat *about)
{
    char    target[PATH_MAX];
    ssize_t size;

    if (file->type == ENTRY_LINK) {
        size = S_ISLNK(about->st_mode) ? readlink(full, target, sizeof target) : -1;
        return size >= 0 && (size_t)size == strlen(file->target) &&
               memcmp(target, file->target, (size_t)size) == 0;
    }
    return S_ISREG(about->st_mode) && (uint64_t)about->st_size == file->size &&
           about->st_mtim.tv_sec == file->mtime.tv_sec &&
           about->st_mtim.tv_nsec == file->mtime.tv_nsec;
}

int pushed_check(const char *directory, struct error *err)
{
    char         *paths[] = { (char *)directory, NULL };
    struct pushed pushed;
    FTS          *walk;
    FTSENT       *found;
    int           rc = pushed_read(directory, &pushed, err);

    if (rc <= 0)
        return rc < 0 ? -1 : 1;
    rc = 0;
    walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    if (walk == NULL)
        rc = err_set(err, "%s: %s", directory, strerror(errno));
    while (rc == 0 && (found = fts_read(walk)) != NULL)
        if (is_of_others(&pushed, directory, found))
            rc = err_set(err, "%s has a file that muster has not copied, or that has changed "
                         "since: %s", directory, found->fts_path + strlen(directory) + 1);
    if (walk != NULL)
        fts_close(walk);
    pushed_clear(&pushed);
    return rc;
}

static bool is_of_others(const struct pushed *pushed, const char *directory, const FTSENT *found)
{
    bool is_there;

    if (found->fts_info == FTS_D || found->fts_info == FTS_DP || found->fts_level == 0)
        return false;
    if (strstr(found->fts_path, "/__pycache__/") != NULL ||
        (found->fts_name[0] == '.' && strncmp(found->fts_name + 1, OURS, strlen(OURS)) == 0))
        return false;
    return !pushed_matches(pushed, directory, found->fts_path + strlen(directory) + 1, &is_there);
}
