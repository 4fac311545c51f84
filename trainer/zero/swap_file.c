/* swap_file.c - see swap_file.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/swap_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "thread.h"
#include "xalloc.h"

#define REQUESTS SWAP_REQUESTS_MAX

struct request {
    bool     is_write;
    char    *memory;
    uint64_t at;
    size_t   bytes, begun; /* begun: whole blocks that a thread has taken */
    size_t   blocks_left;
};

struct swap_file {
    struct swap_options options;
    int                 fd;
    uint64_t            bytes;
    pthread_t           thread[SWAP_DEPTH_MAX];
    int                 threads;
    pthread_mutex_t     mutex;
    pthread_cond_t      begun_one, done_one;

    /* The mutex protects all fields below. */
    struct request request[REQUESTS];
    uint64_t       issued, taken; /* taken: threads have taken all blocks of earlier requests */
    bool           is_leaving, has_failed;
    struct error   err; /* of the first failure */
};

struct block {
    struct request *request;
    bool            is_write;
    char           *memory;
    uint64_t        at;
    size_t          bytes;
};

static int      open_unnamed(const char *dir);
static int      open_named(const char *dir);
static int      reserve(struct swap_file *file, struct error *err);
static int      write_zeros(const struct swap_file *file);
static void     leave_cache(struct swap_file *file);
static int      start_threads(struct swap_file *file, struct error *err);
static void    *work(void *arg);
static bool     next_block(struct swap_file *file, struct block *block);
static int      move(const struct swap_file *file, const struct block *block, struct error *err);
static uint64_t begin(struct swap_file *file, struct request request);
static int      await(struct swap_file *file, const struct request *request);

/* ---- opening ---- */

struct swap_file *swap_file_open(const struct swap_options *options, uint64_t bytes,
                                 struct error *err)
{
    struct swap_file  *file = xcalloc(1, sizeof *file);
    pthread_condattr_t monotonic;

    file->options = *options;
    file->options.block = swap_aligned(options->block);
    file->bytes = bytes > 0 ? bytes : SWAP_ALIGN;
    pthread_mutex_init(&file->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&file->begun_one, &monotonic);
    pthread_cond_init(&file->done_one, &monotonic);
    pthread_condattr_destroy(&monotonic);
    file->fd = open_unnamed(options->dir);
    if (file->fd < 0)
        err_set(err, "%s: cannot create a file in %s: %s", options->what, options->dir,
                strerror(errno));
    else if (reserve(file, err) == 0 && start_threads(file, err) == 0)
        return file;
    swap_file_close(file);
    return NULL;
}

static int open_unnamed(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    /* Network file systems have no O_TMPFILE; old kernels read it as O_DIRECTORY. */
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
        fd = open_named(dir);
    return fd;
}

static int open_named(const char *dir)
{
    char *path = xasprintf("%s/muster-train.XXXXXX", dir);
    int   fd = mkostemp(path, O_CLOEXEC), number = errno;

    if (fd >= 0)
        unlink(path);
    free(path);
    errno = number;
    return fd;
}

static int reserve(struct swap_file *file, struct error *err)
{
    int number = 0;

    if (fallocate(file->fd, 0, 0, (off_t)file->bytes) < 0) {
        number = errno;
        if (number == EOPNOTSUPP)
            number = write_zeros(file);
    }
    if (number == 0) {
        leave_cache(file);
        return 0;
    }
    return err_set(err, "%s: no room for %.1f MiB in %s: %s", file->options.what,
                   (double)file->bytes / (1 << 20), file->options.dir, strerror(number));
}

static int write_zeros(const struct swap_file *file)
{
    static const char zeros[1 << 16];
    uint64_t          at;
    size_t            bytes;
    ssize_t           n;

    for (at = 0; at < file->bytes; at += (uint64_t)n) {
        bytes = file->bytes - at < sizeof zeros ? (size_t)(file->bytes - at) : sizeof zeros;
        n = pwrite(file->fd, zeros, bytes, (off_t)at);
        if (n <= 0)
            return n < 0 ? errno : EIO;
    }
    return 0;
}

/* Bypasses the page cache, because swapped data is not read again soon. Some file systems
 * accept O_DIRECT, but then fail to read, so try a read. */
static void leave_cache(struct swap_file *file)
{
    const int flags = fcntl(file->fd, F_GETFL);
    void     *memory;

    if (fcntl(file->fd, F_SETFL, flags | O_DIRECT) < 0)
        return;
    if (posix_memalign(&memory, SWAP_ALIGN, SWAP_ALIGN) != 0)
        xalloc_die();
    if (pread(file->fd, memory, SWAP_ALIGN, 0) != SWAP_ALIGN)
        (void)fcntl(file->fd, F_SETFL, flags);
    free(memory);
}

static int start_threads(struct swap_file *file, struct error *err)
{
    int rc = 0;

    while (file->threads < file->options.depth && file->threads < SWAP_DEPTH_MAX && rc == 0) {
        rc = thread_start(&file->thread[file->threads], work, file);
        file->threads += rc == 0;
    }
    return file->threads > 0 ? 0
                             : err_set(err, "%s: cannot start a thread for the disk: %s",
                                       file->options.what, strerror(rc));
}

void swap_file_close(struct swap_file *file)
{
    int i;

    if (file == NULL)
        return;
    pthread_mutex_lock(&file->mutex);
    file->is_leaving = true;
    pthread_cond_broadcast(&file->begun_one);
    pthread_mutex_unlock(&file->mutex);
    for (i = 0; i < file->threads; i++)
        pthread_join(file->thread[i], NULL);
    pthread_cond_destroy(&file->begun_one);
    pthread_cond_destroy(&file->done_one);
    pthread_mutex_destroy(&file->mutex);
    if (file->fd >= 0)
        close(file->fd);
    free(file);
}

/* ---- the threads ---- */

/* After a failure the threads read and write no more blocks. */
static void *work(void *arg)
{
    struct swap_file *file = arg;
    struct block      block;
    struct error      err;
    bool              is_pointless;
    int               rc;

    while (next_block(file, &block)) {
        pthread_mutex_lock(&file->mutex);
        is_pointless = file->has_failed;
        pthread_mutex_unlock(&file->mutex);
        rc = is_pointless ? 0 : move(file, &block, &err);
        pthread_mutex_lock(&file->mutex);
        if (rc < 0 && !file->has_failed) {
            file->has_failed = true;
            file->err = err;
        }
        if (--block.request->blocks_left == 0)
            pthread_cond_broadcast(&file->done_one);
        pthread_mutex_unlock(&file->mutex);
    }
    return NULL;
}

/* Returns false if there is no block and none will follow. */
static bool next_block(struct swap_file *file, struct block *block)
{
    struct request *request;
    bool            is_there;

    pthread_mutex_lock(&file->mutex);
    while (file->taken == file->issued && !file->is_leaving)
        pthread_cond_wait(&file->begun_one, &file->mutex);
    is_there = file->taken < file->issued;
    if (is_there) {
        request = &file->request[file->taken % REQUESTS];
        *block = (struct block){ .request = request, .is_write = request->is_write,
                                 .memory = request->memory + request->begun,
                                 .at = request->at + request->begun };
        block->bytes = request->bytes - request->begun;
        if (block->bytes > file->options.block)
            block->bytes = file->options.block;
        request->begun += block->bytes;
        file->taken += request->begun == request->bytes;
    }
    pthread_mutex_unlock(&file->mutex);
    return is_there;
}

static int move(const struct swap_file *file, const struct block *block, struct error *err)
{
    size_t  done;
    ssize_t n;

    for (done = 0; done < block->bytes; done += (size_t)n) {
        char       *memory = block->memory + done;
        const off_t at = (off_t)(block->at + done);

        n = block->is_write ? pwrite(file->fd, memory, block->bytes - done, at)
                            : pread(file->fd, memory, block->bytes - done, at);
        if (n > 0)
            continue;
        if (n < 0 && errno == EINTR) {
            n = 0;
            continue;
        }
        return err_set(err, "%s: %s %zu bytes at %lld of the file in %s: %s", file->options.what,
                       block->is_write ? "writing" : "reading", block->bytes - done,
                       (long long)at, file->options.dir,
                       n < 0 ? strerror(errno) : "the file ends there");
    }
    return 0;
}

/* ---- requests ---- */

uint64_t swap_file_read(struct swap_file *file, void *to, uint64_t at, size_t bytes)
{
    return begin(file, (struct request){ .memory = to, .at = at, .bytes = bytes });
}

uint64_t swap_file_write(struct swap_file *file, const void *from, uint64_t at, size_t bytes)
{
    return begin(file, (struct request){ .is_write = true, .memory = (char *)from, .at = at,
                                         .bytes = bytes });
}

/* The request's place in the ring is free when the previous request in this place is done. */
static uint64_t begin(struct swap_file *file, struct request request)
{
    const size_t block = file->options.block;
    uint64_t     ticket = 0;

    if (request.bytes == 0)
        return 0;
    request.blocks_left = (request.bytes + block - 1) / block;
    pthread_mutex_lock(&file->mutex);
    if (await(file, &file->request[file->issued % REQUESTS]) == 0) {
        file->request[file->issued % REQUESTS] = request;
        ticket = ++file->issued;
        pthread_cond_broadcast(&file->begun_one);
    }
    pthread_mutex_unlock(&file->mutex);
    return ticket;
}

/* Waits until the request is done. The caller holds the mutex. On a timeout, marks the file as
 * failed and returns -1. */
static int await(struct swap_file *file, const struct request *request)
{
    const struct swap_options *o = &file->options;
    const int64_t until_ns = clock_now_ns() + (int64_t)(o->timeout_s * (double)NS_PER_S);
    const struct timespec until = { until_ns / NS_PER_S, until_ns % NS_PER_S };
    int                   rc = 0;

    while (rc == 0 && request->blocks_left > 0)
        rc = pthread_cond_timedwait(&file->done_one, &file->mutex, &until);
    if (request->blocks_left == 0)
        return 0;
    if (!file->has_failed)
        err_set(&file->err, "%s: the disk of %s did not answer within %g s", o->what, o->dir,
                o->timeout_s);
    file->has_failed = true;
    return -1;
}

/* Tickets begin at 1. If a later request has taken the place in the ring, this one is done. */
int swap_file_wait(struct swap_file *file, uint64_t ticket, struct error *err)
{
    int rc = 0;

    pthread_mutex_lock(&file->mutex);
    if (ticket > 0 && file->issued < ticket + REQUESTS)
        (void)await(file, &file->request[(ticket - 1) % REQUESTS]);
    if (file->has_failed)
        rc = err_set(err, "%s", file->err.text);
    pthread_mutex_unlock(&file->mutex);
    return rc;
}
