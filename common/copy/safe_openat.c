/* safe_openat.c - see safe_openat.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/safe_openat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "entry.h"

#define TEMPORARY_POOL 32 /* a signal does not shorten a getrandom(2) of up to 256 bytes */
#define DIR_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)

/* Does the kernel have openat2()? -1: not known yet */
static int  kernel_can = -1;

static int  open_dir(int root, const char *path);
static bool ask_kernel(void);
static int  walk(int root, const char *path);
static int  step(int dir, const char *name);

int safe_find(int root, const char *path, struct safe_place *place)
{
    const char *slash = strrchr(path, '/');
    char        dir[ENTRY_PATH_MAX + 1] = ".";

    if (slash != NULL) {
        memcpy(dir, path, (size_t)(slash - path));
        dir[slash - path] = '\0';
    }
    place->name = slash != NULL ? slash + 1 : path;
    place->dir_fd = open_dir(root, dir);
    return place->dir_fd < 0 ? -1 : 0;
}

static int open_dir(int root, const char *path)
{
    struct open_how how = {
        .flags = DIR_FLAGS,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };

    return ask_kernel() ? (int)syscall(SYS_openat2, root, path, &how, sizeof how)
                        : walk(root, path);
}

/* Some containers answer EPERM to system calls that they do not know. */
static bool ask_kernel(void)
{
    struct open_how how = { .flags = DIR_FLAGS, .resolve = RESOLVE_NO_SYMLINKS };
    int             fd;

    if (kernel_can < 0) {
        fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how);
        kernel_can = fd >= 0;
        if (fd >= 0)
            close(fd);
    }
    return kernel_can;
}

void safe_walk_always(void)
{
    kernel_can = 0;
}

static int walk(int root, const char *path)
{
    char   name[ENTRY_NAME_MAX + 1];
    size_t size;
    int    dir = openat(root, ".", DIR_FLAGS), next, error;

    if (strcmp(path, ".") == 0)
        return dir;
    for (; dir >= 0 && *path != '\0'; path += size + (path[size] == '/')) {
        size = strcspn(path, "/");
        memcpy(name, path, size);
        name[size] = '\0';
        next = step(dir, name);
        error = errno;
        close(dir);
        errno = error;
        dir = next;
    }
    return dir;
}

/* Opens one name. With O_DIRECTORY a symbolic link fails as "not a directory". */
static int step(int dir, const char *name)
{
    struct stat what;
    int         fd = openat(dir, name, DIR_FLAGS | O_NOFOLLOW);

    if (fd < 0 && errno == ENOTDIR)
        errno = fstatat(dir, name, &what, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(what.st_mode)
                    ? ELOOP : ENOTDIR;
    return fd;
}

int safe_look(const struct safe_place *place, struct stat *now)
{
    if (fstatat(place->dir_fd, place->name, now, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -1;
    if (S_ISREG(now->st_mode) || S_ISLNK(now->st_mode))
        return 1;
    errno = S_ISDIR(now->st_mode) ? EISDIR : EEXIST;
    return -1;
}

/* Gets random numbers for many names at once: a tree may have thousands of small files. */
void safe_temporary(char name[SAFE_TEMPORARY_BYTES])
{
    static uint64_t pool[TEMPORARY_POOL];
    static size_t   left;
    uint64_t        noise;

    if (left == 0 && getrandom(pool, sizeof pool, 0) == sizeof pool)
        left = TEMPORARY_POOL;
    noise = left > 0 ? pool[--left] : (uint64_t)getpid() << 32;
    snprintf(name, SAFE_TEMPORARY_BYTES, ".muster-%016llx", (unsigned long long)noise);
}

int safe_replace(const struct safe_place *place, const char *temporary)
{
    struct stat now;

    return safe_look(place, &now) < 0
               ? -1 : renameat(place->dir_fd, temporary, place->dir_fd, place->name);
}
