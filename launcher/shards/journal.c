/* journal.c - see journal.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "shards/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "buffer.h"
#include "fd.h"
#include "thread.h"
#include "xalloc.h"

struct journal {
    int             dir_fd, fd; /* fd: owned by the thread; -1: none yet */
    char           *name, *new_name;
    size_t          size;
    pthread_t       thread;
    pthread_mutex_t lock;
    pthread_cond_t  news, written;
    /* Protected by lock. */
    struct buffer more;
    bool          is_new;     /* more is a new file */
    bool          is_writing; /* the thread has taken some bytes */
    bool          is_closing;
    bool          has_failed; /* until there is a new file */
    int           failure;    /* an errno that journal_failure() has not yet returned; or 0 */
};

static struct timespec seconds_from_now(int seconds);
static void *write_cb(void *arg);
static bool  next_piece(struct journal *journal, struct buffer *piece, bool *is_new);
static int   put(struct journal *journal, const struct buffer *piece, bool is_new);
static void  failed(struct journal *journal, int error);

struct journal *journal_new(int dir_fd, const char *name)
{
    struct journal *journal = xcalloc(1, sizeof *journal);

    journal->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
    journal->fd = -1;
    journal->name = xstrdup(name);
    journal->new_name = xasprintf("%s.new", name);
    pthread_mutex_init(&journal->lock, NULL);
    pthread_cond_init(&journal->news, NULL);
    pthread_cond_init(&journal->written, NULL);
    if (journal->dir_fd >= 0 && thread_start(&journal->thread, write_cb, journal) == 0)
        return journal;
    if (journal->dir_fd >= 0)
        close(journal->dir_fd);
    free(journal->name);
    free(journal->new_name);
    free(journal);
    return NULL;
}

void journal_add(struct journal *journal, const char *text, size_t size)
{
    pthread_mutex_lock(&journal->lock);
    if (!journal->has_failed)
        buffer_add(&journal->more, text, size);
    pthread_cond_signal(&journal->news);
    pthread_mutex_unlock(&journal->lock);
    journal->size += size;
}

void journal_replace(struct journal *journal, const char *text, size_t size)
{
    pthread_mutex_lock(&journal->lock);
    journal->has_failed = false;
    journal->is_new = true;
    journal->more.size = 0;
    buffer_add(&journal->more, text, size);
    pthread_cond_signal(&journal->news);
    pthread_mutex_unlock(&journal->lock);
    journal->size = size;
}

int journal_wait(struct journal *journal, int seconds)
{
    const struct timespec until = seconds_from_now(seconds);
    int                   rc = 0;

    pthread_mutex_lock(&journal->lock);
    while ((journal->more.size > 0 || journal->is_writing) && rc == 0)
        rc = pthread_cond_timedwait(&journal->written, &journal->lock, &until);
    if (journal->has_failed)
        rc = -1;
    pthread_mutex_unlock(&journal->lock);
    return rc == 0 ? 0 : -1;
}

size_t journal_size(const struct journal *journal)
{
    return journal->size;
}

int journal_failure(struct journal *journal)
{
    int failure;

    pthread_mutex_lock(&journal->lock);
    failure = journal->failure;
    journal->failure = 0;
    pthread_mutex_unlock(&journal->lock);
    return failure;
}

/* If the thread hangs in the file system, the journal is never freed. */
int journal_close(struct journal *journal, int seconds)
{
    const struct timespec until = seconds_from_now(seconds);
    int                   rc;

    pthread_mutex_lock(&journal->lock);
    journal->is_closing = true;
    pthread_cond_signal(&journal->news);
    pthread_mutex_unlock(&journal->lock);
    if (pthread_timedjoin_np(journal->thread, NULL, &until) != 0)
        return -1;
    rc = journal->has_failed ? -1 : 0;
    if (journal->fd >= 0)
        close(journal->fd);
    close(journal->dir_fd);
    buffer_clear(&journal->more);
    pthread_mutex_destroy(&journal->lock);
    pthread_cond_destroy(&journal->news);
    pthread_cond_destroy(&journal->written);
    free(journal->name);
    free(journal->new_name);
    free(journal);
    return rc;
}

static struct timespec seconds_from_now(int seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    return until;
}

static void *write_cb(void *arg)
{
    struct journal *journal = arg;
    struct buffer   piece = { 0 };
    bool            is_new;

    while (next_piece(journal, &piece, &is_new)) {
        if (put(journal, &piece, is_new) < 0)
            failed(journal, errno);
        buffer_clear(&piece);
    }
    buffer_clear(&piece); /* empty, but it may own memory */
    return NULL;
}

/* False: everything was written. */
static bool next_piece(struct journal *journal, struct buffer *piece, bool *is_new)
{
    pthread_mutex_lock(&journal->lock);
    journal->is_writing = false;
    pthread_cond_signal(&journal->written);
    while (journal->more.size == 0 && !journal->is_closing)
        pthread_cond_wait(&journal->news, &journal->lock);
    *piece = journal->more;
    *is_new = journal->is_new;
    journal->more = (struct buffer){ 0 };
    journal->is_new = false;
    journal->is_writing = piece->size > 0;
    pthread_mutex_unlock(&journal->lock);
    return piece->size > 0;
}

/* A new file is on the disk before it gets its name, so that a power failure does not leave an
 * empty one. */
static int put(struct journal *journal, const struct buffer *piece, bool is_new)
{
    int old = journal->fd;

    if (is_new)
        journal->fd = openat(journal->dir_fd, journal->new_name,
                             O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (is_new && old >= 0)
        close(old);
    if (journal->fd < 0 || fd_write_all(journal->fd, piece->bytes, piece->size) < piece->size)
        return -1;
    if (is_new && (fdatasync(journal->fd) < 0 ||
                   renameat(journal->dir_fd, journal->new_name, journal->dir_fd,
                            journal->name) < 0))
        return -1;
    return 0;
}

static void failed(struct journal *journal, int error)
{
    pthread_mutex_lock(&journal->lock);
    if (!journal->is_new) {
        journal->has_failed = true;
        journal->more.size = 0;
    }
    journal->failure = error;
    pthread_mutex_unlock(&journal->lock);
    if (journal->fd >= 0)
        close(journal->fd);
    journal->fd = -1;
}
