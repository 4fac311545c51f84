/* output.h - rank output on its way to the user's terminal or pipe
 *
 * Takes bytes per rank and stream, puts them together to whole lines (linebuf.h)
 * and hands those to writer threads that own stdout and stderr (writer.h): a slow
 * reader blocks only them. What lines look like, with labels, times and bars, is
 * display.h's. What is in memory is bounded: the launcher gives agents credit only
 * for bytes that have been written (ops->consumed), so what waits is at most the
 * sum of all credits; the rest is OUTPUT_HELD_MAX or OUTPUT_FOLD_MAX, and 16 KiB a
 * rank for its last lines.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OUTPUT_H
#define MUSTER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/event.h>

#include "frame.h"

#define OUTPUT_TAIL_LINES 20 /* stderr lines kept per rank for the report */
#define OUTPUT_HELD_MAX ((size_t)8 << 20)  /* of unfinished lines; then in pieces */
#define OUTPUT_FOLD_MAX ((size_t)24 << 20) /* to fold; then shown as it comes */
#define OUTPUT_SKIP_MAX ((size_t)8 << 20)  /* may_skip: waits before lines are dropped */

struct output_settings {
    int  out_fd, err_fd;
    bool timestamps;
    bool filter_out, filter_err; /* that fd is a terminal: escapes visible, bars drawn */
    bool fold;                   /* keep everything; print folded by host at the end */
    bool may_skip;               /* ranks have files: drop lines for a slow reader, saying so */
};

struct output;

struct output_ops {
    /* node's bytes have left memory; give it that much credit. Called from the
     * event loop. */
    void (*consumed)(size_t node, size_t bytes, void *arg);
    /* Writing failed for good (errno; ETIMEDOUT: its reader was given up): bytes are
     * dropped and counted from here. */
    void (*failed)(bool is_stderr, int error, void *arg);
};

/* An error of ops->failed in words. */
const char *output_error_words(int error);

/* Starts the writer threads: one, if both descriptors are the same file. */
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

/* Whole lines of muster's own (log_sink), from any thread: they never cut a rank's
 * line and do not wait for those in the queue. */
void output_own(struct output *output, const char *line, size_t size);
/* The progress line, only when stderr is a terminal; "" or NULL takes it away. */
void output_progress(struct output *output, const char *text);

/* Last stderr lines of a rank (stdout's when stderr is empty), newest last, safe
 * to print; caller frees with strlist_clear. */
struct strlist;
void output_tail(const struct output *output, int rank, struct strlist *lines);

/* Bytes now in memory, waiting for the writer. */
size_t output_waiting(const struct output *output);

/* A reader who takes nothing holds up the nodes, which wait for credit. For how long he
 * has taken nothing, the worse of the two, or 0; and give up those who have not for
 * patience_s. */
double output_stuck_s(const struct output *output);
void   output_give_up(struct output *output, double patience_s);

/* Write everything that waits (fold: the folded result), join the threads. A
 * reader that takes nothing for patience_s is given up. What failed only now is told
 * (ops->failed) before this returns how many bytes of ranks were lost, now or before:
 * 0 and no failure is all well. */
uint64_t output_finish(struct output *output, double patience_s);
void     output_free(struct output *output);

#endif
