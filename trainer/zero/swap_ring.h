/* swap_ring.h - records of a swap file, some of them in memory
 *
 * A lane is memory for one record. What comes next is read ahead into lanes that nobody uses, and
 * what has changed is written behind:
 *
 *     swap_ring_ahead(next) -> swap_ring_take(this) -> use it -> swap_ring_give(this)
 *
 * A lane that nobody uses still holds its record until another one needs the lane.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SWAP_RING_H
#define MUSTER_SWAP_RING_H

#include <stdbool.h>

#include "zero/swap_file.h"
#include "zero/zero_device.h"

#define SWAP_LANES_MAX 32

struct swap_lane {
    void    *memory;
    int      holds;  /* a record; -1: none */
    bool     is_used;
    uint64_t ticket; /* of its last read or write */
    uint64_t used;   /* the larger, the later */
};

struct swap_ring {
    struct swap_file   *file;
    struct zero_device *device; /* whose pinned memory lanes are */
    int                 records;
    uint64_t           *at;     /* of each record, and of the file's end */
    struct swap_lane    lane[SWAP_LANES_MAX];
    int                 lanes;
    uint64_t            uses;
    size_t              bytes;  /* of all lanes */
};

/* Records of these sizes, in bytes, zeros; so many lanes, at least one and at most
 * SWAP_LANES_MAX, in memory that device->pinned gives. device is borrowed. -1 with err. Free with
 * swap_ring_clear, after a failure too. */
int  swap_ring_init(struct swap_ring *ring, const struct swap_options *options,
                    const size_t *sizes, int records, int lanes, struct zero_device *device,
                    struct error *err);
void swap_ring_clear(struct swap_ring *ring);

/* What swap_ring_init would come to, and what the file would. */
size_t   swap_ring_bytes(const size_t *sizes, int records, int lanes);
uint64_t swap_ring_file_bytes(const size_t *sizes, int records);

/* Begin to read this record, if it is not here, and one lane is free. */
void swap_ring_ahead(struct swap_ring *ring, int record);

/* The record, until given back. NULL with err; without text: all lanes are used. */
void *swap_ring_take(struct swap_ring *ring, int record, struct error *err);

/* The same for whoever will write all of it. */
void *swap_ring_take_blank(struct swap_ring *ring, int record, struct error *err);

/* is_changed: it is written. The memory may still be read, until the lane is another record's. */
void swap_ring_give(struct swap_ring *ring, int record, bool is_changed);

#endif
