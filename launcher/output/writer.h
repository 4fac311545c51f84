/* writer.h - the thread that writes to one terminal, pipe or file
 *
 * Runs of whole lines queue here; the thread turns them into bytes (display.h) and writes them
 * in batches. It may block as long as the reader does: only writer_finish() waits for it, and
 * writer_close() lets the event loop run until it has ended.
 * stdout and stderr share a writer if they are the same file, so that lines keep their order;
 * else each has its own, and muster's own lines on stderr do not wait for a stalled reader of
 * stdout.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WRITER_H
#define MUSTER_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "output/display.h"

/* At most this much of muster's own lines waits; more are left out, with a note. */
#define WRITER_OWN_MAX ((size_t)1 << 20)
/* While less than this waits, lines are written in the order in which they came. Beyond it many
 * small runs would cost more than the bytes in them, so lines join the last waiting run of
 * their stream. */
#define WRITER_STRICT_MAX ((size_t)1 << 20)

struct writer;

/* Both are called from the thread of the writer. */
struct writer_ops {
    /* This many bytes of a node have left memory, written or dropped. */
    void (*done)(size_t node, size_t bytes, void *arg);
    /* Writing failed, for the first time on this descriptor: from here on its bytes are dropped
     * and counted. ETIMEDOUT: writer_finish() gave up the reader. */
    void (*failed)(bool is_stderr, int error, void *arg);
    /* After writer_close(): all was written, and writer_finish() will not wait. NULL is fine. */
    void (*over)(void *arg);
};

/* fd[0] is stdout, fd[1] stderr; borrowed. */
struct writer *writer_new(const int fd[2], bool is_terminal, const struct writer_ops *ops,
                          void *arg);

/* Queue whole lines; takes the bytes of run, which is empty afterwards. done() is called with
 * charge. */
void writer_add(struct writer *writer, struct source *source, struct buffer *run,
                size_t charge);

/* On a terminal, show what source has not ended yet. False: lines are waiting, which come
 * first. */
bool writer_unfinished(struct writer *writer, struct source *source, const char *text,
                       size_t size);

/* muster's own lines, to stderr, before anything that waits. */
void writer_own(struct writer *writer, const char *lines, size_t size);
/* A transient line of muster on a terminal; "" removes it. */
void writer_progress(struct writer *writer, const char *text);

/* Memory that waits, in bytes, with the cost of the queue. */
size_t writer_waiting(struct writer *writer);

/* Bytes of ranks that were added and not written yet, a batch more at most. */
uint64_t writer_unread(struct writer *writer);

/* For how long the reader has taken nothing although something waits; 0 if nothing waits. */
double writer_stuck_s(struct writer *writer);

/* Let the thread end once all is written; it calls over(). What is added after that is dropped
 * and counted. */
void writer_close(struct writer *writer);
bool writer_is_over(struct writer *writer);

/* Write all that waits and end the thread, or give up when the reader takes nothing for
 * patience_s. Returns how many bytes were lost, now or before. Bytes that are added later are
 * dropped and counted at once. */
uint64_t writer_finish(struct writer *writer, double patience_s);
void     writer_free(struct writer *writer); /* after writer_finish() */

#endif
