/* bcast_file.h - one file of muster bcast while it is being received
 *
 * The file has a temporary name until all of it is on the disk, and then gets its own name: no
 * process ever sees half of it, and until then the old file stays. Chunks come in any order.
 * Chunks that the old file has at the same place are not sent again, and neither are those that
 * an interrupted bcast of the same file left here: a file of more than one chunk has a
 * temporary name that is derived from its name, size and time, and bcast_file_keep() leaves the
 * file.
 *
 * A function that fails returns what could not be done ("create", "write"), with the reason in
 * errno. It then drops the file.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_BCAST_FILE_H
#define MUSTER_AGENT_BCAST_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "copy/chunk.h"
#include "copy/safe_openat.h"
#include "entry.h"

struct bcast_file {
    int             dir_fd, fd;
    int             old_fd;   /* the file that has the name now; -1: none */
    bool            is_fresh; /* reads as zeros where nothing was written */
    bool            may_stay; /* has the name that a later bcast will look for */
    char           *note;     /* of partials.h; NULL: none */
    uint64_t        size, unsynced;
    uint32_t        mode;
    struct timespec mtime;
    char            temporary[SAFE_TEMPORARY_BYTES];
    char            name[ENTRY_NAME_MAX + 1];
};

/* Takes ownership of place->dir_fd. with_old: bcast_file_has() may use the old file. Returns
 * NULL, or what could not be done. */
const char *bcast_file_begin(struct bcast_file *file, const struct safe_place *place,
                             const struct entry *entry, bool with_old);

/* Is this chunk here, so that it need not be sent? If so, it is in its place now. room has
 * CHUNK_BYTES. */
bool bcast_file_has(struct bcast_file *file, uint32_t index, const unsigned char *hash,
                    unsigned char *room);
const char *bcast_file_write(struct bcast_file *file, uint32_t index, const void *bytes);
/* Reads a written chunk. Returns false if it cannot be read. */
bool        bcast_file_read(const struct bcast_file *file, uint32_t index, void *bytes);
/* Call both when all of the file is written. bcast_file_complete() lets the disk begin, and
 * bcast_file_finish() waits for it and gives the file its name. If many files have begun, the
 * wait is short for most of them. */
const char *bcast_file_complete(struct bcast_file *file);
const char *bcast_file_finish(struct bcast_file *file);

/* The rest of the file will not come. bcast_file_drop() removes the file; bcast_file_keep()
 * leaves it for the next bcast, if it may stay. */
void bcast_file_drop(struct bcast_file *file);
void bcast_file_keep(struct bcast_file *file);

#endif
