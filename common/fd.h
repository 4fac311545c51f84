/* fd.h - helpers for file descriptors
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FD_H
#define MUSTER_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <event2/buffer.h>

/* Closes every descriptor from first on: descriptors that leaked into this process must not
 * reach the ranks. */
void fd_close_from(int first);

/* Returns 0, or -1 with errno. */
int fd_set_nonblock(int fd);

/* Writes all bytes, and waits if necessary. Returns the number of bytes; if it failed, that is
 * fewer than size, with errno. */
size_t fd_write_all(int fd, const void *bytes, size_t size);

/* Appends the bytes that fd has ready to in, at most `most`, in one read. Returns the number of
 * bytes; 0 at the end; -1 with errno (EAGAIN: no bytes now). */
ssize_t fd_read_buffer(int fd, struct evbuffer *in, size_t most);

/* Reads a small file (in /proc, /sys) into text, which always ends in NUL and is truncated if
 * too long. Returns the number of bytes, or -1 with errno and an empty text. */
ssize_t fd_read_file(const char *path, char *text, size_t size);

/* Writes a short text into an existing file in /proc or /sys. Returns true if it was
 * accepted. */
bool fd_write_file(const char *path, const char *text);

/* Are both open, and the same file, pipe or terminal? */
bool fd_is_same_file(int one, int other);

/* Returns the width of a terminal, 80 if unknown; 0: fd is no terminal. */
size_t fd_columns(int fd);

#endif
