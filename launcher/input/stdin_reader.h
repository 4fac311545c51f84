/* stdin_reader.h - the thread that reads muster's standard input
 *
 * A read may block for as long as it likes: another process reads the same pipe, the file is on a
 * server that hangs, or the terminal belongs to another job. Only the thread waits then. It never
 * reads ahead of what was asked for, so what no rank needed is left for the next program.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STDIN_READER_H
#define MUSTER_STDIN_READER_H

#include <stddef.h>

#include <event2/event.h>

#define STDIN_READER_MAX ((size_t)64 << 10) /* bytes of one read */

struct stdin_reader;

/* Both are called from the event loop. */
struct stdin_reader_ops {
    void (*bytes)(const void *bytes, size_t size, void *arg);
    /* There is no more; error: an errno, or 0. The last call. */
    void (*end)(int error, void *arg);
};

/* Starts the thread, which reads nothing yet. fd is borrowed. */
struct stdin_reader *stdin_reader_new(struct event_base *base, int fd,
                                      const struct stdin_reader_ops *ops, void *arg);

/* Lets the thread read once, at most size bytes (STDIN_READER_MAX). To be called again after
 * ops->bytes; a call before that changes nothing. */
void stdin_reader_want(struct stdin_reader *reader, size_t size);

/* Ends the thread; one that hangs in a read is left behind. */
void stdin_reader_free(struct stdin_reader *reader);

#endif
