/* swarm_file.c - see swarm_file.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "warm/swarm_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "xalloc.h"

struct swarm_file {
    int             fd; /* -1: not open */
    int             users;
    bool            is_refused; /* found changed, or not usable: permanent */
    bool            is_written;
    struct timespec ctime; /* of our last write */
};

static int  open_same(const struct swarm_file *file, const struct warm_file *about);
static bool is_same(const struct swarm_file *file, const struct warm_file *about, int fd);
static bool is_in_memory(int fd, off_t offset, size_t size);
static bool write_same(struct swarm_file *file, const struct warm_file *about, int fd,
                       const void *bytes, size_t size, off_t offset);

void swarm_files_begin(struct swarm_files *files, const struct warm_sums *sums)
{
    size_t i;

    *files = (struct swarm_files){ .sums = sums, .lock = PTHREAD_MUTEX_INITIALIZER };
    files->file = xcalloc(sums->files + 1, sizeof *files->file);
    for (i = 0; i < sums->files; i++)
        files->file[i] = (struct swarm_file){ .fd = -1, .ctime = sums->file[i].ctime };
    signal(SIGIO,
           SIG_IGN); /* the kernel sends it when a process waits for the lease */
}

void swarm_files_end(struct swarm_files *files)
{
    free(files->file);
    files->file = NULL;
}

int swarm_file_open(struct swarm_files *files, uint32_t number)
{
    struct swarm_file *file = &files->file[number];
    int                fd;

    pthread_mutex_lock(&files->lock);
    if (file->users == 0 && !file->is_refused)
        file->fd = open_same(file, &files->sums->file[number]);
    fd = file->fd;
    file->is_refused |= fd < 0;
    file->users += fd >= 0;
    pthread_mutex_unlock(&files->lock);
    return fd;
}

void swarm_file_close(struct swarm_files *files, uint32_t number, int fd)
{
    struct swarm_file *file = &files->file[number];

    pthread_mutex_lock(&files->lock);
    if (fd != file->fd) {
        close(fd);
    } else if (--file->users == 0) {
        close(fd);
        file->fd = -1;
    }
    pthread_mutex_unlock(&files->lock);
}

static int open_same(const struct swarm_file *file, const struct warm_file *about)
{
    int         fd = open(about->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat now;

    if (fd >= 0 && fstat(fd, &now) == 0 && warm_file_is_plain(fd, &now) &&
        is_same(file, about, fd)) {
        posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* other nodes read the rest for us */
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool is_same(const struct swarm_file *file, const struct warm_file *about, int fd)
{
    struct warm_file as_left = *about;
    struct stat      now;

    as_left.ctime = file->ctime;
    return fstat(fd, &now) == 0 && warm_file_is(&as_left, &now);
}

size_t swarm_file_whole(const struct warm_file *file, uint32_t index)
{
    size_t size = chunk_size((uint64_t)file->size, index);

    return size - size % SWARM_BLOCK;
}

bool swarm_file_put(struct swarm_files *files, const struct warm_chunk *chunk,
                    const void *bytes)
{
    const struct warm_file *about = &files->sums->file[chunk->file];
    struct swarm_file      *file = &files->file[chunk->file];
    size_t                  size = swarm_file_whole(about, chunk->index);
    off_t                   offset = (off_t)chunk->index * CHUNK_BYTES;
    int                     fd = swarm_file_open(files, chunk->file);
    bool                    is_there;

    if (fd < 0)
        return false;
    is_there = is_in_memory(fd, offset, size);
    if (!is_there && fcntl(fd, F_SETLEASE, F_WRLCK) == 0) {
        is_there = is_same(file, about, fd) && write_same(file, about, fd, bytes, size, offset);
        fcntl(fd, F_SETLEASE, F_UNLCK);
    }
    swarm_file_close(files, chunk->file, fd);
    return is_there;
}

static bool is_in_memory(int fd, off_t offset, size_t size)
{
    unsigned char resident[CHUNK_BYTES / 4096];
    size_t        page = (size_t)sysconf(_SC_PAGESIZE), i;
    void         *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, offset);
    bool          is = map != MAP_FAILED && page >= 4096 && mincore(map, size, resident) == 0;

    for (i = 0; is && i < size / page; i++)
        is = (resident[i] & 1) != 0;
    if (map != MAP_FAILED)
        munmap(map, size);
    return is;
}

/* If the new ctime is unknown, later checks fail. */
static bool write_same(struct swarm_file *file, const struct warm_file *about, int fd,
                       const void *bytes, size_t size, off_t offset)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, about->mtime };
    struct stat           now = { 0 };
    struct error          err;
    bool                  is_put = file_pwrite(fd, bytes, size, (uint64_t)offset, &err) == 0;

    file->is_written = true;
    if (futimens(fd, times) < 0 || fstat(fd, &now) < 0)
        is_put = false;
    file->ctime = now.st_ctim;
    return is_put;
}

int swarm_files_sync(struct swarm_files *files, struct error *err)
{
    size_t i;
    int    fd, rc = 0;

    for (i = 0; i < files->sums->files && rc == 0; i++) {
        if (!files->file[i].is_written)
            continue;
        fd = open(files->sums->file[i].path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd >= 0 && fsync(fd) < 0)
            rc = err_set(err, "%.400s: %s", files->sums->file[i].path, strerror(errno));
        if (fd >= 0)
            close(fd);
    }
    return rc;
}
