/* output.h - rank output on its way to the user's terminal or pipe
 *
 * Takes bytes by rank and stream, joins them into whole lines (linebuf.h) and passes those to
 * writer threads that own stdout and stderr (writer.h): a slow reader blocks only them.
 * display.h decides what lines look like, with labels, times and bars. Memory is bounded: the
 * launcher gives agents credit only for bytes that have been written (ops->consumed), so the
 * queue is at most the sum of all credits; the rest is OUTPUT_HELD_MAX or OUTPUT_FOLD_MAX, and
 * 16 KiB per rank for its last lines.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OUTPUT_H
#define MUSTER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/event.h>

#include "frame.h"

#define OUTPUT_TAIL_LINES 20 /* last stderr lines of each rank, for the report */
#define OUTPUT_HELD_MAX ((size_t)8 << 20)  /* of unfinished lines; then in pieces */
#define OUTPUT_FOLD_MAX ((size_t)24 << 20) /* to fold; beyond it output is printed as it comes */
#define OUTPUT_SKIP_MAX ((size_t)8 << 20)  /* may_skip: waits before lines are dropped */

struct output_settings {
    int  out_fd, err_fd;
    bool timestamps;
    bool filter_out, filter_err; /* that fd is a terminal: sanitize text, draw bars */
    bool fold;                   /* print all output at the end, grouped by host */
    bool may_skip;               /* ranks have files: drop lines for a slow reader, and note it */
};

struct output;

struct output_ops {
    /* bytes of the node have left memory; give it that much credit. Called from the event loop.
     */
    void (*consumed)(size_t node, size_t bytes, void *arg);
    /* Writing failed permanently (errno; ETIMEDOUT: the reader was given up): from here on
     * bytes are dropped and counted. */
    void (*failed)(bool is_stderr, int error, void *arg);
};

/* An error of ops->failed in words. */
const char *output_error_words(int error);

/* Start the writer threads: one, if both descriptors are the same file. */
struct output *output_new(struct event_base *base, const struct output_settings *settings,
                          const struct output_ops *ops, void *arg);

/* Call this before bytes of a rank come: its node, what to print before each of its lines
 * ("te1: ", "[3] ", "" for nothing) and, with may_skip, the file to refer to. shown false: its
 * lines are not printed, only held for output_tail(). Again, when the rank starts again and may
 * have moved. */
void output_add_rank(struct output *output, int rank, size_t node, const char *host,
                     const char *label, bool shown, const char *file);

/* The rank starts again, and writes to another file: its last lines are forgotten. */
void output_again(struct output *output, int rank, const char *file);

/* Bytes of a stream, then its end. */
void output_bytes(struct output *output, int rank, enum frame_stream stream,
                  const void *bytes, size_t size);
void output_end(struct output *output, int rank, enum frame_stream stream);

/* Whole lines of muster's own (log_sink), from any thread: they never split a line of a rank
 * and do not wait for those in the queue. muster does not wait for their reader either: after
 * output_finish() a line that it does not take at once is left out. */
void output_own(struct output *output, const char *line, size_t size);
/* The progress line, if stderr is a terminal and warnings are wanted; "" or NULL removes it. */
void output_progress(struct output *output, const char *text);

/* The last stderr lines of a rank (of stdout if stderr is empty), newest last, safe to print;
 * caller frees with strlist_clear. */
struct strlist;
void output_tail(const struct output *output, int rank, struct strlist *lines);

/* Bytes in memory that wait for the writer. */
size_t output_waiting(const struct output *output);

/* A stalled reader holds up the nodes, which wait for credit. The first returns for how long
 * the slower of both readers has taken nothing, or 0; the second gives up those that have taken
 * nothing for patience_s. */
double output_stuck_s(const struct output *output);
void   output_give_up(struct output *output, double patience_s);

/* Nothing more will come: queue what is held back (fold: the grouped output). Then run the event
 * loop until output_is_written(), as long as the readers may take; something happens in the loop
 * whenever that may have changed. */
void output_close(struct output *output);
bool output_is_written(struct output *output);

/* Bytes of ranks that no reader has taken so far. */
uint64_t output_unread(const struct output *output);

/* Write everything that waits and join the threads. Give up a reader that takes nothing for
 * patience_s. Returns how many bytes of ranks were lost, now or before;
 * before that, new failures are delivered (ops->failed). 0 without a failure means that all was
 * written. */
uint64_t output_finish(struct output *output, double patience_s);
void     output_free(struct output *output);

#endif
