/* hole.h - parts of files that were never written, and read as zeros
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOLE_H
#define MUSTER_HOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is all of this range of the file a hole? The file ends after it, not before. Asks the file
 * system, reads nothing, and moves the file offset. false if the file system does not know. */
bool hole_is_at(int fd, uint64_t at, size_t size);

/* Returns the hash of a chunk of CHUNK_BYTES zeros. */
const unsigned char *hole_hash(void);

#endif
