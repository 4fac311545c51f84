/* link.c - see link.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "link.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "fd.h"
#include "xalloc.h"
#include "xevent.h"

#define READ_MAX (128 * 1024 - 64) /* with libevent's header a round block */

static void readable_cb(evutil_socket_t fd, short what, void *arg);
static void writable_cb(evutil_socket_t fd, short what, void *arg);
static void take_frames(struct link *link);

void link_open(struct link *link, struct event_base *base, int in_fd, int out_fd,
               const struct link_ops *ops, void *arg)
{
    *link = (struct link){ .in_fd = in_fd, .out_fd = out_fd, .ops = ops, .arg = arg };
    fd_set_nonblock(in_fd);
    fd_set_nonblock(out_fd);
    link->in = evbuffer_new();
    link->wire = evbuffer_new();
    link->readable = event_new(base, in_fd, EV_READ | EV_PERSIST, readable_cb, link);
    link->writable = event_new(base, out_fd, EV_WRITE, writable_cb, link);
    if (link->in == NULL || link->wire == NULL || link->readable == NULL ||
        link->writable == NULL)
        xalloc_die();
    event_priority_set(link->readable, 0);
    xevent_add(link->readable, NULL);
    link->heard_ns = clock_now_ns();
}

void link_close(struct link *link)
{
    event_free(link->readable);
    event_free(link->writable);
    evbuffer_free(link->in);
    evbuffer_free(link->wire);
}

void link_flush(struct link *link)
{
    int done = 0;

    while (!link->is_lost && evbuffer_get_length(link->wire) > 0) {
        done = evbuffer_write(link->wire, link->out_fd);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            break;
    }
    if (link->is_lost || evbuffer_get_length(link->wire) == 0)
        return;
    if (done < 0 && errno != EAGAIN)
        link_lose(link, strerror(errno));
    else
        xevent_add(link->writable, NULL);
}

void link_ask_room(struct link *link)
{
    if (!link->is_lost)
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
    evbuffer_drain(link->wire, evbuffer_get_length(link->wire));
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
    if (got < 0) {
        link_lose(link, strerror(errno));
        return;
    }
    if (got == 0) {
        link_lose(link, "the launcher has closed it");
        return;
    }
    link->heard_ns = clock_now_ns();
    take_frames(link);
}

static void writable_cb(evutil_socket_t fd, short what, void *arg)
{
    struct link *link = arg;

    (void)fd, (void)what;
    link_flush(link);
    if (!link->is_lost && evbuffer_get_length(link->wire) < LINK_OUTPUT_MARK)
        link->ops->room(link->arg);
}

static void take_frames(struct link *link)
{
    struct frame frame;
    struct error err;
    int          rc = 0;

    while (!link->is_lost && (rc = frame_peek(link->in, &frame, &err)) > 0) {
        rc = link->ops->frame(&frame, link->arg, &err);
        if (rc < 0)
            break;
        frame_drop(link->in, &frame);
    }
    if (rc < 0)
        link_lose(link, err.text);
}
