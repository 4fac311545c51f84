/* scratch.c - see scratch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xalloc.h"

#define NAME  "muster-scratch-"
#define DEPTH 16 /* descriptors that nftw() may hold */

static const char *const places[] = { "/dev/shm", "/tmp" };

static bool is_stale(const char *path);
static int  remove_one(const char *path, const struct stat *about, int type, struct FTW *at);

int scratch_make(struct scratch *scratch, struct error *err)
{
    size_t i;

    for (i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(scratch->path, sizeof scratch->path, "%s/" NAME "XXXXXX", places[i]);
        if (mkdtemp(scratch->path) == NULL)
            continue;
        scratch->fd = open(scratch->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (scratch->fd >= 0 && flock(scratch->fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        scratch_remove(scratch);
    }
    scratch->fd = -1;
    return err_set(err, "cannot make a directory in %s: %s", places[i - 1], strerror(errno));
}

void scratch_remove(struct scratch *scratch)
{
    if (scratch->path[0] != '\0')
        scratch_clear(scratch->path);
    if (scratch->fd >= 0)
        close(scratch->fd);
    *scratch = (struct scratch){ .fd = -1 };
}

void scratch_find_stale(void (*found)(const char *path, void *arg), void *arg)
{
    size_t         i;
    DIR           *dir;
    struct dirent *entry;
    char          *path;

    for (i = 0; i < sizeof places / sizeof *places; i++) {
        dir = opendir(places[i]);
        while (dir != NULL && (entry = readdir(dir)) != NULL) {
            if (strncmp(entry->d_name, NAME, strlen(NAME)) != 0)
                continue;
            path = xasprintf("%s/%s", places[i], entry->d_name);
            if (is_stale(path))
                found(path, arg);
            free(path);
        }
        if (dir != NULL)
            closedir(dir);
    }
}

/* Our lock is shared: other processes may be looking, too. */
static bool is_stale(const char *path)
{
    struct stat about;
    int         fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool        is = fd >= 0 && fstat(fd, &about) == 0 && about.st_uid == geteuid() &&
              flock(fd, LOCK_SH | LOCK_NB) == 0;

    if (fd >= 0)
        close(fd);
    return is;
}

bool scratch_clear(const char *path)
{
    nftw(path, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    return access(path, F_OK) < 0;
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *at)
{
    (void)about, (void)type, (void)at;
    remove(path);
    return 0;
}
