/* fd.h - helpers for file descriptors
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FD_H
#define MUSTER_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <event2/buffer.h>

/* Close every descriptor from first on: descriptors that leaked into this process must not
 * reach the ranks. */
void fd_close_from(int first);

/* 0, or -1 with errno. */
int fd_set_nonblock(int fd);

/* Write all of it, waiting if necessary. Returns the number of bytes: fewer than size if it
 * failed, with errno. */
size_t fd_write_all(int fd, const void *bytes, size_t size);

/* Append to in what fd has ready, at most `most` bytes, in one read. Returns the number of
 * bytes; 0 at the end; -1 with errno (EAGAIN: nothing there now). */
ssize_t fd_read_buffer(int fd, struct evbuffer *in, size_t most);

/* Read a small file (of /proc, /sys) into text, always ended by NUL and cut off if too long.
 * Returns the number of bytes, or -1 with errno and text empty. */
ssize_t fd_read_file(const char *path, char *text, size_t size);

/* Write a short text into an existing file of /proc or /sys. True if it was accepted. */
bool fd_write_file(const char *path, const char *text);

/* How wide a terminal is, 80 if it does not say; 0: it is no terminal. */
size_t fd_columns(int fd);

#endif
