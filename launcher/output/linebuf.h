/* linebuf.h - from chunks of a byte stream to whole lines
 *
 * There are two steps, so that a thread that only passes bytes on does no work per line.
 * linebuf_add() passes on all bytes up to the last complete line, as a run, and holds the rest.
 * segment_next() splits a run into segments.
 *
 * A segment ends with "\n", "\r\n", or '\r' alone (a progress bar that will redraw itself).
 * Text longer than LINEBUF_MAX is split into pieces of that size. Chunk boundaries make no
 * difference: a '\r' is held until the next byte is known, and so is text of exactly
 * LINEBUF_MAX.
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

/* Appends to run all segments that the chunk completes, and holds the rest. */
void linebuf_add(struct linebuf *line, const char *bytes, size_t size, struct buffer *run);

/* Ends the stream: appends the held text, which has no '\n'. */
void linebuf_end(struct linebuf *line, struct buffer *run);

void linebuf_clear(struct linebuf *line);

enum segment_end {
    SEGMENT_NONE, /* part of a longer line, or the end of the stream */
    SEGMENT_LF,
    SEGMENT_CRLF,
    SEGMENT_CR,
};

struct segment {
    const char      *text; /* points into the run; without the line end */
    size_t           size;
    enum segment_end end;
};

/* An iterator over a run. */
struct segments {
    const char *at, *end;
    const char *cr; /* the next '\r', or end; searched for once, not for every line */
};

void segments_start(struct segments *walk, const char *run, size_t size);
bool segment_next(struct segments *walk, struct segment *segment);

#endif
