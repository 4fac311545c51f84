/* partials.c - see partials.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/partials.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fd.h"
#include "fnv.h"
#include "xalloc.h"

#define NOTES_MAX 100000

static char    *note_of(int dir_fd, const char *name, char path[PATH_MAX]);
static char    *folder(void);
static uint64_t mix(const char *text);
static bool     is_left(const char *path);

char *partials_note(int dir_fd, const char *name)
{
    char  path[PATH_MAX];
    char *note = note_of(dir_fd, name, path), *end;
    int   fd = note == NULL ? -1 : open(note, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (note != NULL && fd < 0 && errno == ENOENT) {
        for (end = strchr(note + 1, '/'); end != NULL; end = strchr(end + 1, '/')) {
            *end = '\0';
            mkdir(note, 0700);
            *end = '/';
        }
        fd = open(note, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    if (fd >= 0) {
        fd_write_all(fd, path, strlen(path));
        close(fd);
    }
    return note;
}

void partials_forget(char *note)
{
    if (note != NULL)
        unlink(note);
    free(note);
}

/* Returns the path of the note, which the caller frees, and in path the file's. NULL: the path
 * is unknown or too long, or there is no home. */
static char *note_of(int dir_fd, const char *name, char path[PATH_MAX])
{
    char    link[64], *where = folder(), *note;
    ssize_t size;
    int     rest;

    snprintf(link, sizeof link, "/proc/self/fd/%d", dir_fd);
    size = readlink(link, path, PATH_MAX - 1);
    rest = size > 0 ? snprintf(path + size, PATH_MAX - (size_t)size, "/%s", name) : -1;
    if (where == NULL || rest < 0 || size + rest >= PATH_MAX) {
        free(where);
        return NULL;
    }
    note = xasprintf("%s/%016llx", where, (unsigned long long)mix(path));
    free(where);
    return note;
}

/* Returns the directory of the notes; the caller frees it. NULL: there is no home. */
static char *folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (cache != NULL && cache[0] == '/')
        return xasprintf("%s/muster/partial", cache);
    return home != NULL && home[0] == '/' ? xasprintf("%s/.cache/muster/partial", home) : NULL;
}

/* Two paths that collide share a note, and muster clean misses one of them. */
static uint64_t mix(const char *text)
{
    return fnv_add(FNV_START, text, strlen(text));
}

void partials_find(bool (*found)(const char *path, void *arg), void *arg)
{
    char          *where = folder(), *note, path[PATH_MAX];
    DIR           *dir = where != NULL ? opendir(where) : NULL;
    struct dirent *entry;
    int            looked = 0;

    while (dir != NULL && looked++ < NOTES_MAX && (entry = readdir(dir)) != NULL) {
        note = xasprintf("%s/%s", where, entry->d_name);
        if (entry->d_name[0] != '.' && fd_read_file(note, path, sizeof path) > 0 &&
            (access(path, F_OK) < 0 || (is_left(path) && found(path, arg))))
            unlink(note);
        free(note);
    }
    if (dir != NULL)
        closedir(dir);
    free(where);
}

/* Does path have a name of ours, and does no agent have it open? */
static bool is_left(const char *path)
{
    const char *name = strrchr(path, '/');
    struct stat about;
    int         fd;
    bool        is_free;

    if (name == NULL || strncmp(name, "/.muster-", 9) != 0 || lstat(path, &about) < 0 ||
        !S_ISREG(about.st_mode) || about.st_uid != geteuid())
        return false;
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    is_free = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0;
    if (fd >= 0)
        close(fd);
    return is_free;
}
