/* bcast_sums.h - the hashes of what is sent, and its contents again
 *
 * A file is hashed when the first node is to have it, chunk after chunk, and each hash is kept for
 * the other nodes.
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

/* The hash of a chunk; those before it are known. Borrowed. NULL: the file cannot be read, or has
 * changed: item->fault says why, and does so from now on. */
const unsigned char *sum_of(const struct trees *trees, struct tree_item *item, uint32_t index,
                            struct sum_file *file);

/* Read some of a file that was hashed. -1 with err, also if it has changed since. */
int  sum_read(const struct trees *trees, const struct tree_item *item, struct sum_file *file,
              uint64_t at, void *bytes, size_t size, struct error *err);
void sum_file_close(struct sum_file *file);

#endif
