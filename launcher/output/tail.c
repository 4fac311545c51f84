/* tail.c - see tail.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "output/tail.h"

#include <stdlib.h>
#include <string.h>

#include "output/linebuf.h"
#include "sanitize.h"

static void start_walk(const struct tail *tail, struct segments *walk);

void tail_add(struct tail *tail, bool is_stderr, const char *bytes, size_t size)
{
    struct buffer *text = &tail->text;

    if (is_stderr && !tail->is_stderr && size > 0) {
        text->size = 0;
        tail->is_cut = false;
        tail->is_stderr = true;
    }
    if (is_stderr != tail->is_stderr)
        return;
    if (size > TAIL_BYTES) {
        bytes += size - TAIL_BYTES;
        size = TAIL_BYTES;
        text->size = 0;
        tail->is_cut = true;
    }
    if (text->size + size > 2 * TAIL_BYTES) {
        memmove(text->bytes, text->bytes + text->size - TAIL_BYTES, TAIL_BYTES);
        text->size = TAIL_BYTES;
        tail->is_cut = true;
    }
    buffer_add(text, bytes, size);
}

void tail_lines(const struct tail *tail, size_t count, struct strlist *lines)
{
    struct segments walk;
    struct segment  segment;
    size_t          skip = 0;
    char           *text;

    start_walk(tail, &walk);
    while (segment_next(&walk, &segment))
        skip += segment.end != SEGMENT_CR || walk.at == walk.end;
    skip = skip > count ? skip - count : 0;
    start_walk(tail, &walk);
    while (segment_next(&walk, &segment)) {
        if (segment.end == SEGMENT_CR && walk.at != walk.end)
            continue;
        if (skip > 0) {
            skip--;
            continue;
        }
        text = sanitize_output(segment.text, segment.size);
        strlist_add(lines, text);
        free(text);
    }
}

/* Starts at the last TAIL_BYTES, without a line whose beginning is lost. */
static void start_walk(const struct tail *tail, struct segments *walk)
{
    const char *bytes = tail->text.bytes, *lf;
    size_t      size = tail->text.size;
    bool        is_cut = tail->is_cut;

    if (size > TAIL_BYTES) {
        bytes += size - TAIL_BYTES;
        size = TAIL_BYTES;
        is_cut = true;
    }
    lf = is_cut ? memchr(bytes, '\n', size) : NULL;
    if (lf != NULL && lf + 1 != bytes + size) {
        size -= (size_t)(lf + 1 - bytes);
        bytes = lf + 1;
    }
    segments_start(walk, bytes, size);
}

void tail_clear(struct tail *tail)
{
    buffer_clear(&tail->text);
}
