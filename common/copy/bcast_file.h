/* bcast_file.h - one file of muster bcast while it is being received
 *
 * It has a temporary name until all of it is on the disk, and gets its own name then: no
 * process ever sees half of it, and the old file stays until then. Chunks come in any order.
 * What the old file has at the same place is not needed again, nor what an earlier bcast of
 * the same file left here when it was cut off: a file of more than one chunk has a temporary
 * name that follows from its name, size and time, and bcast_file_keep() leaves it.
 *
 * A failure returns what could not be done ("create", "write"), with errno as the reason;
 * the file is dropped then.
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
    int             old_fd;   /* what is there now; -1: no file */
    bool            is_fresh; /* it reads as zeros where nothing was written */
    bool            may_stay; /* has the name that a later bcast will look for */
    char           *note;     /* of partials.h; NULL: none */
    uint64_t        size, unsynced;
    uint32_t        mode;
    struct timespec mtime;
    char            temporary[SAFE_TEMPORARY_BYTES];
    char            name[ENTRY_NAME_MAX + 1];
};

/* Takes over place->dir_fd. with_old: it will be asked what is here already. NULL, or what could
 * not be done. */
const char *bcast_file_begin(struct bcast_file *file, const struct safe_place *place,
                             const struct entry *entry, bool with_old);

/* True if this chunk need not be sent: it is here, and now in its place. room has CHUNK_BYTES. */
bool bcast_file_has(struct bcast_file *file, uint32_t index, const unsigned char *hash,
                    unsigned char *room);
const char *bcast_file_write(struct bcast_file *file, uint32_t index, const void *bytes);
/* Read a chunk that was written. False: it cannot be read. */
bool        bcast_file_read(const struct bcast_file *file, uint32_t index, void *bytes);
/* All of it is written: the first one tells the disk to begin, the second one waits for it and
 * gives the file its name. If many files have begun, waiting is short for most of them. */
const char *bcast_file_complete(struct bcast_file *file);
const char *bcast_file_finish(struct bcast_file *file);

/* The rest is not coming: remove it; or leave it for the next time, if it may stay. */
void bcast_file_drop(struct bcast_file *file);
void bcast_file_keep(struct bcast_file *file);

#endif
