/* hole.c - see hole.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/hole.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "copy/chunk.h"

/* ENXIO: no data follows. */
bool hole_is_at(int fd, uint64_t at, size_t size)
{
    off_t data = lseek(fd, (off_t)at, SEEK_DATA);

    return data < 0 ? errno == ENXIO : (uint64_t)data >= at + size;
}

const unsigned char *hole_hash(void)
{
    static unsigned char hash[CHUNK_HASH_BYTES];
    static bool          is_known;
    void                *zeros;

    if (!is_known) {
        zeros = xcalloc(CHUNK_BYTES, 1);
        chunk_hash(zeros, CHUNK_BYTES, hash);
        free(zeros);
        is_known = true;
    }
    return hash;
}
