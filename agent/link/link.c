/* link.c - see link.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "link/link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fd.h"
#include "xalloc.h"
#include "xevent.h"

#define READ_MAX (128 * 1024 - 64) /* fills a block exactly, with libevent's header */

static void watch(struct link *link, struct event_base *base);
static void drop_fd(int fd);
static void readable_cb(evutil_socket_t fd, short what, void *arg);
static void cut(struct link *link, const char *why);
static void writable_cb(evutil_socket_t fd, short what, void *arg);
static void soon_cb(evutil_socket_t fd, short what, void *arg);
static void take_frames(struct link *link);

void link_open(struct link *link, struct event_base *base, int in_fd, int out_fd,
               const struct link_ops *ops, void *arg)
{
    *link = (struct link){ .in_fd = in_fd, .out_fd = out_fd, .ops = ops, .arg = arg };
    fd_set_nonblock(in_fd);
    fd_set_nonblock(out_fd);
    link->in = evbuffer_new();
    if (link->in == NULL)
        xalloc_die();
    resend_queue_init(&link->resend);
    link->wire = link->resend.bytes;
    link->soon = evtimer_new(base, soon_cb, link);
    if (link->soon == NULL)
        xalloc_die();
    watch(link, base);
}

void link_close(struct link *link)
{
    event_free(link->soon);
    event_free(link->readable);
    event_free(link->writable);
    evbuffer_free(link->in);
    resend_queue_clear(&link->resend);
}

void link_attach(struct link *link, int fd)
{
    struct event_base *base = event_get_base(link->readable);

    event_free(link->readable);
    event_free(link->writable);
    drop_fd(link->in_fd);
    if (link->out_fd != link->in_fd)
        drop_fd(link->out_fd);
    evbuffer_drain(link->in, evbuffer_get_length(link->in)); /* an incomplete frame is sent
                                                                again as a whole */
    link->in_fd = link->out_fd = fd;
    link->is_cut = false;
    fd_set_nonblock(fd);
    watch(link, base);
    xevent_add(link->writable, NULL);
}

static void watch(struct link *link, struct event_base *base)
{
    link->readable = event_new(base, link->in_fd, EV_READ | EV_PERSIST, readable_cb, link);
    link->writable = event_new(base, link->out_fd, EV_WRITE, writable_cb, link);
    if (link->readable == NULL || link->writable == NULL)
        xalloc_die();
    event_priority_set(link->readable, 0);
    xevent_add(link->readable, NULL);
}

void link_hang_up(struct link *link)
{
    int fd;

    for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        drop_fd(fd);
    if (link->in_fd > STDERR_FILENO)
        drop_fd(link->in_fd);
}

/* Keeps 0 to 2 open, or the next file that is opened would get their number. */
static void drop_fd(int fd)
{
    int null;

    if (fd > STDERR_FILENO) {
        close(fd);
        return;
    }
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, fd);
        close(null);
    }
}

void link_flush(struct link *link)
{
    ssize_t done = 1;

    if (link->is_lost || link->is_cut)
        return;
    while (done > 0 && resend_queue_unsent(&link->resend) > 0)
        done = resend_queue_write(&link->resend, link->out_fd);
    if (done < 0 && errno != EAGAIN)
        cut(link, strerror(errno));
    else if (done <= 0)
        xevent_add(link->writable, NULL);
}

void link_flush_soon(struct link *link)
{
    static const struct timeval limit = { .tv_usec = LINK_SOON_MS * 1000 };

    if (resend_queue_unsent(&link->resend) > 0 && !evtimer_pending(link->soon, NULL))
        xevent_add(link->soon, &limit);
}

bool link_has_room(const struct link *link)
{
    return !link->is_lost && resend_queue_unsent(&link->resend) < LINK_OUTPUT_MARK &&
           resend_queue_kept(&link->resend) < LINK_KEPT_MAX;
}

void link_ask_room(struct link *link)
{
    if (!link->is_lost && !link->is_cut)
        xevent_add(link->writable, NULL);
}

void link_lose(struct link *link, const char *why)
{
    struct error err;

    if (link->is_lost)
        return;
    link->is_lost = true;
    event_del(link->readable);
    event_del(link->writable);
    resend_queue_clear(&link->resend);
    resend_queue_init(&link->resend);
    link->wire = link->resend.bytes;
    err_set(&err, "connection to the launcher: %s", why);
    link->ops->lost(&err, link->arg);
}

bool link_is_flushed(const struct link *link)
{
    return link->is_lost || evbuffer_get_length(link->wire) == 0;
}

static void readable_cb(evutil_socket_t fd, short what, void *arg)
{
    struct link *link = arg;
    ssize_t      got = fd_read_buffer(fd, link->in, READ_MAX);

    (void)what;
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        cut(link, got < 0 ? strerror(errno) : "the launcher closed it");
        return;
    }
    take_frames(link);
}

static void cut(struct link *link, const char *why)
{
    if (link->is_lost || link->is_cut)
        return;
    if (!link->ops->cut(link->arg)) {
        link_lose(link, why);
        return;
    }
    link->is_cut = true;
    event_del(link->readable);
    event_del(link->writable);
}

static void writable_cb(evutil_socket_t fd, short what, void *arg)
{
    struct link *link = arg;

    (void)fd, (void)what;
    link_flush(link);
    if (link_has_room(link))
        link->ops->room(link->arg);
}

static void soon_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    link_flush(arg);
}

static void take_frames(struct link *link)
{
    struct frame frame;
    struct error err;
    int          rc = 0;

    while (!link->is_lost && (rc = frame_peek(link->in, &frame, &err)) > 0) {
        resend_queue_take(&link->resend, frame.size);
        rc = link->ops->frame(&frame, link->arg, &err);
        if (rc < 0)
            break;
        frame_drop(link->in, &frame);
    }
    if (rc < 0)
        link_lose(link, err.text);
}
