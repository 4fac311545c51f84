/* swap_file.h - a file for what has no room in memory, read ahead and written behind
 *
 * A few threads read and write it in blocks, past the page cache if the file system can do that,
 * while the caller computes. It has no name, so nothing is left of it, whatever kills the program.
 * All of its bytes have their place on the disk from the beginning: a disk that is too small is an
 * error at the start, not in the middle of a training.
 *
 *     swap_file_open -> [ swap_file_read or swap_file_write -> swap_file_wait ]... ->
 *     swap_file_close
 *
 * There is no io_uring here: with blocks of 1 MiB, eight threads get the same from a disk as
 * io_uring at a depth of eight (676 and 624 MB/s read, 1464 and 1683 written), and they also work
 * where a container forbids it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SWAP_FILE_H
#define MUSTER_SWAP_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define SWAP_ALIGN 4096 /* bytes; of memory, places and sizes */

/* bytes, rounded up to that. */
static inline size_t swap_aligned(size_t bytes)
{
    return (bytes + SWAP_ALIGN - 1) / SWAP_ALIGN * SWAP_ALIGN;
}

struct swap_options {
    const char *dir;       /* on which disk; it has to exist */
    const char *what;      /* for messages: "offload_optimizer" */
    size_t      block;     /* bytes of one read or write */
    int         depth;     /* how many of them at a time, a thread each; at most SWAP_DEPTH_MAX */
    double      timeout_s; /* for any one wait */
};

#define SWAP_DEPTH_MAX    64
#define SWAP_REQUESTS_MAX 64 /* under way; whoever begins more waits, as swap_file_wait does */

struct swap_file;

/* bytes of zeros. NULL with err, which names what, the directory and the cause. */
struct swap_file *swap_file_open(const struct swap_options *options, uint64_t bytes,
                                 struct error *err);
void              swap_file_close(struct swap_file *file); /* waits; NULL is fine */

/* Begin; memory belongs to the file until swap_file_wait has returned for this ticket. Several may
 * be done in any order. A failure is told by swap_file_wait, from then on by each. */
uint64_t swap_file_read(struct swap_file *file, void *to, uint64_t at, size_t bytes);
uint64_t swap_file_write(struct swap_file *file, const void *from, uint64_t at, size_t bytes);
int      swap_file_wait(struct swap_file *file, uint64_t ticket, struct error *err);

#endif
