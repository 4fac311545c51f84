/* output.h - rank output on its way to the user's terminal or pipe
 *
 * Takes bytes by rank and stream, joins them into whole lines (linebuf.h) and passes the lines
 * to writer threads that own stdout and stderr (writer.h), so that a slow reader blocks only
 * the threads. display.h decides what lines look like, with labels, times and bars. Memory is
 * bounded: the launcher gives agents credit only for bytes that have been written
 * (ops->consumed), so the queue is at most the sum of all credits. Add to that OUTPUT_HELD_MAX
 * or OUTPUT_FOLD_MAX, and 16 KiB per rank for its last lines.
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
#define OUTPUT_HELD_MAX ((size_t)8 << 20)  /* unfinished lines; beyond it, they are split */
#define OUTPUT_FOLD_MAX ((size_t)24 << 20) /* held to fold; beyond it, output is not folded */
#define OUTPUT_SKIP_MAX ((size_t)8 << 20)  /* may_skip: queued before lines are dropped */

struct output_settings {
    int  out_fd, err_fd;
    bool timestamps;
    bool filter_out, filter_err; /* the fd is a terminal: sanitize text, draw bars */
    bool fold;                   /* print all output at the end, grouped by host */
    bool fold_lines;             /* print the same line of several ranks once (shared_lines.h) */
    bool may_skip;               /* ranks have files: drop lines for a slow reader and say so */
};

struct output;

struct output_ops {
    /* bytes of the node have left memory; give the node this much credit. Called from the event
     * loop.
     */
    void (*consumed)(size_t node, size_t bytes, void *arg);
    /* Writing failed permanently (errno; ETIMEDOUT: muster has given up on the reader). From
     * now on bytes are dropped and counted. */
    void (*failed)(bool is_stderr, int error, void *arg);
    /* Only with fold_lines: return the label of a line of these ranks, in ascending order and all
     * of one world (the caller frees it), and the number of a rank's world. */
    char *(*many_label)(const int *rank, size_t count, void *arg);
    int (*world_of)(int rank, void *arg);
};

/* Describes an error of ops->failed. */
const char *output_error_words(int error);

/* Starts the writer threads: only one if both descriptors are the same file. */
struct output *output_new(struct event_base *base, const struct output_settings *settings,
                          const struct output_ops *ops, void *arg);

/* Adds a rank before its first bytes come: its node, the label of each of its lines ("te1: ",
 * "[3] ", "": none) and, with may_skip, the file that a note refers to. shown false: its lines
 * are not printed, only held for output_tail(). Call this again when the rank restarts, perhaps
 * on another node. */
void output_add_rank(struct output *output, int rank, size_t node, const char *host,
                     const char *label, bool shown, const char *file);

/* The rank reads what the user types: its unfinished line is a prompt, and is shown again after
 * lines of others. If it has a terminal of its own, its bytes are shown as they come. */
void output_set_input(struct output *output, int rank, bool has_terminal);

/* Prepares for a restart of the rank, which then writes to another file: drops its last
 * lines. */
void output_again(struct output *output, int rank, const char *file);

/* Take the bytes of a stream, and its end. */
void output_bytes(struct output *output, int rank, enum frame_stream stream,
                  const void *bytes, size_t size);
void output_end(struct output *output, int rank, enum frame_stream stream);

/* Prints whole lines of muster's own (log_sink), from any thread. They never split a line of a
 * rank, and do not wait for lines in the queue. muster does not wait for their reader either:
 * after output_finish() a line that the reader does not take at once is left out. */
void output_own(struct output *output, const char *line, size_t size);
/* Shows the progress line if stderr is a terminal and warnings are enabled; "" or NULL removes
 * it. */
void output_progress(struct output *output, const char *text);

/* Adds the last stderr lines of a rank (of stdout if stderr is empty), newest last, safe to
 * print. The caller frees lines with strlist_clear(). */
struct strlist;
void output_tail(const struct output *output, int rank, struct strlist *lines);

/* Returns the bytes in memory that wait for the writer. */
size_t output_waiting(const struct output *output);

/* A stalled reader holds up the nodes, which wait for credit. output_stuck_s() returns for how
 * long the slower of the two readers has taken nothing, or 0. output_give_up() gives up on
 * readers that have taken nothing for patience_s. */
double output_stuck_s(const struct output *output);
void   output_give_up(struct output *output, double patience_s);

/* No more output will come: queues what is held back (fold: the grouped output). Then run the
 * event loop until output_is_written(), for as long as the readers may take. The loop wakes up
 * whenever output_is_written() may have changed. */
void output_close(struct output *output);
bool output_is_written(struct output *output);

/* Returns the bytes of ranks that no reader has taken yet. */
uint64_t output_unread(const struct output *output);

/* Writes everything that waits and joins the threads. Gives up on a reader that takes nothing
 * for patience_s. Delivers new failures (ops->failed), then returns how many bytes of ranks
 * were lost, now or before. 0 without a failure means that all bytes were written. */
uint64_t output_finish(struct output *output, double patience_s);
void     output_free(struct output *output);

#endif
