/* disks.h - the block devices of this node, and which of them conf means
 *
 * Names (vdb, sdb, nvme1n1) follow the order in which the kernel found the disks, and change
 * between boots. So they are never used to find a disk.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_DISKS_H
#define MUSTER_AGENT_DISKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "journal/superblock.h"

#define DISKS_MAX 1024

struct disk {
    char     name[64], parent[64]; /* parent: the disk of a partition; "": a whole disk */
    char     serial[128];          /* of the whole disk; "": it has none */
    unsigned major, minor, partition;
    uint64_t start, bytes;         /* start: of a partition */
    bool     is_held;              /* another device (dm, md) consists of it */
    struct superblock superblock;
};

struct disks {
    struct disk *disk;
    size_t       count;
};

/* Properties of the wanted disk; NULL: not set. */
struct disk_wanted {
    const char *label, *uuid, *serial;
};

void               disks_read(struct disks *disks, const char *root);
void               disks_clear(struct disks *disks);
const struct disk *disks_find(const struct disks *disks, const char *name);

/* Chooses a disk with a file system by its label; if no disk has the label, by UUID or serial.
 * If several match, the other properties decide. If not exactly one is left, returns NULL,
 * with err that names them. */
const struct disk *disks_choose(const struct disks *disks, const struct disk_wanted *wanted,
                                struct error *err);

/* Has no other file system here this one's label, or UUID? */
bool disks_is_only_label(const struct disks *disks, const struct disk *disk);
bool disks_is_only_uuid(const struct disks *disks, const struct disk *disk);

#endif
