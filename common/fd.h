/* fd.h - small things done to file descriptors
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FD_H
#define MUSTER_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <event2/buffer.h>

/* Close every descriptor from first on: what leaked into us must not reach
 * the ranks. */
void fd_close_from(int first);

/* 0, or -1 with errno. */
int fd_set_nonblock(int fd);

/* Write all of it, waiting as long as it takes. The bytes written: fewer than
 * size when it failed, with errno. */
size_t fd_write_all(int fd, const void *bytes, size_t size);

/* Append to in what fd has ready, at most most bytes, in one read. The bytes
 * read; 0 at the end; -1 with errno (EAGAIN: nothing there now). */
ssize_t fd_read_buffer(int fd, struct evbuffer *in, size_t most);

/* Read a small file (of /proc, /sys) into text, always ended by NUL and cut
 * when longer. The bytes read, or -1 with errno and text empty. */
ssize_t fd_read_file(const char *path, char *text, size_t size);

/* Write a short text into an existing file of /proc or /sys. True when it was
 * taken. */
bool fd_write_file(const char *path, const char *text);

#endif
