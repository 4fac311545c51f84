/* display.h - what lines of many streams look like in one terminal, pipe or file
 *
 * Does no I/O: turns runs of segments into the bytes to be written, and remembers what is on
 * the line of the cursor. No line of one stream ever joins one of another.
 *
 * On a terminal, what ends in '\r' is transient: one line, cut to the width, which the next
 * output replaces; so are muster's progress line and text that its rank has not ended yet. Text
 * is sanitized (sanitize.h).
 *
 * A line that is too long for one segment becomes several; from the second on they begin with
 * an ellipsis behind the label.
 *
 * Elsewhere '\r' is passed on, so that progress bars also work with `| tee log`; output of
 * another stream begins on a new line. Without label and time the bytes of a stream are
 * otherwise passed on unchanged, without an ellipsis.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DISPLAY_H
#define MUSTER_DISPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "buffer.h"

#define DISPLAY_COLUMNS 80          /* if the terminal does not say */
#define DISPLAY_FULL    (64 * 1024) /* bytes in out after which full() is called */

/* What display needs of one stream of one rank; part of a struct of the caller. */
struct source {
    const char *label; /* before each of its lines; "": nothing */
    size_t      label_size;
    size_t      node;      /* the node whose credit its bytes use */
    bool        is_stderr;
    bool        is_timed;  /* the time follows the label */
    bool        is_cut;    /* display's: its last segment has not ended its line */
    struct run *open;      /* the writer's: its last run in the queue */
};

/* A segment in out: where it ends there, and how many of its bytes are a rank's. */
struct mark {
    size_t end, bytes;
};

struct display {
    bool   is_terminal;
    size_t columns;
    bool   is_transient;        /* the text on this line is to be erased */
    const struct source *open;  /* not a terminal: the stream that wrote after the last '\n' */
    time_t second;              /* the second that clock shows */
    char   clock[16];
    /* Empties out between two lines, so that a run of many short lines with a long label does
     * not grow; NULL: never. */
    void (*full)(struct buffer *out, void *arg);
    void  *arg;
    /* The segments that are in out now. */
    struct mark *mark;
    size_t       marks, room;
};

void display_init(struct display *display, bool is_terminal);
void display_clear(struct display *display);

/* The first `written` bytes of out have been written, the rest is to be dropped: how many bytes of
 * ranks are lost. Then out is empty. */
uint64_t display_emptied(struct display *display, struct buffer *out, size_t written);

/* Whole segments of a stream, received at that time. */
void display_run(struct display *display, struct source *source,
                 const struct timespec *when, const char *bytes, size_t size,
                 struct buffer *out);

/* Text that its stream has not ended yet; on a terminal only. */
void display_unfinished(struct display *display, const struct source *source,
                        const struct timespec *when, const char *text, size_t size,
                        struct buffer *out);

/* Whole lines of muster's own. */
void display_own(struct display *display, const char *lines, size_t size, struct buffer *out);

/* A line of muster's own that the next output replaces; "" removes it. On a terminal only. */
void display_progress(struct display *display, const char *text, struct buffer *out);

/* The end: leave the cursor at the start of a line. */
void display_end(struct display *display, struct buffer *out);

#endif
