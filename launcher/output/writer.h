/* writer.h - the thread that writes to one terminal, pipe or file
 *
 * Runs of whole lines queue here; the thread makes them into bytes (display.h)
 * and writes them in batches. It may block as long as the reader likes: nobody
 * waits for it but writer_finish(). stdout and stderr share a writer when they
 * are the same file, so that lines keep their order; else each has its own, and
 * muster's own words on stderr get past a reader of stdout who does not read.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WRITER_H
#define MUSTER_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "output/display.h"

/* muster's own lines that may wait; more are left out, saying so. */
#define WRITER_OWN_MAX ((size_t)1 << 20)
/* While less than this waits, lines come out in the order in which they came in.
 * Beyond it many small runs would cost more than the bytes in them, so a stream's
 * lines join its last run that still waits. */
#define WRITER_STRICT_MAX ((size_t)1 << 20)

struct writer;

/* Both are called by the writer's thread. */
struct writer_ops {
    /* So many bytes of a node have left memory, written or dropped. */
    void (*done)(size_t node, size_t bytes, void *arg);
    /* Writing failed, for the first time on this descriptor: from here on its bytes
     * are dropped and counted. ETIMEDOUT: writer_finish() has given up its reader; that
     * is said by the caller's thread. */
    void (*failed)(bool is_stderr, int error, void *arg);
};

/* fd[0] is stdout, fd[1] stderr; borrowed. */
struct writer *writer_new(const int fd[2], bool is_terminal, const struct writer_ops *ops,
                          void *arg);

/* Queue whole lines; run's bytes are taken over, run is empty after. charge is
 * what done() will be told of. */
void writer_add(struct writer *writer, struct source *source, struct buffer *run,
                size_t charge);

/* On a terminal, show what source has not ended yet. False: there is more to do before. */
bool writer_unfinished(struct writer *writer, struct source *source, const char *text,
                       size_t size);

/* Own lines, to stderr, before anything that waits. */
void writer_own(struct writer *writer, const char *lines, size_t size);
/* Own transient line on a terminal; "" takes it away. */
void writer_progress(struct writer *writer, const char *text);

/* Bytes of memory that wait, the cost of keeping them included. */
size_t writer_waiting(struct writer *writer);

/* For how long the reader has taken nothing of what waits for him; 0: nothing does. */
double writer_stuck_s(struct writer *writer);

/* Write all that waits and end the thread, or give up when the reader takes
 * nothing for patience_s. How many bytes were lost, then or before. Bytes that are
 * added later are dropped and counted at once. */
uint64_t writer_finish(struct writer *writer, double patience_s);
void     writer_free(struct writer *writer); /* after writer_finish() */

#endif
