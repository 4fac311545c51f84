/* shard.h - one file of a checkpoint, with the part of one rank
 *
 * A shard has ranges of the flat array of parameters: the master, mean and square of each
 * element. Its table lists the ranges, so a reader can take the parts that overlap with its own
 * pieces, whatever the number of ranks that wrote. Numbers are little-endian:
 *
 *     struct shard_head | note | ranges: start, count | checksums |
 *     of each range: masters means squares
 *
 * Each block of data has a checksum, so a reader can check a part without reading the rest.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SHARD_H
#define MUSTER_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "zero/zero.h"

#define SHARD_VERSION    2
#define SHARD_BLOCK      (1 << 20)             /* bytes of data per checksum */
#define SHARD_NOTE_MAX   (1 << 16)             /* bytes */
#define SHARD_RANGES_MAX (1 << 20)
#define SHARD_TOTAL_MAX  (UINT64_C(1) << 44)   /* elements of a model */

/* The checkpoint that a shard belongs to. */
struct shard_info {
    uint64_t    total;       /* elements of the flat array */
    uint64_t    model;       /* hash of the model, since models may have the same total */
    int         rank, ranks; /* the rank that wrote it, and the number of ranks */
    const char *note;        /* text for the next run, at most SHARD_NOTE_MAX bytes */
};

struct shard_range {
    uint64_t start, count;
};

struct shard {
    struct shard_info   info; /* the shard owns note */
    struct shard_range *range;
    uint32_t            ranges;

    /* private to shard.c */
    char     *path;
    int       fd; /* -1: closed */
    uint64_t  elements, data_start;
    uint32_t *checksum;
    char     *block; /* the block that was read last */
    uint64_t  block_number;
};

/* Writes a shard and syncs it to the disk. -1 with "PATH: reason" in err. */
int shard_write(const char *path, const struct shard_info *info,
                const struct zero_piece *pieces, int count, struct error *err);

/* Reads everything but the data. NULL with "PATH: reason" in err. Free with shard_close(). */
struct shard *shard_open(const char *path, struct error *err);
void          shard_close(struct shard *shard); /* NULL is fine */

/* shard_read() reads the part of a piece that this shard has. The file then stays open until
 * shard_rest(). */
int  shard_read(struct shard *shard, const struct zero_piece *piece, struct error *err);
void shard_rest(struct shard *shard);

#endif
