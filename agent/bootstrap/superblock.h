/* superblock.h - which file system a disk has, read from the disk itself
 *
 * ext2 to ext4 and XFS: what data disks have. No cache and no other program is asked, since those
 * may know the disk that had this name before.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SUPERBLOCK_H
#define MUSTER_AGENT_SUPERBLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUPERBLOCK_BYTES 2048 /* of the beginning of a disk hold all of it */

struct superblock {
    const char *type;      /* "ext4", "xfs" ...; NULL: none that is known */
    char        label[17]; /* "": none */
    char        uuid[37];
    uint64_t    bytes;     /* of the file system */
    uint64_t    log_bytes; /* of it, that statvfs(3) does not count: XFS's log */
};

/* False if there is none; superblock is then empty. */
bool superblock_parse(const unsigned char *bytes, size_t size, struct superblock *superblock);
bool superblock_read(const char *device, struct superblock *superblock);

#endif
