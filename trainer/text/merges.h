/* merges.h - byte pair encoding: a word's parts are merged, the first pair of the list first
 *
 * The rule is that of Hugging Face's tokenizers: of all adjacent pairs that the list has, the one
 * that is first in it is merged, the leftmost if it occurs twice; until no pair is in the list.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MERGES_H
#define MUSTER_MERGES_H

#include <stddef.h>
#include <stdint.h>

#define MERGES_MAX (1 << 22)

struct merges {
    struct merge {
        int32_t left, right; /* left -1: a free slot */
        int32_t rank;        /* its place in the list */
        int32_t id;          /* of what they become */
    } *slot;
    size_t slots; /* a power of two */
};

/* Memory that merges_apply() uses again: one per thread, all zero at first. */
struct merge_room {
    struct merge_part *part;
    struct merge_next *heap;
    size_t             parts, heaped, heap_room;
};

void merges_init(struct merges *merges, size_t count);
void merges_clear(struct merges *merges);

/* Adds a pair; at most count of them. If it was added before, the new rank replaces the old one. */
void merges_add(struct merges *merges, const struct merge *merge);

/* Merges the parts of a word in place and returns how many are left. */
size_t merges_apply(const struct merges *merges, struct merge_room *room, int32_t *ids,
                    size_t count);
void   merge_room_clear(struct merge_room *room);

#endif
