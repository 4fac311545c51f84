/* bcast_file.h - one file of muster bcast while it is being received
 *
 * It has a temporary name until all of it is on the disk, and gets its own name then: no
 * process ever sees half of it, and the old file stays until then.
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

#include "copy/safe_openat.h"
#include "entry.h"

struct bcast_file {
    int             dir_fd, fd;     /* fd -1: no file */
    uint64_t        written, begun; /* the disk was told to write up to begun */
    uint32_t        mode;
    struct timespec mtime;
    char            temporary[SAFE_TEMPORARY_BYTES];
    char            name[ENTRY_NAME_MAX + 1];
};

void bcast_file_init(struct bcast_file *file);
bool bcast_file_is_open(const struct bcast_file *file);

/* Takes over place->dir_fd. NULL, or what could not be done. */
const char *bcast_file_begin(struct bcast_file *file, const struct safe_place *place,
                             const struct entry *entry);
const char *bcast_file_write(struct bcast_file *file, const void *bytes, size_t size);
const char *bcast_file_finish(struct bcast_file *file);

/* The rest is not coming. */
void bcast_file_drop(struct bcast_file *file);

#endif
