/* packing.c - see packing.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "data/packing.h"

#include <stdlib.h>

#include "xalloc.h"

#define NONE UINT32_MAX

/* Samples that are being filled. Those with the same room left are in a list, and a tree of bits
 * knows which lists are not empty: bit r of level 0 is that of room r, and bit i of a level is set
 * if word i of the level below has a bit. */
#define LEVELS 4 /* 64^4 tokens */

struct filling {
    uint32_t *head;   /* by room: the last sample of the list */
    uint32_t *before; /* by sample: the one before it in its list */
    uint32_t *sample; /* by document: where it went */
    uint64_t *bits[LEVELS];
    uint32_t  room;
    uint32_t  samples;
};

static uint32_t *by_size(const uint32_t *sizes, size_t count, uint32_t room, size_t *used);
static void     begin(struct filling *filling, size_t count, size_t used, uint32_t room);
static void     put(struct filling *filling, uint32_t document, uint32_t size);
static uint32_t least_room(const struct filling *filling, uint32_t size);
static void     set(struct filling *filling, uint32_t room, int is_set);
static void     hand_out(struct packing *packing, const struct filling *filling, size_t count,
                         size_t used);

void packing_make(struct packing *packing, const uint32_t *sizes, size_t count, uint32_t room)
{
    struct filling filling;
    size_t         used, i;
    uint32_t      *order = by_size(sizes, count, room, &used);
    int            level;

    begin(&filling, count, used, room);
    for (i = 0; i < used; i++)
        put(&filling, order[i], sizes[order[i]]);
    hand_out(packing, &filling, count, used);
    for (level = 0; level < LEVELS; level++)
        free(filling.bits[level]);
    free(filling.head);
    free(filling.before);
    free(filling.sample);
    free(order);
}

/* Returns the numbers of the documents, the longest first, by counting. */
static uint32_t *by_size(const uint32_t *sizes, size_t count, uint32_t room, size_t *used)
{
    size_t   *place = xcalloc((size_t)room + 2, sizeof *place), i, size, next = 0;
    uint32_t *order;

    for (i = 0; i < count; i++)
        place[sizes[i]]++;
    for (size = room; size > 0; size--) {
        const size_t here = place[size];

        place[size] = next;
        next += here;
    }
    *used = next;
    order = xcalloc(next + 1, sizeof *order);
    for (i = 0; i < count; i++)
        if (sizes[i] > 0)
            order[place[sizes[i]]++] = (uint32_t)i;
    free(place);
    return order;
}

static void begin(struct filling *filling, size_t count, size_t used, uint32_t room)
{
    size_t words = (size_t)room + 1, i;
    int    level;

    *filling = (struct filling){ .room = room };
    filling->head = xcalloc((size_t)room + 1, sizeof *filling->head);
    for (i = 0; i <= room; i++)
        filling->head[i] = NONE;
    filling->before = xcalloc(used + 1, sizeof *filling->before);
    filling->sample = xcalloc(count + 1, sizeof *filling->sample);
    for (level = 0; level < LEVELS; level++) {
        words = (words + 63) / 64;
        filling->bits[level] = xcalloc(words, sizeof(uint64_t));
    }
    for (i = 0; i < count; i++)
        filling->sample[i] = NONE;
}

static void put(struct filling *filling, uint32_t document, uint32_t size)
{
    uint32_t room = least_room(filling, size), sample;

    if (room == NONE) {
        sample = filling->samples++;
        room = filling->room;
    } else {
        sample = filling->head[room];
        filling->head[room] = filling->before[sample];
        if (filling->head[room] == NONE)
            set(filling, room, 0);
    }
    filling->sample[document] = sample;
    room -= size;
    filling->before[sample] = filling->head[room];
    filling->head[room] = sample;
    set(filling, room, 1);
}

/* Returns the least room of at least this size that a sample has left, or NONE. */
static uint32_t least_room(const struct filling *filling, uint32_t size)
{
    uint64_t at = size, limit = (uint64_t)filling->room + 1, word;
    int      level;

    for (level = 0; level < LEVELS; level++, at = at / 64 + 1, limit = (limit + 63) / 64) {
        if (at >= limit)
            return NONE;
        word = filling->bits[level][at / 64] >> at % 64;
        if (word == 0)
            continue;
        for (at += (uint64_t)__builtin_ctzll(word); level > 0; level--)
            at = at * 64 + (uint64_t)__builtin_ctzll(filling->bits[level - 1][at]);
        return (uint32_t)at;
    }
    return NONE;
}

static void set(struct filling *filling, uint32_t room, int is_set)
{
    uint64_t at = room;
    int      level;

    for (level = 0; level < LEVELS; level++, at /= 64) {
        uint64_t *word = &filling->bits[level][at / 64];

        if (is_set)
            *word |= UINT64_C(1) << at % 64;
        else
            *word &= ~(UINT64_C(1) << at % 64);
        if (!is_set && *word != 0)
            break;
    }
}

static void hand_out(struct packing *packing, const struct filling *filling, size_t count,
                     size_t used)
{
    size_t *next, i;

    packing->samples = filling->samples;
    packing->document = xcalloc(used + 1, sizeof *packing->document);
    packing->first = xcalloc(packing->samples + 2, sizeof *packing->first);
    next = packing->first + 1; /* moves on to where the next sample begins */
    for (i = 0; i < count; i++)
        if (filling->sample[i] != NONE && filling->sample[i] + 1 < packing->samples)
            next[filling->sample[i] + 1]++;
    for (i = 1; i < packing->samples; i++)
        next[i] += next[i - 1];
    for (i = 0; i < count; i++)
        if (filling->sample[i] != NONE)
            packing->document[next[filling->sample[i]]++] = (uint32_t)i;
}

void packing_clear(struct packing *packing)
{
    free(packing->document);
    free(packing->first);
    *packing = (struct packing){ .samples = 0 };
}
