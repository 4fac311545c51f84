/* merges.c - see merges.h
 *
 * Words are short, so each merge looks at all pairs. In a long word (of a text without spaces, or a
 * line of dashes) pairs wait in a heap instead.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "text/merges.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define SHORT_MAX 40 /* parts of a word that needs no heap */

/* A part of a long word. Those that have been merged into their left neighbour have id -1. */
struct merge_part {
    int32_t  id;
    uint32_t before, after; /* numbers of its neighbours; NO_PART: none */
};
#define NO_PART UINT32_MAX

struct merge_next {
    int32_t  rank, left, right; /* of the merge */
    uint32_t at;                /* the left part */
};

static struct merge *find(const struct merges *merges, int32_t left, int32_t right);
static size_t apply_to_short(const struct merges *merges, int32_t *ids, size_t count);
static size_t apply_to_long(const struct merges *merges, struct merge_room *room, int32_t *ids,
                            size_t count);
static void push(const struct merges *merges, struct merge_room *room, uint32_t at);
static struct merge_next pop(struct merge_room *room);
static bool is_before(const struct merge_next *a, const struct merge_next *b);

void merges_init(struct merges *merges, size_t count)
{
    size_t i;

    merges->slots = 16;
    while (merges->slots < 2 * count)
        merges->slots *= 2;
    merges->slot = xcalloc(merges->slots, sizeof *merges->slot);
    for (i = 0; i < merges->slots; i++)
        merges->slot[i].left = -1;
}

void merges_clear(struct merges *merges)
{
    free(merges->slot);
    *merges = (struct merges){ .slots = 0 };
}

void merges_add(struct merges *merges, const struct merge *merge)
{
    *find(merges, merge->left, merge->right) = *merge;
}

/* Returns the slot of the pair, or the free one where it belongs. */
static struct merge *find(const struct merges *merges, int32_t left, int32_t right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    size_t   slot;

    key *= UINT64_C(0x9e3779b97f4a7c15);
    slot = (key ^ key >> 32) & (merges->slots - 1);
    while (merges->slot[slot].left >= 0 &&
           (merges->slot[slot].left != left || merges->slot[slot].right != right))
        slot = (slot + 1) & (merges->slots - 1);
    return &merges->slot[slot];
}

size_t merges_apply(const struct merges *merges, struct merge_room *room, int32_t *ids,
                    size_t count)
{
    return count <= SHORT_MAX ? apply_to_short(merges, ids, count)
                              : apply_to_long(merges, room, ids, count);
}

static size_t apply_to_short(const struct merges *merges, int32_t *ids, size_t count)
{
    const struct merge *pair[SHORT_MAX];
    size_t              i, best;

    for (i = 0; i + 1 < count; i++)
        pair[i] = find(merges, ids[i], ids[i + 1]);
    while (count > 1) {
        best = count;
        for (i = 0; i + 1 < count; i++)
            if (pair[i]->left >= 0 && (best == count || pair[i]->rank < pair[best]->rank))
                best = i;
        if (best == count)
            break;
        ids[best] = pair[best]->id;
        count--;
        memmove(ids + best + 1, ids + best + 2, (count - best - 1) * sizeof *ids);
        if (best + 1 < count) {
            memmove(pair + best + 1, pair + best + 2, (count - best - 2) * sizeof pair[0]);
            pair[best] = find(merges, ids[best], ids[best + 1]);
        }
        if (best > 0)
            pair[best - 1] = find(merges, ids[best - 1], ids[best]);
    }
    return count;
}

static size_t apply_to_long(const struct merges *merges, struct merge_room *room, int32_t *ids,
                            size_t count)
{
    struct merge_part *part;
    struct merge_next  next;
    uint32_t           i, right;
    size_t             left = 0;

    if (count > room->parts) {
        room->part = xreallocarray(room->part, count, sizeof *room->part);
        room->parts = count;
    }
    part = room->part;
    for (i = 0; i < count; i++)
        part[i] = (struct merge_part){ ids[i], i > 0 ? i - 1 : NO_PART,
                                       i + 1 < count ? i + 1 : NO_PART };
    room->heaped = 0;
    for (i = 0; i + 1 < count; i++)
        push(merges, room, i);
    while (room->heaped > 0) {
        next = pop(room);
        right = part[next.at].after;
        if (part[next.at].id != next.left || right == NO_PART || part[right].id != next.right)
            continue; /* one of the two has been merged since */
        part[next.at].id = find(merges, next.left, next.right)->id;
        part[next.at].after = part[right].after;
        part[right].id = -1;
        if (part[right].after != NO_PART)
            part[part[right].after].before = next.at;
        if (part[next.at].before != NO_PART)
            push(merges, room, part[next.at].before);
        push(merges, room, next.at);
    }
    for (i = 0; i < count; i++)
        if (part[i].id >= 0)
            ids[left++] = part[i].id;
    return left;
}

/* Adds the pair of this part and the next one to the heap, if the list has it. */
static void push(const struct merges *merges, struct merge_room *room, uint32_t at)
{
    const struct merge_part *part = &room->part[at];
    const struct merge      *merge;
    struct merge_next        next;
    size_t                   i;

    if (part->after == NO_PART)
        return;
    merge = find(merges, part->id, room->part[part->after].id);
    if (merge->left < 0)
        return;
    if (room->heaped == room->heap_room) {
        room->heap_room = 2 * room->heap_room + 64;
        room->heap = xreallocarray(room->heap, room->heap_room, sizeof *room->heap);
    }
    next = (struct merge_next){ merge->rank, merge->left, merge->right, at };
    for (i = room->heaped++; i > 0 && is_before(&next, &room->heap[(i - 1) / 2]); i = (i - 1) / 2)
        room->heap[i] = room->heap[(i - 1) / 2];
    room->heap[i] = next;
}

static struct merge_next pop(struct merge_room *room)
{
    const struct merge_next top = room->heap[0], last = room->heap[--room->heaped];
    size_t                  i = 0, child;

    while ((child = 2 * i + 1) < room->heaped) {
        if (child + 1 < room->heaped && is_before(&room->heap[child + 1], &room->heap[child]))
            child++;
        if (!is_before(&room->heap[child], &last))
            break;
        room->heap[i] = room->heap[child];
        i = child;
    }
    room->heap[i] = last;
    return top;
}

static bool is_before(const struct merge_next *a, const struct merge_next *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

void merge_room_clear(struct merge_room *room)
{
    free(room->part);
    free(room->heap);
    *room = (struct merge_room){ .parts = 0 };
}
