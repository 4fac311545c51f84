/* display.h - what lines of many streams look like in one terminal, pipe or file
 *
 * Does no I/O: turns runs of segments into bytes for the writer, and remembers what is on the
 * cursor's line. A line of one stream never joins a line of another.
 *
 * On a terminal, text that ends in '\r' is transient: one line, truncated to the width, which
 * the next output replaces. muster's progress line and the unfinished lines of ranks are
 * transient, too. Text is sanitized (sanitize.h).
 *
 * What a rank writes to a terminal of its own (--pty) is shown as it comes, escape sequences too:
 * the user has asked for them. Other lines begin below it.
 *
 * A line that is too long for one segment becomes several. From the second on they begin with
 * an ellipsis after the label.
 *
 * In a pipe or file '\r' is passed on, so that progress bars also work with `| tee log`. Output
 * of another stream begins on a new line. Without label and time the bytes of a stream are
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

#define DISPLAY_COLUMNS 80          /* if the terminal does not report its width */
#define DISPLAY_FULL    (64 * 1024) /* bytes in out after which full() is called */

/* What display needs to know about one stream of one rank. Part of a struct of the caller. */
struct source {
    const char *label; /* before each of its lines; "": nothing */
    size_t      label_size;
    int         rank;
    size_t      node;      /* the node whose credit the stream's bytes use */
    bool        is_stderr;
    bool        is_timed;  /* the time follows the label */
    bool        is_raw;    /* a terminal of its own: its bytes are shown as they come */
    bool        is_cut;    /* display's: the last segment has not ended its line */
    struct run *open;      /* the writer's: the stream's last run in the queue */
};

/* A segment in out: the offset of its end, and how many of its bytes come from a rank. */
struct mark {
    size_t end, bytes;
};

struct display {
    bool   is_terminal;
    size_t columns;
    bool   is_transient;        /* the text on this line must be erased */
    bool   has_raw;             /* a terminal: raw bytes were shown; lines end in "\r\n" */
    bool   is_raw_open;         /* ... and have not ended this line */
    const struct source *open;  /* not a terminal: the stream that wrote after the last '\n' */
    time_t second;              /* the second that clock shows */
    char   clock[16];
    /* Empties out between two lines, so that a run of many short lines with a long label does
     * not grow; NULL: never. */
    void (*full)(struct buffer *out, void *arg);
    void  *arg;
    /* The segments that out contains now. */
    struct mark *mark;
    size_t       marks, room;
};

void display_init(struct display *display, bool is_terminal);
void display_clear(struct display *display);

/* Empties out, of which the first `written` bytes have been written. Returns how many bytes of
 * ranks are lost with the rest. */
uint64_t display_emptied(struct display *display, struct buffer *out, size_t written);

/* Shows whole segments of a stream, received at the time when. */
void display_run(struct display *display, struct source *source,
                 const struct timespec *when, const char *bytes, size_t size,
                 struct buffer *out);

/* Shows an unfinished line of a stream; on a terminal only. */
void display_unfinished(struct display *display, const struct source *source,
                        const struct timespec *when, const char *text, size_t size,
                        struct buffer *out);

/* Shows whole lines of muster's own. */
void display_own(struct display *display, const char *lines, size_t size, struct buffer *out);

/* Shows a line of muster's own that the next output replaces; "" removes it. On a terminal
 * only. */
void display_progress(struct display *display, const char *text, struct buffer *out);

/* Ends the output: leaves the cursor at the start of a line. */
void display_end(struct display *display, struct buffer *out);

#endif
