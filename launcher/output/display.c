/* display.c - see display.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "output/display.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/linebuf.h"
#include "sanitize.h"
#include "xalloc.h"

#define ERASE_LINE "\r\033[K"
#define ELLIPSIS   "\u2026"

#define MARKS_FIRST 64

struct prefix {
    const char *label, *clock;
    size_t      label_size, clock_size;
};

static void          copy_lines(struct display *display, struct source *source,
                                const struct prefix *prefix, const char *bytes,
                                size_t size, struct buffer *out);
static void          show_lines(struct display *display, struct source *source,
                                const struct prefix *prefix, const char *bytes,
                                size_t size, struct buffer *out);
static void          show_raw(struct display *display, const char *bytes, size_t size,
                              struct buffer *out);
static void          show_transient(struct display *display, const struct prefix *prefix,
                                    const char *text, size_t size, struct buffer *out);
static void          erase(struct display *display, struct buffer *out);
static void          end_line(const struct display *display, struct buffer *out);
static void          add_mark(struct display *display, const struct buffer *out, size_t bytes);
static void          empty_if_full(struct display *display, struct buffer *out);
static struct prefix prefix_of(struct display *display, const struct source *source,
                               const struct timespec *when, char *clock, size_t room);
static void          add_prefix(struct buffer *out, const struct prefix *prefix);
static void          add_ellipsis(struct buffer *out, struct source *source,
                                  const struct segment *segment);

void display_init(struct display *display, bool is_terminal)
{
    *display = (struct display){ .is_terminal = is_terminal, .columns = DISPLAY_COLUMNS };
}

void display_clear(struct display *display)
{
    free(display->mark);
    display->mark = NULL;
    display->marks = display->room = 0;
}

uint64_t display_emptied(struct display *display, struct buffer *out, size_t written)
{
    uint64_t lost = 0;
    size_t   i, left;

    for (i = display->marks; i > 0 && display->mark[i - 1].end > written; i--) {
        left = display->mark[i - 1].end - written;
        lost += left < display->mark[i - 1].bytes ? left : display->mark[i - 1].bytes;
    }
    display->marks = 0;
    out->size = 0;
    return lost;
}

void display_run(struct display *display, struct source *source,
                 const struct timespec *when, const char *bytes, size_t size,
                 struct buffer *out)
{
    char          clock[32];
    struct prefix prefix = prefix_of(display, source, when, clock, sizeof clock);

    if (size == 0)
        return;
    if (!display->is_terminal && display->open != NULL && display->open != source)
        buffer_add(out, "\n", 1);
    if (display->is_terminal && source->is_raw) {
        show_raw(display, bytes, size, out);
    } else if (display->is_terminal) {
        show_lines(display, source, &prefix, bytes, size, out);
    } else if (prefix.label_size + prefix.clock_size > 0) {
        copy_lines(display, source, &prefix, bytes, size, out);
    } else {
        buffer_add(out, bytes, size);
        add_mark(display, out, size);
        display->open = bytes[size - 1] != '\n' ? source : NULL;
    }
}

static void copy_lines(struct display *display, struct source *source,
                       const struct prefix *prefix, const char *bytes, size_t size,
                       struct buffer *out)
{
    static const struct {
        char   text[2];
        size_t size;
    } ends[] = {
        [SEGMENT_NONE] = { "\n", 1 },
        [SEGMENT_LF] = { "\n", 1 },
        [SEGMENT_CRLF] = { "\r\n", 2 },
        [SEGMENT_CR] = { "\r", 1 },
    };
    struct segments walk;
    struct segment  segment = { .end = SEGMENT_NONE };

    segments_start(&walk, bytes, size);
    while (segment_next(&walk, &segment)) {
        buffer_reserve(out, prefix->label_size + prefix->clock_size + strlen(ELLIPSIS) +
                                segment.size + 2);
        add_prefix(out, prefix);
        add_ellipsis(out, source, &segment);
        buffer_add(out, segment.text, segment.size);
        buffer_add(out, ends[segment.end].text, ends[segment.end].size);
        add_mark(display, out,
                 segment.size + (segment.end == SEGMENT_NONE ? 0 : ends[segment.end].size));
        empty_if_full(display, out);
    }
    display->open = segment.end == SEGMENT_CR ? source : NULL;
}

void display_unfinished(struct display *display, const struct source *source,
                        const struct timespec *when, const char *text, size_t size,
                        struct buffer *out)
{
    char          clock[32];
    struct prefix prefix = prefix_of(display, source, when, clock, sizeof clock);

    if (display->is_terminal)
        show_transient(display, &prefix, text, size, out);
}

void display_own(struct display *display, const char *lines, size_t size, struct buffer *out)
{
    static const struct prefix none;
    struct source              own = { .label = "" };

    if (display->is_terminal) {
        show_lines(display, &own, &none, lines, size, out);
        return;
    }
    if (display->open != NULL)
        buffer_add(out, "\n", 1);
    buffer_add(out, lines, size);
    display->open = NULL;
}

static void show_raw(struct display *display, const char *bytes, size_t size, struct buffer *out)
{
    display->is_raw_open = false;
    erase(display, out);
    buffer_add(out, bytes, size);
    add_mark(display, out, size);
    display->has_raw = true;
    display->is_raw_open = bytes[size - 1] != '\n';
}

/* Shows only the last of several progress bars, and none if a line follows. */
static void show_lines(struct display *display, struct source *source,
                       const struct prefix *prefix, const char *bytes, size_t size,
                       struct buffer *out)
{
    struct segments walk;
    struct segment  segment = { .end = SEGMENT_NONE };

    segments_start(&walk, bytes, size);
    while (segment_next(&walk, &segment)) {
        if (segment.end == SEGMENT_CR) {
            source->is_cut = false;
            continue;
        }
        erase(display, out);
        add_prefix(out, prefix);
        add_ellipsis(out, source, &segment);
        sanitize_add_output(out, segment.text, segment.size, SANITIZE_ALL);
        end_line(display, out);
        add_mark(display, out, segment.size + 1);
        empty_if_full(display, out);
    }
    if (segment.end == SEGMENT_CR)
        show_transient(display, prefix, segment.text, segment.size, out);
}

void display_progress(struct display *display, const char *text, struct buffer *out)
{
    static const struct prefix none;

    if (!display->is_terminal)
        return;
    if (*text != '\0')
        show_transient(display, &none, text, strlen(text), out);
    else
        erase(display, out);
}

void display_end(struct display *display, struct buffer *out)
{
    erase(display, out);
    if (display->open != NULL && (display->open->label_size > 0 || display->open->is_timed))
        buffer_add(out, "\n", 1);
    display->open = NULL;
}

/* Leaves the last column empty: on some terminals the cursor would wrap there. */
static void show_transient(struct display *display, const struct prefix *prefix,
                           const char *text, size_t size, struct buffer *out)
{
    struct buffer line = { 0 };

    erase(display, out);
    add_prefix(&line, prefix);
    buffer_add(&line, text, size);
    sanitize_add_output(out, line.bytes, line.size,
                        display->columns > 1 ? display->columns - 1 : 1);
    buffer_clear(&line);
    display->is_transient = true;
}

static void erase(struct display *display, struct buffer *out)
{
    if (display->is_transient)
        buffer_add_text(out, ERASE_LINE);
    if (display->is_raw_open)
        end_line(display, out);
    display->is_transient = display->is_raw_open = false;
}

static void end_line(const struct display *display, struct buffer *out)
{
    buffer_add_text(out, display->has_raw ? "\r\n" : "\n");
}

static void add_mark(struct display *display, const struct buffer *out, size_t bytes)
{
    if (display->marks == display->room) {
        display->room = display->room > 0 ? 2 * display->room : MARKS_FIRST;
        display->mark = xreallocarray(display->mark, display->room, sizeof *display->mark);
    }
    display->mark[display->marks++] = (struct mark){ out->size, bytes };
}

static void empty_if_full(struct display *display, struct buffer *out)
{
    if (out->size >= DISPLAY_FULL && display->full != NULL)
        display->full(out, display->arg);
}

static struct prefix prefix_of(struct display *display, const struct source *source,
                               const struct timespec *when, char *clock, size_t room)
{
    struct prefix prefix = { source->label, clock, source->label_size, 0 };
    struct tm     local;
    int           n;

    if (!source->is_timed)
        return prefix;
    if (display->second != when->tv_sec || display->clock[0] == '\0') {
        if (localtime_r(&when->tv_sec, &local) == NULL ||
            strftime(display->clock, sizeof display->clock, "%H:%M:%S", &local) == 0)
            return prefix;
        display->second = when->tv_sec;
    }
    n = snprintf(clock, room, "%s.%03ld ", display->clock, when->tv_nsec / 1000000);
    prefix.clock_size = n > 0 && (size_t)n < room ? (size_t)n : 0;
    return prefix;
}

static void add_prefix(struct buffer *out, const struct prefix *prefix)
{
    buffer_add(out, prefix->label, prefix->label_size);
    buffer_add(out, prefix->clock, prefix->clock_size);
}

/* Adds an ellipsis before a segment that continues a line. */
static void add_ellipsis(struct buffer *out, struct source *source, const struct segment *segment)
{
    if (source->is_cut)
        buffer_add_text(out, ELLIPSIS);
    source->is_cut = segment->end == SEGMENT_NONE;
}
