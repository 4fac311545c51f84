/* superblock.c - see superblock.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "journal/superblock.h"

#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ext: offsets from the beginning of the disk (Documentation/filesystems/ext4/super.rst) */
#define EXT              1024
#define EXT_BLOCKS_LOW   (EXT + 0x04)
#define EXT_BLOCK_SHIFT  (EXT + 0x18)
#define EXT_MAGIC        (EXT + 0x38)
#define EXT_COMPAT       (EXT + 0x5c)
#define EXT_INCOMPAT     (EXT + 0x60)
#define EXT_UUID         (EXT + 0x68)
#define EXT_LABEL        (EXT + 0x78)
#define EXT_BLOCKS_HIGH  (EXT + 0x150)
#define EXT_MAGIC_VALUE  0xef53
#define EXT_SHIFT_MAX    6 /* blocks of 64 KiB */
#define COMPAT_JOURNAL   0x4
#define INCOMPAT_JOURNAL 0x8 /* the disk is the journal of another disk */
#define INCOMPAT_EXTENTS 0x40
#define INCOMPAT_64BIT   0x80

#define XFS_BLOCK_SIZE 4
#define XFS_BLOCKS     8
#define XFS_UUID       32
#define XFS_LOG_START  48 /* 0: the log is on another disk */
#define XFS_LOG_BLOCKS 96
#define XFS_LABEL      108
#define XFS_LABEL_SIZE 12
#define XFS_BLOCK_MAX  65536

static bool     parse_ext(const unsigned char *bytes, struct superblock *superblock);
static bool     parse_xfs(const unsigned char *bytes, struct superblock *superblock);
static uint32_t little_32(const unsigned char *at);
static void     uuid_text(const unsigned char *bytes, char *text);

bool superblock_read(const char *device, struct superblock *superblock)
{
    unsigned char bytes[SUPERBLOCK_BYTES];
    int           fd = open(device, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t       got = fd >= 0 ? pread(fd, bytes, sizeof bytes, 0) : -1;

    if (fd >= 0)
        close(fd);
    return superblock_parse(bytes, got > 0 ? (size_t)got : 0, superblock);
}

bool superblock_parse(const unsigned char *bytes, size_t size, struct superblock *superblock)
{
    *superblock = (struct superblock){ 0 };
    if (size < SUPERBLOCK_BYTES)
        return false;
    return parse_xfs(bytes, superblock) || parse_ext(bytes, superblock);
}

static bool parse_ext(const unsigned char *bytes, struct superblock *superblock)
{
    uint32_t shift = little_32(bytes + EXT_BLOCK_SHIFT);
    uint32_t incompat = little_32(bytes + EXT_INCOMPAT);
    uint64_t blocks = little_32(bytes + EXT_BLOCKS_LOW);

    if ((bytes[EXT_MAGIC] | bytes[EXT_MAGIC + 1] << 8) != EXT_MAGIC_VALUE ||
        shift > EXT_SHIFT_MAX || incompat & INCOMPAT_JOURNAL)
        return false;
    if (incompat & INCOMPAT_64BIT)
        blocks |= (uint64_t)little_32(bytes + EXT_BLOCKS_HIGH) << 32;
    superblock->type = incompat & INCOMPAT_EXTENTS ? "ext4"
                       : little_32(bytes + EXT_COMPAT) & COMPAT_JOURNAL ? "ext3"
                                                                        : "ext2";
    superblock->bytes = blocks << (10 + shift);
    memcpy(superblock->label, bytes + EXT_LABEL, sizeof superblock->label - 1);
    uuid_text(bytes + EXT_UUID, superblock->uuid);
    return true;
}

static bool parse_xfs(const unsigned char *bytes, struct superblock *superblock)
{
    uint32_t block, log_blocks;
    uint64_t blocks, log_start;

    if (memcmp(bytes, "XFSB", 4) != 0)
        return false;
    memcpy(&block, bytes + XFS_BLOCK_SIZE, sizeof block);
    memcpy(&blocks, bytes + XFS_BLOCKS, sizeof blocks);
    memcpy(&log_start, bytes + XFS_LOG_START, sizeof log_start);
    memcpy(&log_blocks, bytes + XFS_LOG_BLOCKS, sizeof log_blocks);
    if (be32toh(block) == 0 || be32toh(block) > XFS_BLOCK_MAX)
        return false;
    superblock->type = "xfs";
    superblock->bytes = be64toh(blocks) * be32toh(block);
    superblock->log_bytes = log_start != 0 ? (uint64_t)be32toh(log_blocks) * be32toh(block) : 0;
    memcpy(superblock->label, bytes + XFS_LABEL, XFS_LABEL_SIZE);
    uuid_text(bytes + XFS_UUID, superblock->uuid);
    return true;
}

static uint32_t little_32(const unsigned char *at)
{
    uint32_t number;

    memcpy(&number, at, sizeof number);
    return le32toh(number);
}

static void uuid_text(const unsigned char *bytes, char *text)
{
    size_t i, used = 0;

    for (i = 0; i < 16; i++)
        used += (size_t)snprintf(text + used, 37 - used, "%s%02x",
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
}
