/* swap_ring.h - the records of a swap file, some of them in memory
 *
 * A lane is memory for one record. The next records are read ahead into unused lanes, and
 * changed records are written in the background:
 *
 *     swap_ring_ahead(next) -> swap_ring_take(this) -> use it -> swap_ring_give(this)
 *
 * An unused lane still holds its record until another record needs the lane.
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
    uint64_t used;   /* a larger number means a later use */
};

struct swap_ring {
    struct swap_file   *file;
    struct zero_device *device; /* allocates the lanes' pinned memory */
    int                 records;
    uint64_t           *at;     /* offset of each record, and of the file's end */
    struct swap_lane    lane[SWAP_LANES_MAX];
    int                 lanes;
    uint64_t            uses;
    size_t              bytes;  /* of all lanes */
};

/* Creates records of these sizes, in bytes, filled with zeros, and this number of lanes, 1 to
 * SWAP_LANES_MAX, in memory from device->pinned. device is borrowed. -1 with err. Free with
 * swap_ring_clear(), also after a failure. */
int  swap_ring_init(struct swap_ring *ring, const struct swap_options *options,
                    const size_t *sizes, int records, int lanes, struct zero_device *device,
                    struct error *err);
void swap_ring_clear(struct swap_ring *ring);

/* Return the bytes of memory and of the file that swap_ring_init() would use. */
size_t   swap_ring_bytes(const size_t *sizes, int records, int lanes);
uint64_t swap_ring_file_bytes(const size_t *sizes, int records);

/* Begins to read this record, if it is not in a lane and a lane is free. */
void swap_ring_ahead(struct swap_ring *ring, int record);

/* Returns the record, for use until swap_ring_give(). NULL with err; NULL with an empty err:
 * all lanes are in use. */
void *swap_ring_take(struct swap_ring *ring, int record, struct error *err);

/* As swap_ring_take(), for a caller that overwrites the whole record: does not read it. */
void *swap_ring_take_blank(struct swap_ring *ring, int record, struct error *err);

/* Gives the record back. is_changed: writes it to the file. The caller may still read the
 * memory until another record takes the lane. */
void swap_ring_give(struct swap_ring *ring, int record, bool is_changed);

#endif
