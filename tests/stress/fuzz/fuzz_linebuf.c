/* fuzz_linebuf.c - a stream in any chunks gives the segments that it gives in one piece
 *
 * The first byte says how large chunks are; bytes 0xfe stand for many 'x', so that
 * long lines come up.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "output/linebuf.h"

#define LONG_TEXT  400000
#define STREAM_MAX ((size_t)3 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Add each segment of the run to out as its end, its size and its bytes. */
static void describe(const struct buffer *run, struct buffer *out)
{
    struct segments walk;
    struct segment  segment;

    segments_start(&walk, run->bytes, run->size);
    while (segment_next(&walk, &segment)) {
        if (segment.size > LINEBUF_MAX || (segment.size == 0 && segment.end == SEGMENT_NONE))
            abort();
        buffer_add(out, &segment.end, sizeof segment.end);
        buffer_add(out, &segment.size, sizeof segment.size);
        buffer_add(out, segment.text, segment.size);
    }
}

static void feed(const struct buffer *stream, size_t chunk, struct buffer *out)
{
    struct linebuf line = { 0 };
    struct buffer  run = { 0 };
    size_t         at, n;

    for (at = 0; at < stream->size; at += n) {
        n = chunk < stream->size - at ? chunk : stream->size - at;
        run.size = 0;
        linebuf_add(&line, stream->bytes + at, n, &run);
        if (line.held.size > LINEBUF_MAX + 1)
            abort();
        describe(&run, out);
    }
    run.size = 0;
    linebuf_end(&line, &run);
    describe(&run, out);
    buffer_clear(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer stream = { 0 }, whole = { 0 }, pieces = { 0 };
    size_t        i;

    if (size == 0)
        return 0;
    for (i = 1; i < size && stream.size < STREAM_MAX; i++) {
        if (data[i] != 0xfe) {
            buffer_add(&stream, data + i, 1);
            continue;
        }
        memset(buffer_reserve(&stream, LONG_TEXT), 'x', LONG_TEXT);
        stream.size += LONG_TEXT;
    }
    feed(&stream, STREAM_MAX * 2, &whole);
    feed(&stream, data[0] < 128 ? (size_t)data[0] + 1 : (size_t)data[0] * 400, &pieces);
    if (whole.size != pieces.size ||
        (whole.size > 0 && memcmp(whole.bytes, pieces.bytes, whole.size) != 0))
        abort();
    buffer_clear(&stream);
    buffer_clear(&whole);
    buffer_clear(&pieces);
    return 0;
}
