/* logfile.h - what a rank writes, kept in a file on its own node
 *
 * DIR/<stamp>_rank<RANK>.log holds stdout and stderr together in the order in
 * which they were read. The stamp is the launcher's, the same on all nodes. A
 * full disk does not stop a training: what could not be written is counted.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LOGFILE_H
#define MUSTER_LOGFILE_H

#include <stdint.h>

#include <event2/buffer.h>

#include "err.h"

/* Make dir when it is missing (one level; its parent must be there). */
int logfile_dir(const char *dir, struct error *err);

/* Create the file; it must not exist. The descriptor, or -1 with err. *path
 * is the caller's to free. */
int logfile_open(const char *dir, const char *stamp, uint32_t rank, char **path,
                 struct error *err);

/* Write the last size bytes of buffer. Returns the bytes lost: 0 when all is
 * well. */
uint64_t logfile_write(int fd, struct evbuffer *buffer, size_t size);

#endif
