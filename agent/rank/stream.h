/* stream.h - stdout or stderr of one rank: pipe, waiting bytes, OUTPUT frames
 *
 * Bytes from the pipe go to `waiting`, and from there into frames as credit and the link
 * allow. At STREAM_WAITING_MAX reading stops; then the pipe fills and the rank waits. If the
 * output also goes to a file, the rank waits only for the file: output beyond the limit is
 * left out of the frames, in whole lines, and counted.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_STREAM_H
#define MUSTER_AGENT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "err.h"
#include "frame.h"
#include "rank/fault_lines.h"
#include "rank/log_file.h"
#include "steps/step_watch.h"

#define STREAM_WAITING_MAX (2u << 20) /* bytes; twice that for both streams of a rank */
#define STREAM_LINE_MAX    (1u << 20) /* more, to complete a line; then it is cut */
/* One read, one frame. With libevent's own header it fills a block of 128 KiB exactly, which
 * moves from pipe to link without a copy. */
#define STREAM_FRAME_MAX (128 * 1024 - 64)
/* The size of each pipe, and a limit for all of them: beyond 64 MiB the kernel makes all
 * new pipes of a user small. */
#define STREAM_PIPE_BYTES     (1u << 20)
#define STREAM_ALL_PIPE_BYTES (32u << 20)

struct stream {
    enum frame_stream which;
    int               fd; /* our end of the pipe, or a terminal's master; -1: the stream has
                             ended */
    bool              is_terminal;
    struct event     *event;
    struct evbuffer  *waiting;
    bool              paused;   /* not read: too many bytes are waiting, here or for the file */
    bool              skipping; /* output goes to the file only, until the frames have space */
    bool              end_sent;
    struct log_file  *log;       /* NULL: no file; borrowed */
    bool              to_frames; /* false: output is written only to the file */
    struct step_watch steps;
    struct fault_lines *faults; /* gets what is read, too; NULL: not wanted; borrowed */
    uint64_t          read_bytes;
    uint64_t          lost_bytes;   /* bytes left out of the frames */
    uint64_t          unread_bytes; /* bytes at least; the pipe could not be read */
    void (*changed)(void *arg);     /* bytes are waiting, or the stream has ended */
    void *arg;
};

/* Reads from fd, which the stream owns: the master of a rank's terminal. Its end is an error (EIO)
 * that means that no process has the terminal open any more. */
void stream_open_terminal(struct stream *stream, struct event_base *base, int fd);

/* Makes the pipe. Returns the end that the rank writes to, or -1 with err. streams: their
 * number on this node. Reading starts with stream_begin(), after STARTED, so that no
 * output precedes STARTED. */
int  stream_open(struct stream *stream, struct event_base *base, enum frame_stream which,
                 int streams, struct error *err);
void stream_begin(struct stream *stream);
void stream_close(struct stream *stream);

/* Moves at most credit bytes into one OUTPUT frame on wire, or adds the frame that
 * marks the end of the stream. Returns the bytes of output taken; *framed tells
 * whether there was any frame. */
size_t stream_frame(struct stream *stream, uint32_t generation, uint32_t rank, size_t credit,
                    struct evbuffer *wire, bool *framed);

/* Returns how many bytes the rank has written that were not read. */
size_t stream_unread(const struct stream *stream);

/* The file may be full now, or have space again. */
void stream_log_changed(struct stream *stream);

/* The link is lost: drops waiting output, now and later. */
void stream_discard(struct stream *stream);

/* Reads the rest of the pipe, even beyond STREAM_WAITING_MAX, and stops reading, though a
 * process may still hold the other end. */
void stream_give_up(struct stream *stream);

#endif
