/* bcast_file.c - see bcast_file.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/bcast_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame.h"
#include "copy/hole.h"
#include "copy/partials.h"

/* A disk may need long to write its data. Let it write while more data arrives, so that we
 * never wait for more than this much and the launcher does not declare us dead. */
#define WRITE_BEHIND (8u << 20)
#define HOLE_BYTES   4096u /* zeros of at least this size need no room on the disk */

static void        name_to_keep(struct bcast_file *file);
static void        open_old(struct bcast_file *file);
static bool        open_kept(struct bcast_file *file);
static bool        is_ours(const struct bcast_file *file);
static bool        is_hole(size_t size, const unsigned char *hash);
static bool        same_hash(int fd, uint64_t at, size_t size, const unsigned char *hash,
                             unsigned char *room);
static bool        read_all(int fd, void *bytes, size_t size, uint64_t at);
static bool        is_zeros(const unsigned char *bytes, size_t size);
static bool        write_parts(struct bcast_file *file, const unsigned char *bytes, size_t size,
                               uint64_t at);
static bool        write_all(int fd, const unsigned char *bytes, size_t size, uint64_t at);
static int         write_behind(struct bcast_file *file);
static bool        is_done_by_another(const struct bcast_file *file);
static const char *give_up(struct bcast_file *file, const char *what);
static void        close_all(struct bcast_file *file);

const char *bcast_file_begin(struct bcast_file *file, const struct safe_place *place,
                             const struct entry *entry, bool with_old)
{
    *file = (struct bcast_file){ .dir_fd = place->dir_fd, .fd = -1, .old_fd = -1,
                                 .is_fresh = true, .size = entry->size,
                                 .mode = entry->mode & 0777, .mtime = entry->mtime };
    snprintf(file->name, sizeof file->name, "%s", place->name);
    if (with_old)
        open_old(file);
    if (entry->size <= CHUNK_BYTES || !open_kept(file)) {
        safe_temporary(file->temporary);
        file->fd = openat(file->dir_fd, file->temporary,
                          O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
    if (file->fd < 0)
        return give_up(file, "create");
    return entry->size > CHUNK_BYTES && ftruncate(file->fd, (off_t)file->size) < 0
               ? give_up(file, "write") : NULL;
}

static void open_old(struct bcast_file *file)
{
    struct stat about;

    file->old_fd = openat(file->dir_fd, file->name,
                          O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file->old_fd >= 0 && (fstat(file->old_fd, &about) < 0 || !S_ISREG(about.st_mode))) {
        close(file->old_fd);
        file->old_fd = -1;
    }
}

/* Opens a partial file of an earlier bcast. The file of this name may belong to another user,
 * or a second bcast may be writing it. */
static bool open_kept(struct bcast_file *file)
{
    const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

    name_to_keep(file);
    file->fd = openat(file->dir_fd, file->temporary, flags | O_CREAT | O_EXCL, 0600);
    file->is_fresh = file->fd >= 0;
    if (file->fd < 0 && errno == EEXIST)
        file->fd = openat(file->dir_fd, file->temporary, flags);
    if (file->fd >= 0 && flock(file->fd, LOCK_EX | LOCK_NB) == 0 && is_ours(file)) {
        file->may_stay = true;
        file->note = partials_note(file->dir_fd, file->temporary);
        return true;
    }
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    file->is_fresh = true;
    return false;
}

static void name_to_keep(struct bcast_file *file)
{
    unsigned char what[20 + ENTRY_NAME_MAX + 1], hash[CHUNK_HASH_BYTES];
    size_t        length = strlen(file->name);

    put_u64(what, file->size);
    put_u64(what + 8, (uint64_t)file->mtime.tv_sec);
    put_u32(what + 16, (uint32_t)file->mtime.tv_nsec);
    memcpy(what + 20, file->name, length);
    chunk_hash(what, 20 + length, hash);
    snprintf(file->temporary, sizeof file->temporary, ".muster-%08x%08x", get_u32(hash),
             get_u32(hash + 4));
}

/* Is it our own file, which still has this name and no other? */
static bool is_ours(const struct bcast_file *file)
{
    struct stat open, named;

    return fstat(file->fd, &open) == 0 &&
           fstatat(file->dir_fd, file->temporary, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino &&
           S_ISREG(open.st_mode) && open.st_uid == geteuid() && open.st_nlink == 1 &&
           (open.st_mode & 0077) == 0;
}

bool bcast_file_has(struct bcast_file *file, uint32_t index, const unsigned char *hash,
                    unsigned char *room)
{
    uint64_t at = (uint64_t)index * CHUNK_BYTES;
    size_t   size = chunk_size(file->size, index);

    if (file->is_fresh ? is_hole(size, hash) : same_hash(file->fd, at, size, hash, room))
        return true;
    return file->old_fd >= 0 && same_hash(file->old_fd, at, size, hash, room) &&
           write_parts(file, room, size, at);
}

/* Is it a whole chunk of zeros? */
static bool is_hole(size_t size, const unsigned char *hash)
{
    return size == CHUNK_BYTES && memcmp(hash, hole_hash(), CHUNK_HASH_BYTES) == 0;
}

static bool same_hash(int fd, uint64_t at, size_t size, const unsigned char *hash,
                      unsigned char *room)
{
    unsigned char found[CHUNK_HASH_BYTES];

    if (size == CHUNK_BYTES && hole_is_at(fd, at, size)) {
        memset(room, 0, size);
        return is_hole(size, hash);
    }
    if (!read_all(fd, room, size, at))
        return false;
    chunk_hash(room, size, found);
    return memcmp(found, hash, sizeof found) == 0;
}

static bool read_all(int fd, void *bytes, size_t size, uint64_t at)
{
    char   *to = bytes;
    ssize_t got;

    for (; size > 0; size -= (size_t)got, at += (uint64_t)got, to += got)
        if ((got = pread(fd, to, size, (off_t)at)) <= 0)
            return false;
    return true;
}

const char *bcast_file_write(struct bcast_file *file, uint32_t index, const void *bytes)
{
    size_t size = chunk_size(file->size, index);

    if (!write_parts(file, bytes, size, (uint64_t)index * CHUNK_BYTES))
        return give_up(file, "write");
    file->unsynced += size;
    if (file->unsynced >= WRITE_BEHIND && write_behind(file) < 0)
        return give_up(file, "write");
    return NULL;
}

/* Writes all bytes except zeros that a fresh file has anyway. A file of one chunk gets its size
 * by being written, unless it ends in zeros. */
static bool write_parts(struct bcast_file *file, const unsigned char *bytes, size_t size,
                        uint64_t at)
{
    size_t from, to, next, written = 0;

    for (from = 0; from < size; from = next) {
        for (to = from; to < size; to = next) {
            next = to + HOLE_BYTES < size ? to + HOLE_BYTES : size;
            if (file->is_fresh && is_zeros(bytes + to, next - to))
                break;
        }
        if (to > from && !write_all(file->fd, bytes + from, to - from, at + from))
            return false;
        written = to > from ? to : written;
        next = to + HOLE_BYTES < size ? to + HOLE_BYTES : size;
    }
    return file->size > CHUNK_BYTES || written == size ||
           ftruncate(file->fd, (off_t)file->size) == 0;
}

static bool is_zeros(const unsigned char *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static bool write_all(int fd, const unsigned char *bytes, size_t size, uint64_t at)
{
    ssize_t done;

    for (; size > 0; size -= (size_t)done, at += (uint64_t)done, bytes += done)
        if ((done = pwrite(fd, bytes, size, (off_t)at)) < 0)
            return false;
    return true;
}

/* Waits for the writes that were started last time, and starts the rest. The kernel reports an
 * error only once, so it must not get lost here. A file system that does not support this is no
 * error. */
static int write_behind(struct bcast_file *file)
{
    file->unsynced = 0;
    if (sync_file_range(file->fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE) < 0)
        return errno == EINVAL || errno == ENOSYS || errno == ESPIPE ? 0 : -1;
    return 0;
}

bool bcast_file_read(const struct bcast_file *file, uint32_t index, void *bytes)
{
    return read_all(file->fd, bytes, chunk_size(file->size, index), (uint64_t)index * CHUNK_BYTES);
}

/* Sets the mode last, because it may forbid us to write. Errors of the disk come later. */
const char *bcast_file_complete(struct bcast_file *file)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, file->mtime };

    if (file->old_fd >= 0)
        close(file->old_fd);
    file->old_fd = -1;
    if (futimens(file->fd, times) < 0 || fchmod(file->fd, file->mode) < 0)
        return give_up(file, "set time and mode");
    sync_file_range(file->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return NULL;
}

const char *bcast_file_finish(struct bcast_file *file)
{
    const struct safe_place place = { .dir_fd = file->dir_fd, .name = file->name };

    if (fsync(file->fd) < 0)
        return give_up(file, "write");
    if (safe_replace(&place, file->temporary) < 0 && !is_done_by_another(file))
        return give_up(file, "replace");
    partials_forget(file->note);
    file->note = NULL;
    close_all(file);
    return NULL;
}

/* Has another node given the file its name? If nodes share a file system on which locks do not
 * work, they write the same partial file, with the same contents, and the first of them renames
 * it. */
static bool is_done_by_another(const struct bcast_file *file)
{
    struct stat open, named;

    return errno == ENOENT && file->may_stay && fstat(file->fd, &open) == 0 &&
           fstatat(file->dir_fd, file->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
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
        unlinkat(file->dir_fd, file->temporary, 0);
        partials_forget(file->note);
        file->note = NULL;
    }
    close_all(file);
}

void bcast_file_keep(struct bcast_file *file)
{
    struct stat about;

    if (!file->may_stay || fstat(file->fd, &about) < 0 || about.st_blocks == 0)
        bcast_file_drop(file);
    close_all(file);
}

static void close_all(struct bcast_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->old_fd >= 0)
        close(file->old_fd);
    if (file->dir_fd >= 0)
        close(file->dir_fd);
    free(file->note);
    file->note = NULL;
    file->fd = file->old_fd = file->dir_fd = -1;
}
