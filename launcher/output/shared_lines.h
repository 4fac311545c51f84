/* shared_lines.h - between output.c and the writers: with muster run --fold, a line that several
 * ranks write is shown once, with a label of all of them
 *
 * Whole lines wait for LINE_FOLD_S (line_fold.h). What is no whole line (a progress bar, a piece of
 * a very long line, the end of a stream without a line end) passes at once, after all lines of its
 * rank.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SHARED_LINES_H
#define MUSTER_SHARED_LINES_H

#include <stddef.h>

#include <event2/event.h>

#include "output/mailbox.h"
#include "output/output.h"
#include "output/writer.h"

/* At most this many labels of several ranks are in use. Beyond it, a line has the label of its
 * lowest rank, and behind that all of them, until the writers have nothing left to write. */
#define SHARED_LABELS_MAX 256

struct shared_lines;

/* writer: of stdout, of stderr. All is borrowed; ops->many_label and ops->world_of are called with
 * arg. ops NULL: without --fold, all passes at once. */
struct shared_lines *shared_lines_new(struct event_base *base, struct writer *const writer[2],
                                      struct mailbox *mailbox, const struct output_ops *ops,
                                      void *arg);
/* NULL is fine. Call it after the writers have been freed: they borrow the labels. */
void shared_lines_free(struct shared_lines *shared);

/* Does for the writer of this stream what writer_add() does, later. */
void shared_lines_put(struct shared_lines *shared, struct source *source, struct buffer *run,
                      size_t charge);
/* Passes on all lines. */
void shared_lines_flush(struct shared_lines *shared);
/* Passes on those of the rank of that source, and what came before them. */
void shared_lines_flush_rank(struct shared_lines *shared, const struct source *source);

/* Returns how many bytes wait here. */
size_t shared_lines_waiting(const struct shared_lines *shared);

#endif
