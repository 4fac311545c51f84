/* log_file.c - see log_file.h
 *
 * The lock protects what both threads use. The thread never holds it while it is in the
 * file system. It wakes the event loop by an eventfd.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rank/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fd.h"
#include "thread.h"
#include "xalloc.h"
#include "xevent.h"

#define PIECE (128 * 1024) /* bytes per write */

struct log_file {
    char           *dir, *path;
    pthread_t       thread;
    pthread_mutex_t lock;
    pthread_cond_t  work; /* bytes are waiting, or the file should end */
    int             wake_fd;

    /* Under the lock. */
    struct evbuffer *waiting;
    size_t           writing; /* bytes that the thread is writing */
    uint64_t         written; /* pieces: shows the event loop that there is progress */
    uint64_t         lost;
    struct error     why;     /* why the file was not created */
    int              error;   /* errno of the first failed write, or of close() */
    bool             is_created, has_failed, is_ending, is_wanted, is_over;
    bool             is_awaited; /* the event loop waits for space */

    /* Used by the event loop. */
    struct event *woken, *patience;
    uint64_t      written_before;
    bool          is_full, stands;
    void        (*changed)(void *arg);
    void         *arg;

    char piece[PIECE]; /* used by the thread */
};

static void  woken_cb(evutil_socket_t fd, short what, void *arg);
static void  patience_cb(evutil_socket_t fd, short what, void *arg);
static void *keep_file(void *arg);
static int   create(const struct log_file *log, struct error *err);
static int   make_dir(const char *dir, struct error *err);
static void  write_all(struct log_file *log, int fd);
static void  wake(struct log_file *log);
static void  let_go(struct log_file *log);

struct log_file *log_file_new(struct event_base *base, const char *dir, const char *stamp,
                              uint32_t rank, void (*changed)(void *arg), void *arg,
                              struct error *err)
{
    struct log_file     *log = xcalloc(1, sizeof *log);
    const struct timeval limit = { .tv_sec = LOG_FILE_CREATE_S };
    int                  rc;

    log->dir = xstrdup(dir);
    log->path = xasprintf("%s/%s_rank%u.log", dir, stamp, rank);
    log->changed = changed;
    log->arg = arg;
    pthread_mutex_init(&log->lock, NULL);
    pthread_cond_init(&log->work, NULL);
    log->waiting = evbuffer_new();
    log->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    log->woken = event_new(base, log->wake_fd, EV_READ | EV_PERSIST, woken_cb, log);
    log->patience = evtimer_new(base, patience_cb, log);
    if (log->waiting == NULL || log->woken == NULL || log->patience == NULL)
        xalloc_die();
    rc = log->wake_fd < 0 ? errno : thread_start(&log->thread, keep_file, log);
    if (rc != 0) {
        err_set(err, "cannot start a thread for the log file %s: %s", log->path, strerror(rc));
        let_go(log);
        return NULL;
    }
    xevent_add(log->woken, NULL);
    xevent_add(log->patience, &limit);
    return log;
}

/* --- the event loop's side ------------------------------------------------- */

int log_file_created(struct log_file *log, struct error *err)
{
    int rc;

    pthread_mutex_lock(&log->lock);
    rc = log->has_failed ? err_set(err, "%s", log->why.text) : log->is_created;
    pthread_mutex_unlock(&log->lock);
    return rc;
}

void log_file_add(struct log_file *log, struct evbuffer *bytes)
{
    const struct timeval limit = { .tv_sec = LOG_FILE_STANDS_S };
    size_t               size = evbuffer_get_length(bytes);

    pthread_mutex_lock(&log->lock);
    if (log->stands && evbuffer_get_length(log->waiting) >= LOG_FILE_WAITING_MAX)
        log->lost += size;
    else if (evbuffer_add(log->waiting, evbuffer_pullup(bytes, -1), size) < 0)
        xalloc_die();
    log->is_full = !log->stands && evbuffer_get_length(log->waiting) >= LOG_FILE_WAITING_MAX;
    log->is_awaited = log->is_full || log->stands;
    log->written_before = log->written;
    pthread_cond_signal(&log->work);
    pthread_mutex_unlock(&log->lock);
    if (log->is_full)
        xevent_add(log->patience, &limit);
}

bool log_file_is_full(const struct log_file *log)
{
    return log->is_full;
}

void log_file_end(struct log_file *log, bool is_wanted)
{
    pthread_mutex_lock(&log->lock);
    log->is_ending = true;
    log->is_wanted = is_wanted;
    pthread_cond_signal(&log->work);
    pthread_mutex_unlock(&log->lock);
}

bool log_file_is_over(struct log_file *log)
{
    bool is_over;

    pthread_mutex_lock(&log->lock);
    is_over = log->is_over || log->has_failed;
    pthread_mutex_unlock(&log->lock);
    return is_over;
}

uint64_t log_file_lost(struct log_file *log)
{
    uint64_t lost;

    pthread_mutex_lock(&log->lock);
    lost = log->lost + log->writing + evbuffer_get_length(log->waiting);
    pthread_mutex_unlock(&log->lock);
    return lost;
}

int log_file_error(struct log_file *log)
{
    int error;

    pthread_mutex_lock(&log->lock);
    error = log->error;
    pthread_mutex_unlock(&log->lock);
    return error;
}

const char *log_file_unsure(struct log_file *log)
{
    bool is_unsure;

    pthread_mutex_lock(&log->lock);
    is_unsure = log->is_created && !log->is_over;
    pthread_mutex_unlock(&log->lock);
    return is_unsure ? log->path : NULL;
}

bool log_file_free(struct log_file *log)
{
    bool is_over;

    if (log == NULL)
        return true;
    pthread_mutex_lock(&log->lock);
    is_over = log->is_over;
    pthread_mutex_unlock(&log->lock);
    if (!is_over)
        return false;
    pthread_join(log->thread, NULL);
    let_go(log);
    return true;
}

/* There is space, the file was created, or it is complete. */
static void woken_cb(evutil_socket_t fd, short what, void *arg)
{
    struct log_file *log = arg;
    uint64_t         count;

    (void)what;
    (void)!read(fd, &count, sizeof count);
    log->is_full = log->stands = false;
    evtimer_del(log->patience);
    log->changed(log->arg);
}

static void patience_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval limit = { .tv_sec = LOG_FILE_STANDS_S };
    struct log_file     *log = arg;

    (void)fd, (void)what;
    pthread_mutex_lock(&log->lock);
    if (!log->is_created && !log->has_failed) {
        log->has_failed = true;
        err_set(&log->why, "cannot create the log file %s: no answer for %d s (is"
                " its file server down?)", log->path, LOG_FILE_CREATE_S);
    }
    log->stands = log->written == log->written_before;
    log->is_full = !log->stands;
    log->written_before = log->written;
    pthread_mutex_unlock(&log->lock);
    if (log->is_full)
        xevent_add(log->patience, &limit);
    else
        log->changed(log->arg);
}

/* --- the thread ------------------------------------------------------------ */

static void *keep_file(void *arg)
{
    struct log_file *log = arg;
    struct error     err;
    int              fd = create(log, &err), error;

    pthread_mutex_lock(&log->lock);
    if (fd < 0 && !log->has_failed)
        log->why = err;
    log->has_failed = log->has_failed || fd < 0;
    log->is_created = fd >= 0;
    wake(log);
    if (fd >= 0)
        write_all(log, fd);
    pthread_mutex_unlock(&log->lock);
    if (fd >= 0 && !log->is_wanted)
        unlink(log->path);
    error = fd >= 0 && close(fd) < 0 ? errno : 0;
    pthread_mutex_lock(&log->lock);
    log->error = log->error != 0 ? log->error : error;
    log->is_over = true;
    wake(log);
    pthread_mutex_unlock(&log->lock);
    return NULL;
}

static int create(const struct log_file *log, struct error *err)
{
    int fd;

    if (make_dir(log->dir, err) < 0)
        return -1;
    fd = open(log->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0666);
    if (fd < 0)
        err_set(err, "cannot create the log file %s: %s", log->path, strerror(errno));
    return fd;
}

static int make_dir(const char *dir, struct error *err)
{
    struct stat about;

    if (mkdir(dir, 0777) == 0)
        return 0;
    if (errno != EEXIST)
        return err_set(err, "cannot create the log directory %s: %s", dir, strerror(errno));
    if (stat(dir, &about) < 0)
        return err_set(err, "log directory %s: %s", dir, strerror(errno));
    if (!S_ISDIR(about.st_mode))
        return err_set(err, "cannot create the log directory %s: a file has that name",
                       dir);
    return 0;
}

/* Writes until log_file_end() and the waiting bytes then. Holds the lock
 * except while it writes. */
static void write_all(struct log_file *log, int fd)
{
    size_t done;
    int    error;

    for (;;) {
        while (evbuffer_get_length(log->waiting) == 0 && !log->is_ending)
            pthread_cond_wait(&log->work, &log->lock);
        log->writing = (size_t)evbuffer_remove(log->waiting, log->piece, PIECE);
        if (log->writing == 0)
            return;
        pthread_mutex_unlock(&log->lock);
        done = fd_write_all(fd, log->piece, log->writing);
        error = errno;
        pthread_mutex_lock(&log->lock);
        if (done < log->writing && log->error == 0)
            log->error = error;
        log->lost += log->writing - done;
        log->writing = 0;
        log->written++;
        if (log->is_awaited && evbuffer_get_length(log->waiting) < LOG_FILE_WAITING_MAX / 2)
            wake(log);
    }
}

static void wake(struct log_file *log)
{
    const uint64_t one = 1;

    log->is_awaited = false;
    (void)!write(log->wake_fd, &one, sizeof one);
}

/* ---- */

static void let_go(struct log_file *log)
{
    event_free(log->woken);
    event_free(log->patience);
    evbuffer_free(log->waiting);
    if (log->wake_fd >= 0)
        close(log->wake_fd);
    pthread_cond_destroy(&log->work);
    pthread_mutex_destroy(&log->lock);
    free(log->dir);
    free(log->path);
    free(log);
}
