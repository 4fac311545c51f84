/* swap_ring.c - see swap_ring.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/swap_ring.h"

#include <stdlib.h>

#include "xalloc.h"

static size_t            largest_of(const size_t *sizes, int records);
static int               lanes_for(int records, int lanes);
static struct swap_lane *find(struct swap_ring *ring, int record);
static struct swap_lane *oldest(struct swap_ring *ring);
static void              read_into(struct swap_ring *ring, struct swap_lane *lane, int record);
static void             *use(struct swap_ring *ring, struct swap_lane *lane, struct error *err);

int swap_ring_init(struct swap_ring *ring, const struct swap_options *options,
                   const size_t *sizes, int records, int lanes, struct zero_device *device,
                   struct error *err)
{
    const size_t bytes = largest_of(sizes, records);
    int          i;

    *ring = (struct swap_ring){ .device = device, .records = records };
    ring->at = xcalloc((size_t)records + 1, sizeof *ring->at);
    for (i = 0; i < records; i++)
        ring->at[i + 1] = ring->at[i] + swap_aligned(sizes[i]);
    for (i = 0; i < lanes_for(records, lanes); i++) {
        ring->lane[i] = (struct swap_lane){ .memory = device->pinned(device, bytes, err),
                                            .holds = -1 };
        if (ring->lane[i].memory == NULL)
            return -1;
        ring->lanes++;
        ring->bytes += bytes;
    }
    ring->file = swap_file_open(options, ring->at[records], err);
    return ring->file != NULL ? 0 : -1;
}

void swap_ring_clear(struct swap_ring *ring)
{
    swap_file_close(ring->file);
    while (ring->lanes > 0)
        ring->device->unpin(ring->device, ring->lane[--ring->lanes].memory);
    free(ring->at);
    *ring = (struct swap_ring){ 0 };
}

static size_t largest_of(const size_t *sizes, int records)
{
    size_t largest = SWAP_ALIGN;
    int    i;

    for (i = 0; i < records; i++)
        if (swap_aligned(sizes[i]) > largest)
            largest = swap_aligned(sizes[i]);
    return largest;
}

static int lanes_for(int records, int lanes)
{
    if (lanes > records)
        lanes = records;
    return lanes > SWAP_LANES_MAX ? SWAP_LANES_MAX : lanes < 1 ? 1 : lanes;
}

size_t swap_ring_bytes(const size_t *sizes, int records, int lanes)
{
    return largest_of(sizes, records) * (size_t)lanes_for(records, lanes);
}

uint64_t swap_ring_file_bytes(const size_t *sizes, int records)
{
    uint64_t bytes = 0;
    int      i;

    for (i = 0; i < records; i++)
        bytes += swap_aligned(sizes[i]);
    return bytes;
}

/* ---- lanes ---- */

void swap_ring_ahead(struct swap_ring *ring, int record)
{
    struct swap_lane *lane;

    if (record < 0 || record >= ring->records || find(ring, record) != NULL)
        return;
    lane = oldest(ring);
    if (lane == NULL || swap_file_wait(ring->file, lane->ticket, NULL) < 0)
        return; /* swap_ring_take() will return the error */
    read_into(ring, lane, record);
}

void *swap_ring_take(struct swap_ring *ring, int record, struct error *err)
{
    struct swap_lane *lane = find(ring, record);

    if (lane != NULL)
        return use(ring, lane, err);
    lane = oldest(ring);
    if (lane == NULL) {
        err->text[0] = '\0';
        return NULL;
    }
    if (swap_file_wait(ring->file, lane->ticket, err) < 0)
        return NULL;
    read_into(ring, lane, record);
    return use(ring, lane, err);
}

void *swap_ring_take_blank(struct swap_ring *ring, int record, struct error *err)
{
    struct swap_lane *lane = find(ring, record);

    if (lane == NULL)
        lane = oldest(ring);
    if (lane == NULL) {
        err->text[0] = '\0';
        return NULL;
    }
    lane->holds = record;
    return use(ring, lane, err);
}

void swap_ring_give(struct swap_ring *ring, int record, bool is_changed)
{
    struct swap_lane *lane = find(ring, record);

    lane->is_used = false;
    if (is_changed)
        lane->ticket = swap_file_write(ring->file, lane->memory, ring->at[record],
                                       (size_t)(ring->at[record + 1] - ring->at[record]));
}

static struct swap_lane *find(struct swap_ring *ring, int record)
{
    int i;

    for (i = 0; i < ring->lanes; i++)
        if (ring->lane[i].holds == record)
            return &ring->lane[i];
    return NULL;
}

/* Returns the least recently used of the unused lanes, or NULL. */
static struct swap_lane *oldest(struct swap_ring *ring)
{
    struct swap_lane *lane = NULL;
    int               i;

    for (i = 0; i < ring->lanes; i++)
        if (!ring->lane[i].is_used && (lane == NULL || ring->lane[i].used < lane->used))
            lane = &ring->lane[i];
    return lane;
}

/* The caller has waited for the lane's ticket, so its old record has been written. */
static void read_into(struct swap_ring *ring, struct swap_lane *lane, int record)
{
    lane->holds = record;
    lane->used = ++ring->uses;
    lane->ticket = swap_file_read(ring->file, lane->memory, ring->at[record],
                                  (size_t)(ring->at[record + 1] - ring->at[record]));
}

static void *use(struct swap_ring *ring, struct swap_lane *lane, struct error *err)
{
    if (swap_file_wait(ring->file, lane->ticket, err) < 0)
        return NULL;
    lane->is_used = true;
    lane->used = ++ring->uses;
    return lane->memory;
}
