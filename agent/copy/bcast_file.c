/* bcast_file.c - see bcast_file.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/bcast_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fd.h"

/* A disk may take long to write what it was given. Make it write while more comes in, so
 * that we never wait for more than this much and are not taken for dead. */
#define WRITE_BEHIND (8u << 20)

static const char *give_up(struct bcast_file *file, const char *what);
static int         write_behind(struct bcast_file *file);

void bcast_file_init(struct bcast_file *file)
{
    *file = (struct bcast_file){ .dir_fd = -1, .fd = -1 };
}

bool bcast_file_is_open(const struct bcast_file *file)
{
    return file->fd >= 0;
}

const char *bcast_file_begin(struct bcast_file *file, const struct safe_place *place,
                             const struct entry *entry)
{
    *file = (struct bcast_file){ .dir_fd = place->dir_fd, .mode = entry->mode & 0777,
                               .mtime = entry->mtime };
    snprintf(file->name, sizeof file->name, "%s", place->name);
    safe_temporary(file->temporary);
    file->fd = openat(file->dir_fd, file->temporary,
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return file->fd < 0 ? give_up(file, "create") : NULL;
}

const char *bcast_file_write(struct bcast_file *file, const void *bytes, size_t size)
{
    if (fd_write_all(file->fd, bytes, size) < size)
        return give_up(file, "write");
    file->written += size;
    if (file->written - file->begun >= WRITE_BEHIND && write_behind(file) < 0)
        return give_up(file, "write");
    return NULL;
}

/* Wait for the part begun the last time, then begin with the rest. An error is reported only
 * once, so it must not get lost here. A file system that cannot do this is no error. */
static int write_behind(struct bcast_file *file)
{
    const unsigned wait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                          SYNC_FILE_RANGE_WAIT_AFTER;
    off64_t begun = (off64_t)file->begun, more = (off64_t)(file->written - file->begun);

    file->begun = file->written;
    if ((begun > 0 && sync_file_range(file->fd, 0, begun, wait) < 0) ||
        sync_file_range(file->fd, begun, more, SYNC_FILE_RANGE_WRITE) < 0)
        return errno == EINVAL || errno == ENOSYS ? 0 : -1;
    return 0;
}

/* The mode is set last: it may forbid us to write. */
const char *bcast_file_finish(struct bcast_file *file)
{
    const struct timespec   times[2] = { { .tv_nsec = UTIME_OMIT }, file->mtime };
    const struct safe_place place = { .dir_fd = file->dir_fd, .name = file->name };

    if (futimens(file->fd, times) < 0 || fchmod(file->fd, file->mode) < 0)
        return give_up(file, "set time and mode");
    if (fsync(file->fd) < 0)
        return give_up(file, "write");
    if (safe_replace(&place, file->temporary) < 0)
        return give_up(file, "replace");
    file->temporary[0] = '\0';
    bcast_file_drop(file);
    return NULL;
}

static const char *give_up(struct bcast_file *file, const char *what)
{
    int error = errno;

    bcast_file_drop(file);
    errno = error;
    return what;
}

void bcast_file_drop(struct bcast_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
        if (file->temporary[0] != '\0')
            unlinkat(file->dir_fd, file->temporary, 0);
    }
    if (file->dir_fd >= 0)
        close(file->dir_fd);
    bcast_file_init(file);
}
