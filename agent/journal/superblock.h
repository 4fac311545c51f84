/* superblock.h - the file system of a disk, read from the disk itself
 *
 * Supports ext2 to ext4 and XFS, the file systems of data disks. It uses no cache and no other
 * program, since those may know the disk that had this name before.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SUPERBLOCK_H
#define MUSTER_AGENT_SUPERBLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUPERBLOCK_BYTES 2048 /* the first bytes of a disk, which hold all of it */

struct superblock {
    const char *type;      /* "ext4", "xfs" ...; NULL: none that is known */
    char        label[17]; /* "": none */
    char        uuid[37];
    uint64_t    bytes;     /* of the file system */
    uint64_t    log_bytes; /* part of it that statvfs(3) does not count: XFS's log */
};

/* False if there is no known file system; superblock is empty then. */
bool superblock_parse(const unsigned char *bytes, size_t size, struct superblock *superblock);
bool superblock_read(const char *device, struct superblock *superblock);

#endif
