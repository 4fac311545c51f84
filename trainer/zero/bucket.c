/* bucket.c - see bucket.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/bucket.h"

#include <stdlib.h>

#include "xalloc.h"

static size_t size_of(const struct bucket_rooms *rooms, int bucket);
static int    rooms_of(const struct bucket_rooms *rooms, size_t count);

int bucket_rooms_init(struct bucket_rooms *rooms, struct comm *comm,
                      const struct partition *partition, size_t element, struct error *err)
{
    int bucket;

    *rooms = (struct bucket_rooms){ .comm = comm, .partition = partition, .element = element };
    for (bucket = 0; bucket < partition->buckets; bucket++) {
        if (rooms_of(rooms, size_of(rooms, bucket)) == BUCKET_ROOMS)
            continue;
        if (bucket_add(rooms, bucket, err) == NULL)
            return -1;
    }
    for (bucket = 0; bucket < rooms->count; bucket++)
        rooms->room[bucket].holds = -1;
    return 0;
}

void bucket_rooms_clear(struct bucket_rooms *rooms)
{
    int i;

    for (i = 0; i < rooms->count; i++)
        rooms->comm->ops->release(rooms->room[i].memory);
    free(rooms->room);
    *rooms = (struct bucket_rooms){ 0 };
}

struct bucket_room *bucket_find(struct bucket_rooms *rooms, int bucket)
{
    int i;

    for (i = 0; i < rooms->count; i++) {
        if (rooms->room[i].holds != bucket)
            continue;
        rooms->room[i].used = ++rooms->uses;
        return &rooms->room[i];
    }
    return NULL;
}

struct bucket_room *bucket_take(struct bucket_rooms *rooms, int bucket)
{
    struct bucket_room *room, *oldest = NULL;
    int                 i;

    for (i = 0; i < rooms->count; i++) {
        room = &rooms->room[i];
        if (room->count != size_of(rooms, bucket) || room->users > 0 || room->is_moving)
            continue;
        if (oldest == NULL || room->used < oldest->used)
            oldest = room;
    }
    if (oldest != NULL) {
        oldest->holds = bucket;
        oldest->used = ++rooms->uses;
    }
    return oldest;
}

struct bucket_room *bucket_add(struct bucket_rooms *rooms, int bucket, struct error *err)
{
    const size_t       count = size_of(rooms, bucket), bytes = count * rooms->element;
    struct bucket_room room = { .count = count, .holds = bucket };

    room.memory = rooms->comm->ops->alloc(rooms->comm, bytes, err);
    if (room.memory == NULL)
        return NULL;
    room.used = ++rooms->uses;
    rooms->bytes += bytes;
    rooms->room =
        xreallocarray(rooms->room, (size_t)rooms->count + 1, sizeof *rooms->room);
    rooms->room[rooms->count] = room;
    return &rooms->room[rooms->count++];
}

struct bucket_room *bucket_moving(struct bucket_rooms *rooms, int bucket)
{
    struct bucket_room *room, *oldest = NULL;
    int                 i;

    for (i = 0; i < rooms->count; i++) {
        room = &rooms->room[i];
        if (!room->is_moving || (bucket >= 0 && room->count != size_of(rooms, bucket)))
            continue;
        if (oldest == NULL || room->used < oldest->used)
            oldest = room;
    }
    return oldest;
}

void bucket_forget(struct bucket_rooms *rooms)
{
    int i;

    for (i = 0; i < rooms->count; i++)
        if (rooms->room[i].users == 0)
            rooms->room[i].holds = -1;
}

static size_t size_of(const struct bucket_rooms *rooms, int bucket)
{
    return (size_t)rooms->partition->ranks * rooms->partition->bucket[bucket].piece;
}

static int rooms_of(const struct bucket_rooms *rooms, size_t count)
{
    int i, n = 0;

    for (i = 0; i < rooms->count; i++)
        n += rooms->room[i].count == count;
    return n;
}
