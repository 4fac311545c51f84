/* stream.c - see stream.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rank/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"
#include "fd.h"
#include "xalloc.h"
#include "xevent.h"

static void    begin(struct stream *stream, struct event_base *base, enum frame_stream which,
                      int fd);
static void    readable_cb(evutil_socket_t fd, short what, void *arg);
static ssize_t read_some(struct stream *stream);
static void    look_for_steps(struct stream *stream, struct evbuffer *in, size_t got);
static void    look_for_faults(struct stream *stream, struct evbuffer *in, size_t got);
static void    end_reading(struct stream *stream);
static void    count_unread(struct stream *stream);
static void    keep(struct stream *stream, struct evbuffer *fresh);
static void    append(struct evbuffer *to, struct evbuffer *from);
static bool    find_newline(struct evbuffer *buffer, size_t *after);
static void    update_reading(struct stream *stream);

int stream_open(struct stream *stream, struct event_base *base, enum frame_stream which,
                int streams, struct error *err)
{
    unsigned room = STREAM_ALL_PIPE_BYTES / (unsigned)streams;
    int      pair[2];

    if (pipe2(pair, O_CLOEXEC) < 0)
        return err_set(err, "cannot make a pipe for a rank's output: %s", strerror(errno));
    /* Rounded up to a power of two by the kernel; refused when over the limit. */
    fcntl(pair[0], F_SETPIPE_SZ, room < STREAM_PIPE_BYTES ? room : STREAM_PIPE_BYTES);
    begin(stream, base, which, pair[0]);
    return pair[1];
}

void stream_open_terminal(struct stream *stream, struct event_base *base, int fd)
{
    stream->is_terminal = true;
    begin(stream, base, STREAM_STDOUT, fd);
}

static void begin(struct stream *stream, struct event_base *base, enum frame_stream which, int fd)
{
    fd_set_nonblock(fd);
    stream->which = which;
    stream->fd = fd;
    stream->waiting = evbuffer_new();
    stream->event = event_new(base, fd, EV_READ | EV_PERSIST, readable_cb, stream);
    if (stream->waiting == NULL || stream->event == NULL)
        xalloc_die();
    event_priority_set(stream->event, 2); /* after launcher and guard */
}

void stream_begin(struct stream *stream)
{
    if (stream->fd >= 0 && !stream->paused)
        xevent_add(stream->event, NULL);
}

void stream_close(struct stream *stream)
{
    if (stream->event != NULL)
        event_free(stream->event);
    if (stream->fd >= 0)
        close(stream->fd);
    if (stream->waiting != NULL)
        evbuffer_free(stream->waiting);
    stream->event = NULL;
    stream->fd = -1;
    stream->waiting = NULL;
}

size_t stream_frame(struct stream *stream, uint32_t generation, uint32_t rank, size_t credit,
                    struct evbuffer *wire, bool *framed)
{
    struct frame frame = { .type = FRAME_OUTPUT, .stream = stream->which,
                           .generation = generation, .rank = rank };
    size_t       size = evbuffer_get_length(stream->waiting);

    *framed = false;
    if (stream->end_sent || (size == 0 && stream->fd >= 0) || (size > 0 && credit == 0))
        return 0;
    if (size > STREAM_FRAME_MAX)
        size = STREAM_FRAME_MAX;
    if (size > credit)
        size = credit;
    frame.size = size;
    frame_put_header(wire, &frame);
    if (evbuffer_remove_buffer(stream->waiting, wire, size) != (int)size)
        xalloc_die();
    stream->end_sent = size == 0;
    *framed = true;
    update_reading(stream);
    return size;
}

void stream_discard(struct stream *stream)
{
    stream->to_frames = false;
    if (stream->waiting == NULL)
        return;
    evbuffer_drain(stream->waiting, evbuffer_get_length(stream->waiting));
    update_reading(stream);
}

void stream_give_up(struct stream *stream)
{
    size_t  left = stream_unread(stream);
    ssize_t got = 1;

    if (stream->fd < 0)
        return;
    for (; left > 0 && got > 0; left -= (size_t)got < left ? (size_t)got : left)
        got = read_some(stream);
    if (got < 0 && errno != EAGAIN)
        count_unread(stream);
    end_reading(stream);
}

size_t stream_unread(const struct stream *stream)
{
    int waits = 0;

    if (stream->fd < 0 || ioctl(stream->fd, FIONREAD, &waits) < 0 || waits < 0)
        return 0;
    return (size_t)waits;
}

void stream_log_changed(struct stream *stream)
{
    if (stream->waiting != NULL)
        update_reading(stream);
}

static void readable_cb(evutil_socket_t fd, short what, void *arg)
{
    struct stream *stream = arg;
    ssize_t        got = read_some(stream);

    (void)fd, (void)what;
    if (got < 0 && errno == EAGAIN)
        return;
    if (got < 0)
        count_unread(stream);
    if (got <= 0)
        end_reading(stream);
    else
        update_reading(stream);
    stream->changed(stream->arg);
}

static ssize_t read_some(struct stream *stream)
{
    bool             is_kept = stream->log != NULL || !stream->to_frames;
    struct evbuffer *into = is_kept ? evbuffer_new() : stream->waiting;
    ssize_t          got = fd_read_buffer(stream->fd, into, STREAM_FRAME_MAX);
    int              error = errno;

    if (got < 0 && error == EIO && stream->is_terminal)
        got = 0;

    if (got > 0) {
        stream->read_bytes += (uint64_t)got;
        look_for_steps(stream, into, (size_t)got);
        look_for_faults(stream, into, (size_t)got);
    }
    if (got > 0 && is_kept)
        keep(stream, into);
    if (is_kept)
        evbuffer_free(into);
    errno = error;
    return got;
}

/* The last bytes of in were just read. */
static void look_for_steps(struct stream *stream, struct evbuffer *in, size_t got)
{
    char                last[STEP_WATCH_READ_MAX];
    size_t              size = got < sizeof last ? got : sizeof last;
    struct evbuffer_ptr from;

    if (evbuffer_ptr_set(in, &from, evbuffer_get_length(in) - size, EVBUFFER_PTR_SET) < 0 ||
        evbuffer_copyout_from(in, &from, last, size) != (ssize_t)size)
        xalloc_die();
    step_watch_add(&stream->steps, last, size, got > size, clock_now_ns());
}

static void look_for_faults(struct stream *stream, struct evbuffer *in, size_t got)
{
    char               *copy;
    struct evbuffer_ptr from;

    if (stream->faults == NULL)
        return;
    copy = xmalloc(got);
    if (evbuffer_ptr_set(in, &from, evbuffer_get_length(in) - got, EVBUFFER_PTR_SET) < 0 ||
        evbuffer_copyout_from(in, &from, copy, got) != (ssize_t)got)
        xalloc_die();
    fault_lines_add(stream->faults, copy, got);
    free(copy);
}

static void end_reading(struct stream *stream)
{
    event_del(stream->event);
    close(stream->fd);
    stream->fd = -1;
}

/* Counts the bytes in the pipe that are lost after a read error. */
static void count_unread(struct stream *stream)
{
    int waits = 0;

    if (ioctl(stream->fd, FIONREAD, &waits) < 0 || waits < 1)
        waits = 1;
    stream->unread_bytes += (uint64_t)waits;
}

/* Adds everything to the file, and to the frames what fits. At the limit the current line is
 * completed; when there is space again, the frames continue at the beginning of a line. */
static void keep(struct stream *stream, struct evbuffer *fresh)
{
    size_t size = evbuffer_get_length(fresh), waits = evbuffer_get_length(stream->waiting);
    size_t line = size; /* up to the first newline, or all */
    bool   is_full = waits >= STREAM_WAITING_MAX, has_end = find_newline(fresh, &line);

    if (stream->log != NULL)
        log_file_add(stream->log, fresh);
    if (!stream->to_frames)
        return;
    if (stream->skipping && (is_full || !has_end)) {
        stream->lost_bytes += size;
        return;
    }
    if (stream->skipping) {
        stream->skipping = false;
        stream->lost_bytes += line;
        evbuffer_drain(fresh, line);
    } else if (is_full) {
        stream->skipping = has_end || waits >= STREAM_WAITING_MAX + STREAM_LINE_MAX;
        stream->lost_bytes += size - line;
        if (evbuffer_remove_buffer(fresh, stream->waiting, line) < 0)
            xalloc_die();
        return;
    }
    append(stream->waiting, fresh);
}

/* Copies short lines, so that they share a block with the bytes before them: moving them would
 * use a block of 1 KiB for each. */
static void append(struct evbuffer *to, struct evbuffer *from)
{
    char   copy[4096];
    size_t size = evbuffer_get_length(from);

    if (size > sizeof copy) {
        evbuffer_add_buffer(to, from);
        return;
    }
    evbuffer_remove(from, copy, size);
    if (evbuffer_add(to, copy, size) < 0)
        xalloc_die();
}

static bool find_newline(struct evbuffer *buffer, size_t *after)
{
    struct evbuffer_ptr at = evbuffer_search(buffer, "\n", 1, NULL);

    if (at.pos < 0)
        return false;
    *after = (size_t)at.pos + 1;
    return true;
}

/* Stops reading at the limit and continues at half of it. With a file only the file counts. */
static void update_reading(struct stream *stream)
{
    size_t most = stream->paused ? STREAM_WAITING_MAX / 2 : STREAM_WAITING_MAX;
    bool   must_pause = stream->log != NULL ? log_file_is_full(stream->log)
                                            : evbuffer_get_length(stream->waiting) >= most;

    if (stream->fd < 0 || must_pause == stream->paused)
        return;
    stream->paused = must_pause;
    if (must_pause)
        event_del(stream->event);
    else
        xevent_add(stream->event, NULL);
}
