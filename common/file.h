/* file.h - a whole file in memory
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FILE_H
#define MUSTER_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* Returns the bytes of path ("-" is stdin; pipes are allowed) and a final NUL; the caller frees
 * them. NULL with "path: why" in err, also if there are more than max bytes, or if a pipe has
 * no writer for FILE_WRITER_S. */
#define FILE_WRITER_S 10
char *file_read(const char *path, size_t max, size_t *size, struct error *err);

/* The same for files that the user did not name, or that are read often: never waits, and a
 * pipe is an error. */
char *file_read_at_once(const char *path, size_t max, size_t *size, struct error *err);

/* Read or write all size bytes at an offset. Return -1 with the reason in err, without the
 * file's name. */
int file_pread(int fd, void *bytes, size_t size, uint64_t from, struct error *err);
int file_pwrite(int fd, const void *bytes, size_t size, uint64_t to, struct error *err);

#endif
