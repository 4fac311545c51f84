/* display.h - what lines of many streams look like in one terminal, pipe or file
 *
 * Pure: turns runs of segments into the bytes to be written, and remembers what
 * the cursor stands behind. No line of one stream ever joins one of another.
 *
 * On a terminal, what ends in '\r' is transient: one line, cut to the width,
 * which the next thing written takes the place of; so are the progress line of
 * muster and text that its rank has not ended yet. Text is made visible (visible.h).
 *
 * Elsewhere '\r' stays, so that bars also live behind `| tee log`; whatever comes
 * from another stream begins on a fresh line. Without label and time the bytes
 * of a stream are otherwise passed on as they are.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DISPLAY_H
#define MUSTER_DISPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "buffer.h"

#define DISPLAY_COLUMNS 80          /* when the terminal does not say */
#define DISPLAY_FULL    (64 * 1024) /* bytes in out that call for full() */

/* One stream of one rank, as far as showing it goes; embedded in the owner's. */
struct source {
    const char *label; /* in front of each of its lines; "": nothing */
    size_t      label_size;
    size_t      node;      /* whose credit its bytes are */
    bool        is_stderr;
    bool        is_timed;  /* the time comes behind the label */
    struct run *open;      /* the writer's: its last run that still waits */
};

struct display {
    bool   is_terminal;
    size_t columns;
    bool   is_transient;        /* something on this line is to be erased */
    const struct source *open;  /* not a terminal: who wrote behind the last '\n' */
    time_t second;              /* that clock is made for */
    char   clock[16];
    /* Empties out between two lines, so that a run of short lines and a long
     * label does not add up; NULL: never. */
    void (*full)(struct buffer *out, void *arg);
    void  *arg;
};

void display_init(struct display *display, bool is_terminal);

/* Whole segments of a stream, which came at that time. */
void display_run(struct display *display, const struct source *source,
                 const struct timespec *when, const char *bytes, size_t size,
                 struct buffer *out);

/* Text that its stream has not ended yet; only for a terminal. */
void display_unfinished(struct display *display, const struct source *source,
                        const struct timespec *when, const char *text, size_t size,
                        struct buffer *out);

/* Whole lines of muster's own. */
void display_own(struct display *display, const char *lines, size_t size, struct buffer *out);

/* A line of muster's own that the next thing replaces; "" takes it away. Only for
 * a terminal. */
void display_progress(struct display *display, const char *text, struct buffer *out);

/* Nothing more comes: leave the cursor at the start of a line. */
void display_end(struct display *display, struct buffer *out);

#endif
