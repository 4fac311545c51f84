/* writer.h - the thread that writes to one terminal, pipe or file
 *
 * Runs of whole lines queue here; the thread turns them into bytes (display.h) and writes them
 * in batches. The thread blocks while the reader does. Only writer_finish() waits for it;
 * writer_close() lets the event loop run until the thread has ended. stdout and stderr share a
 * writer if they are the same file, so that lines keep their order. Otherwise each has its own,
 * and muster's own lines on stderr do not wait for a stalled reader of stdout.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WRITER_H
#define MUSTER_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "output/display.h"

/* Maximum bytes of muster's own lines in the queue; further lines are left out, with a note. */
#define WRITER_OWN_MAX ((size_t)1 << 20)
/* While fewer bytes than this wait, lines are written in the order in which they came. Beyond
 * it, many small runs would take more memory than their bytes, so lines join the last waiting
 * run of their stream. */
#define WRITER_STRICT_MAX ((size_t)1 << 20)

struct writer;

/* All are called from the writer's thread. */
struct writer_ops {
    /* This many bytes of a node have left memory, written or dropped. */
    void (*done)(size_t node, size_t bytes, void *arg);
    /* Writing failed for the first time on this descriptor. From now on its bytes are dropped
     * and counted. ETIMEDOUT: writer_finish() gave up on the reader. */
    void (*failed)(bool is_stderr, int error, void *arg);
    /* After writer_close(): all bytes were written, and writer_finish() will not wait. May be
     * NULL. */
    void (*over)(void *arg);
};

/* fd[0] is stdout, fd[1] stderr; borrowed. */
struct writer *writer_new(const int fd[2], bool is_terminal, const struct writer_ops *ops,
                          void *arg);

/* Queues whole lines. Takes the bytes of run, which is empty afterwards. done() is called with
 * charge. */
void writer_add(struct writer *writer, struct source *source, struct buffer *run,
                size_t charge);

/* Shows the unfinished line of source, on a terminal. Returns false if lines are waiting, which
 * come first. */
bool writer_unfinished(struct writer *writer, struct source *source, const char *text,
                       size_t size);

/* Writes muster's own lines to stderr, before everything that waits. */
void writer_own(struct writer *writer, const char *lines, size_t size);
/* Shows a transient line of muster on a terminal; "" removes it. */
void writer_progress(struct writer *writer, const char *text);

/* Returns the bytes of memory that wait, including the queue's overhead. */
size_t writer_waiting(struct writer *writer);

/* Returns how many bytes of ranks are not written yet; may count up to one batch too many. */
uint64_t writer_unread(struct writer *writer);

/* Returns for how long the reader has taken nothing although bytes wait; 0 if none wait. */
double writer_stuck_s(struct writer *writer);

/* Lets the thread end when all bytes are written; it then calls over(). Bytes that are added
 * after that are dropped and counted. */
void writer_close(struct writer *writer);
bool writer_is_over(struct writer *writer);

/* Writes all that waits and ends the thread, or gives up if the reader takes nothing for
 * patience_s. Returns how many bytes were lost, now or before. Bytes that are added later are
 * dropped and counted at once. */
uint64_t writer_finish(struct writer *writer, double patience_s);
void     writer_free(struct writer *writer); /* after writer_finish() */

#endif
