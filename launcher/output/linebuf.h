/* linebuf.h - from chunks of a byte stream to whole lines
 *
 * Two steps, so that a thread that only passes bytes on does no work per line: linebuf_add
 * finds how far a chunk brings the stream to the end of a line, and holds the rest;
 * segment_next then splits such a run into segments.
 *
 * A segment is ended by "\n", by "\r\n", or by '\r' alone (a progress bar that will redraw
 * itself). Text longer than LINEBUF_MAX is split into pieces of that size. The boundaries of
 * the chunks make no difference: a '\r' is held until the next byte is known, and so is text of
 * exactly LINEBUF_MAX.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LINEBUF_H
#define MUSTER_LINEBUF_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"

#define LINEBUF_MAX ((size_t)1 << 20)

/* Start from { 0 }. Holds at most LINEBUF_MAX + 1 bytes. */
struct linebuf {
    struct buffer held;
};

/* Append to run all segments that the chunk completes; hold the rest. */
void linebuf_add(struct linebuf *line, const char *bytes, size_t size, struct buffer *run);

/* The end of the stream: append what is held, which no '\n' ends. */
void linebuf_end(struct linebuf *line, struct buffer *run);

void linebuf_clear(struct linebuf *line);

enum segment_end {
    SEGMENT_NONE, /* a piece of a longer line, or the last of the stream */
    SEGMENT_LF,
    SEGMENT_CRLF,
    SEGMENT_CR,
};

struct segment {
    const char      *text; /* points into the run, without its end */
    size_t           size;
    enum segment_end end;
};

/* A walk through a run. */
struct segments {
    const char *at, *end;
    const char *cr; /* the next '\r', or end: searched for once, not for every line */
};

void segments_start(struct segments *walk, const char *run, size_t size);
bool segment_next(struct segments *walk, struct segment *segment);

#endif
