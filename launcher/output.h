/* output.h - rank output on its way to the user's terminal or pipe
 *
 * Takes bytes per rank and stream, cuts them into whole lines, labels them and
 * hands them to a writer thread that owns stdout and stderr: a slow reader
 * blocks only that thread. What is in memory is bounded: the launcher gives
 * agents credit only for bytes that have been written (output_consumed).
 *
 * A segment ends at '\n' or at '\r' (a progress bar's redraw). When the stream
 * is a terminal, control characters other than tab, newline and SGR colour
 * sequences are shown as visible text. A line longer than OUTPUT_LINE_MAX is
 * cut into pieces of that length, each a line of its own.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OUTPUT_H
#define MUSTER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/event.h>

#include "frame.h"

#define OUTPUT_LINE_MAX (64 * 1024)
#define OUTPUT_TAIL_LINES 20 /* stderr lines kept per rank for the report */

struct output_settings {
    int  out_fd, err_fd;
    bool timestamps;
    bool filter_out, filter_err; /* make escapes visible: that fd is a terminal */
    bool fold;                   /* keep everything; print folded by host at the end */
    bool may_skip;               /* per-rank files exist: drop lines for a slow reader, saying so */
};

struct output;

struct output_ops {
    /* node's bytes have left memory; give it that much credit. Called from the
     * event loop. */
    void (*consumed)(size_t node, size_t bytes, void *arg);
    /* Writing failed for good (errno): bytes are dropped and counted from here. */
    void (*failed)(bool is_stderr, int error, void *arg);
};

/* Starts the writer thread. */
struct output *output_new(struct event_base *base, const struct output_settings *settings,
                          const struct output_ops *ops, void *arg);

/* Before bytes of a rank come: on which node it is, what stands in front of its
 * lines ("te1: ", "[3] ", "" for none) and, with may_skip, the file to name.
 * shown false: its lines are not printed, only its tail is kept. */
void output_add_rank(struct output *output, int rank, size_t node, const char *host,
                     const char *label, bool shown, const char *file);

/* Bytes of a stream, then its end. */
void output_bytes(struct output *output, int rank, enum frame_stream stream,
                  const void *bytes, size_t size);
void output_end(struct output *output, int rank, enum frame_stream stream);

/* Whole lines of muster's own (log_sink): they never cut a rank's line. */
void output_own(struct output *output, const char *line, size_t size);
/* The progress line on a terminal; "" or NULL takes it away. */
void output_progress(struct output *output, const char *text);

/* Last stderr lines of a rank (stdout's when stderr is empty), newest last, safe
 * to print; caller frees with strlist_clear. */
struct strlist;
void output_tail(const struct output *output, int rank, struct strlist *lines);

/* Bytes now in memory, waiting for the writer. */
size_t output_waiting(const struct output *output);

/* Write everything that waits (fold: the folded result), join the thread.
 * deadline_s: how long a reader that does not read may hold us up. Returns the
 * number of bytes that were lost: 0 is all well. */
uint64_t output_finish(struct output *output, double deadline_s);
void     output_free(struct output *output);

#endif
