/* linebuf.c - see linebuf.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "output/linebuf.h"

#include <string.h>

#define HELD_ROOM_KEPT 1024 /* an idle stream holds at most this much memory */

static size_t whole(size_t held, const char *bytes, size_t size);
static void   move_held(struct linebuf *line, struct buffer *run, size_t more);

void linebuf_add(struct linebuf *line, const char *bytes, size_t size, struct buffer *run)
{
    struct buffer *held = &line->held;
    size_t         total, used = 0;

    if (size == 0)
        return;
    /* The held '\r' does not begin a "\r\n". */
    if (held->size > 0 && held->bytes[held->size - 1] == '\r' && bytes[0] != '\n')
        move_held(line, run, size);
    total = whole(held->size, bytes, size);
    if (total > 0) {
        used = total - held->size;
        move_held(line, run, used);
        buffer_add(run, bytes, used);
    }
    buffer_add(held, bytes + used, size - used);
}

void linebuf_end(struct linebuf *line, struct buffer *run)
{
    move_held(line, run, 0);
    linebuf_clear(line);
}

void linebuf_clear(struct linebuf *line)
{
    buffer_clear(&line->held);
}

static void move_held(struct linebuf *line, struct buffer *run, size_t more)
{
    buffer_reserve(run, line->held.size + more);
    buffer_add(run, line->held.bytes, line->held.size);
    line->held.size = 0;
    if (line->held.room > HELD_ROOM_KEPT)
        buffer_clear(&line->held);
}

/* Returns how much of the held text and the bytes together is complete segments, including
 * whole pieces of a text that is too long. A piece is complete when text follows it, so that
 * text of exactly LINEBUF_MAX can still get its '\n'. */
static size_t whole(size_t held, const char *bytes, size_t size)
{
    const char *lf = memrchr(bytes, '\n', size);
    size_t      ended = lf != NULL ? (size_t)(lf - bytes) + 1 : 0, text;
    const char *cr = size - ended > 1 ? memrchr(bytes + ended, '\r', size - ended - 1) : NULL;

    if (cr != NULL)
        ended = (size_t)(cr - bytes) + 1;
    if (ended > 0)
        ended += held;
    text = held + size - ended - (bytes[size - 1] == '\r');
    if (ended == held + size || text <= LINEBUF_MAX)
        return ended;
    return ended + (text - 1) / LINEBUF_MAX * LINEBUF_MAX;
}

void segments_start(struct segments *walk, const char *run, size_t size)
{
    walk->at = size > 0 ? run : "";
    walk->end = walk->at + size;
    walk->cr = memchr(walk->at, '\r', size);
    if (walk->cr == NULL)
        walk->cr = walk->end;
}

bool segment_next(struct segments *walk, struct segment *segment)
{
    const char *stop, *behind;

    if (walk->at == walk->end)
        return false;
    if (walk->cr < walk->at) {
        walk->cr = memchr(walk->at, '\r', (size_t)(walk->end - walk->at));
        if (walk->cr == NULL)
            walk->cr = walk->end;
    }
    stop = memchr(walk->at, '\n', (size_t)(walk->cr - walk->at));
    segment->end = SEGMENT_LF;
    if (stop == NULL) {
        stop = walk->cr;
        segment->end = stop == walk->end ? SEGMENT_NONE : SEGMENT_CR;
        if (stop != walk->end && stop + 1 != walk->end && stop[1] == '\n')
            segment->end = SEGMENT_CRLF;
    }
    behind = stop + (segment->end == SEGMENT_CRLF ? 2 : segment->end != SEGMENT_NONE);
    if ((size_t)(stop - walk->at) > LINEBUF_MAX) {
        stop = behind = walk->at + LINEBUF_MAX;
        segment->end = SEGMENT_NONE;
    }
    segment->text = walk->at;
    segment->size = (size_t)(stop - walk->at);
    walk->at = behind;
    return true;
}
