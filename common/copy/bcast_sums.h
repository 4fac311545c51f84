/* bcast_sums.h - the hashes and contents of the files that are sent
 *
 * A file is hashed chunk by chunk, when the first node needs it, and each hash is kept for the
 * other nodes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BCAST_SUMS_H
#define MUSTER_BCAST_SUMS_H

#include "copy/bcast_tree.h"
#include "copy/chunk.h"

/* A file that is open for reading; start from SUM_FILE_NONE. */
struct sum_file {
    const struct tree_item *item; /* NULL: none */
    int                     fd;
};
#define SUM_FILE_NONE ((struct sum_file){ .fd = -1 })

/* Returns the hash of a chunk, and computes the missing ones up to it. Borrowed. NULL if the
 * file cannot be read or has changed; item->fault then has the reason, and stays set. */
const unsigned char *sum_of(const struct trees *trees, struct tree_item *item, uint32_t index,
                            struct sum_file *file);

/* Reads a part of a hashed file. Returns -1 with err, also if the file has changed since. */
int  sum_read(const struct trees *trees, const struct tree_item *item, struct sum_file *file,
              uint64_t at, void *bytes, size_t size, struct error *err);
void sum_file_close(struct sum_file *file);

#endif
