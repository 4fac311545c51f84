/* shard.h - one file of a checkpoint: the part of one rank
 *
 * A shard holds elements of the flat array of parameters: master, mean and square of
 * each. Its table says which ones, so a reader takes what overlaps with its own part,
 * however many ranks wrote. Numbers are little-endian:
 *
 *     struct shard_head | note | ranges: start, count | checksums |
 *     of each range: masters means squares
 *
 * Data is checked in blocks, so that a part can be read and trusted by itself.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SHARD_H
#define MUSTER_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "zero/zero.h"

#define SHARD_VERSION    2
#define SHARD_BLOCK      (1 << 20)             /* bytes of data with one checksum */
#define SHARD_NOTE_MAX   (1 << 16)             /* bytes */
#define SHARD_RANGES_MAX (1 << 20)
#define SHARD_TOTAL_MAX  (UINT64_C(1) << 44)   /* elements of a model */

/* What a shard belongs to. */
struct shard_info {
    uint64_t    total;       /* elements of the flat array */
    uint64_t    model;       /* tells models apart that have as many */
    int         rank, ranks; /* who wrote it, of how many */
    const char *note;        /* text for the next run, at most SHARD_NOTE_MAX */
};

struct shard_range {
    uint64_t start, count;
};

struct shard {
    struct shard_info   info; /* note is the shard's */
    struct shard_range *range;
    uint32_t            ranges;

    /* shard.c's own */
    char     *path;
    int       fd; /* -1: at rest */
    uint64_t  elements, data_start;
    uint32_t *checksum;
    char     *block; /* the one read last */
    uint64_t  block_number;
};

/* Write a shard, and wait until the disk has it. -1 with "PATH: why". */
int shard_write(const char *path, const struct shard_info *info,
                const struct zero_piece *pieces, int count, struct error *err);

/* Read all but the data. NULL with "PATH: what is wrong". Free with shard_close. */
struct shard *shard_open(const char *path, struct error *err);
void          shard_close(struct shard *shard); /* NULL is fine */

/* Fill in what this shard has of a piece. The file is open from then on, until rest. */
int  shard_read(struct shard *shard, const struct zero_piece *piece, struct error *err);
void shard_rest(struct shard *shard);

#endif
