/* host_look.c - see host_look.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "discovery/host_look.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "plan/hostfile.h"
#include "thread.h"
#include "xalloc.h"
#include "xevent.h"

#define END_S 1 /* wait for a thread that still reads when the run is over */
/* Without opening and reading, which other programs do all the time. */
#define EVENTS (IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)

struct host_look {
    const struct host_look_ops *ops;
    void                       *arg;
    struct event               *notified; /* NULL: inotify is not available */
    struct event               *done;     /* the thread has written to its eventfd */
    pthread_t                   thread;
    bool                        is_reading, is_wanted; /* is_wanted: read again when done */
    /* Owned by the thread while it reads. */
    char        *path, *dir;
    int          notify_fd, done_fd;
    int          watch; /* of dir; -1: none */
    char        *text;
    size_t       size;
    struct error why;
};

static char *directory_of(const char *path);
static void *read_thread(void *arg);
static void  watch_dir(struct host_look *look);
static void  done_cb(evutil_socket_t fd, short what, void *arg);
static void  notified_cb(evutil_socket_t fd, short what, void *arg);

struct host_look *host_look_new(struct event_base *base, const char *path,
                                const struct host_look_ops *ops, void *arg)
{
    struct host_look *look = xcalloc(1, sizeof *look);

    look->ops = ops;
    look->arg = arg;
    look->path = xstrdup(path);
    look->dir = directory_of(path);
    look->watch = -1;
    look->notify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    look->done_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (look->done_fd < 0)
        xalloc_die();
    look->done = xevent_new(base, look->done_fd, done_cb, look);
    xevent_watch(look->done, EV_READ);
    if (look->notify_fd >= 0) {
        look->notified = xevent_new(base, look->notify_fd, notified_cb, look);
        xevent_watch(look->notified, EV_READ);
    }
    return look;
}

void host_look_free(struct host_look *look)
{
    struct timespec until;

    if (look == NULL)
        return;
    event_free(look->done);
    if (look->notified != NULL)
        event_free(look->notified);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_S;
    if (look->is_reading && pthread_timedjoin_np(look->thread, NULL, &until) != 0)
        return;
    close(look->done_fd);
    if (look->notify_fd >= 0)
        close(look->notify_fd);
    free(look->path);
    free(look->dir);
    free(look->text);
    free(look);
}

/* If it cannot start a thread now, the next look tries again. */
void host_look_start(struct host_look *look)
{
    look->is_wanted = look->is_reading;
    if (!look->is_reading)
        look->is_reading = thread_start(&look->thread, read_thread, look) == 0;
}

static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        return xstrdup(".");
    return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

/* Watches the directory before it reads the file, so that it misses no change. It does so each
 * time, since the path may lead to another directory by now. */
static void *read_thread(void *arg)
{
    struct host_look *look = arg;
    const uint64_t    one = 1;

    if (look->notify_fd >= 0)
        watch_dir(look);
    look->text = file_read_at_once(look->path, HOSTFILE_BYTES_MAX, &look->size, &look->why);
    (void)!write(look->done_fd, &one, sizeof one);
    return NULL;
}

static void watch_dir(struct host_look *look)
{
    int watch = inotify_add_watch(look->notify_fd, look->dir, EVENTS | IN_ONLYDIR);

    if (look->watch >= 0 && watch != look->watch)
        inotify_rm_watch(look->notify_fd, look->watch);
    look->watch = watch;
}

static void done_cb(evutil_socket_t fd, short what, void *arg)
{
    struct host_look *look = arg;
    uint64_t          count;
    char             *text;

    (void)what;
    (void)!read(fd, &count, sizeof count);
    pthread_join(look->thread, NULL);
    look->is_reading = false;
    text = look->text;
    look->text = NULL;
    look->ops->read(text, look->size, &look->why, look->arg);
    free(text);
    if (look->is_wanted)
        host_look_start(look);
}

static void notified_cb(evutil_socket_t fd, short what, void *arg)
{
    struct host_look *look = arg;
    char              events[4096];

    (void)what;
    while (read(fd, events, sizeof events) > 0)
        ;
    look->ops->changed(look->arg);
}
