/* stdin_reader.c - see stdin_reader.h
 *
 * The lock guards all that both threads use. The thread waits until something is wanted, then in
 * poll() for standard input or the end, and then reads. Its bytes stay in the struct until the
 * event loop has taken them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "input/stdin_reader.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "thread.h"
#include "xalloc.h"
#include "xevent.h"

#define BACKGROUND_MS 500 /* between two attempts to read the terminal of another job */
#define END_S         1   /* for a thread that hangs in a read */

struct stdin_reader {
    int                            fd;
    const struct stdin_reader_ops *ops;
    void                          *arg;
    struct event                  *arrived;
    int                            arrived_fd; /* eventfd: there is something for the loop */
    int                            end_fd;     /* eventfd: the thread must end */
    pthread_t                      thread;

    pthread_mutex_t lock;
    pthread_cond_t  work, over;
    size_t          wanted; /* bytes; 0: nothing */
    size_t          size;   /* of bytes, not yet taken by the loop */
    bool            is_ending, is_over, has_end;
    int             error;
    char            bytes[STDIN_READER_MAX];
};

static void   *read_all(void *arg);
static ssize_t read_once(struct stdin_reader *reader, size_t wanted);
static bool    is_in_background(int fd);
static bool    must_end(const struct stdin_reader *reader, int wait_ms);
static void    tell(struct stdin_reader *reader, ssize_t got, int error);
static void    arrived_cb(evutil_socket_t fd, short what, void *arg);

struct stdin_reader *stdin_reader_new(struct event_base *base, int fd,
                                      const struct stdin_reader_ops *ops, void *arg)
{
    struct stdin_reader *reader = xcalloc(1, sizeof *reader);
    pthread_condattr_t   monotonic;

    reader->fd = fd;
    reader->ops = ops;
    reader->arg = arg;
    reader->arrived_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    reader->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (reader->arrived_fd < 0 || reader->end_fd < 0)
        xalloc_die();
    reader->arrived = event_new(base, reader->arrived_fd, EV_READ | EV_PERSIST, arrived_cb, reader);
    if (reader->arrived == NULL)
        xalloc_die();
    xevent_add(reader->arrived, NULL);
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->work, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&reader->over, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (thread_start(&reader->thread, read_all, reader) != 0)
        xalloc_die();
    return reader;
}

void stdin_reader_want(struct stdin_reader *reader, size_t size)
{
    pthread_mutex_lock(&reader->lock);
    if (reader->wanted == 0 && reader->size == 0 && !reader->has_end) {
        reader->wanted = size < STDIN_READER_MAX ? size : STDIN_READER_MAX;
        pthread_cond_signal(&reader->work);
    }
    pthread_mutex_unlock(&reader->lock);
}

void stdin_reader_free(struct stdin_reader *reader)
{
    const uint64_t  one = 1;
    struct timespec until;
    bool            is_over;

    if (reader == NULL)
        return;
    event_free(reader->arrived);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += END_S;
    pthread_mutex_lock(&reader->lock);
    reader->is_ending = true;
    (void)!write(reader->end_fd, &one, sizeof one);
    pthread_cond_signal(&reader->work);
    while (!reader->is_over &&
           pthread_cond_timedwait(&reader->over, &reader->lock, &until) != ETIMEDOUT)
        ;
    is_over = reader->is_over;
    pthread_mutex_unlock(&reader->lock);
    if (!is_over) {
        pthread_detach(reader->thread); /* it still uses the struct, if it ever returns */
        return;
    }
    pthread_join(reader->thread, NULL);
    pthread_mutex_destroy(&reader->lock);
    pthread_cond_destroy(&reader->work);
    pthread_cond_destroy(&reader->over);
    close(reader->arrived_fd);
    close(reader->end_fd);
    free(reader);
}

/* --- the thread ------------------------------------------------------------ */

static void *read_all(void *arg)
{
    struct stdin_reader *reader = arg;
    ssize_t              got = 1;
    size_t               wanted;
    int                  error;

    pthread_mutex_lock(&reader->lock);
    while (!reader->is_ending && got > 0) {
        if (reader->wanted == 0) {
            pthread_cond_wait(&reader->work, &reader->lock);
            continue;
        }
        wanted = reader->wanted;
        pthread_mutex_unlock(&reader->lock);
        got = read_once(reader, wanted);
        error = errno;
        pthread_mutex_lock(&reader->lock);
        if (!reader->is_ending)
            tell(reader, got, error);
    }
    reader->is_over = true;
    pthread_cond_signal(&reader->over);
    pthread_mutex_unlock(&reader->lock);
    return NULL;
}

/* Returns as read() does, or 0 if the thread must end. SIGTTIN is ignored, so a terminal that
 * another job has is an error, until we have it again. */
static ssize_t read_once(struct stdin_reader *reader, size_t wanted)
{
    ssize_t got;

    for (;;) {
        if (must_end(reader, -1))
            return 0;
        got = read(reader->fd, reader->bytes, wanted);
        if (got >= 0 || (errno != EINTR && errno != EAGAIN &&
                         !(errno == EIO && is_in_background(reader->fd))))
            return got;
        if (errno == EIO && must_end(reader, BACKGROUND_MS))
            return 0;
    }
}

static bool is_in_background(int fd)
{
    pid_t group = tcgetpgrp(fd);

    return group > 0 && group != getpgrp();
}

/* Waits until there is something to read or the end; with a time, only for the end. */
static bool must_end(const struct stdin_reader *reader, int wait_ms)
{
    struct pollfd events[] = { { .fd = reader->end_fd, .events = POLLIN },
                               { .fd = reader->fd, .events = POLLIN } };

    while (poll(events, wait_ms < 0 ? 2 : 1, wait_ms) < 0 && errno == EINTR)
        ;
    return events[0].revents != 0;
}

static void tell(struct stdin_reader *reader, ssize_t got, int error)
{
    const uint64_t one = 1;

    reader->wanted = 0;
    reader->size = got > 0 ? (size_t)got : 0;
    reader->has_end = got <= 0;
    reader->error = got < 0 ? error : 0;
    (void)!write(reader->arrived_fd, &one, sizeof one);
}

/* --- the event loop's side ------------------------------------------------- */

/* The thread leaves the bytes alone until something is wanted again. */
static void arrived_cb(evutil_socket_t fd, short what, void *arg)
{
    struct stdin_reader *reader = arg;
    uint64_t             count;
    size_t               size;
    bool                 has_end;

    (void)what;
    (void)!read(fd, &count, sizeof count);
    pthread_mutex_lock(&reader->lock);
    size = reader->size;
    reader->size = 0;
    has_end = reader->has_end;
    pthread_mutex_unlock(&reader->lock);
    if (size > 0)
        reader->ops->bytes(reader->bytes, size, reader->arg);
    if (has_end)
        reader->ops->end(reader->error, reader->arg);
}
