/* bcast_file.h - one file of muster bcast while it comes
 *
 * It has a name of its own until all of it is on the disk, and only then its true one:
 * nobody ever sees half of it, and what was there before stays until then.
 *
 * What fails names what could not be done ("create", "write"), and errno says why; then
 * the file is dropped already.
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
    int             dir_fd, fd;     /* fd -1: there is none */
    uint64_t        written, begun; /* up to begun the disk was told to write */
    uint32_t        mode;
    struct timespec mtime;
    char            temporary[SAFE_TEMPORARY_BYTES];
    char            name[ENTRY_NAME_MAX + 1];
};

void bcast_file_init(struct bcast_file *file);
bool bcast_file_is_open(const struct bcast_file *file);

/* Takes place->dir_fd over. NULL, or what could not be done. */
const char *bcast_file_begin(struct bcast_file *file, const struct safe_place *place,
                             const struct entry *entry);
const char *bcast_file_write(struct bcast_file *file, const void *bytes, size_t size);
const char *bcast_file_finish(struct bcast_file *file);

/* It does not come after all. */
void bcast_file_drop(struct bcast_file *file);

#endif
