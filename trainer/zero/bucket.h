/* bucket.h - rooms for whole buckets, for stages where no rank keeps all buckets whole
 *
 * A room is memory for one bucket. There are two rooms for each bucket size that occurs
 * more than once: the layers compute with one while the other is filled or emptied. An
 * unused room still holds its bucket until another bucket needs the room.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BUCKET_H
#define MUSTER_BUCKET_H

#include "comm/comm.h"
#include "zero/partition.h"

#define BUCKET_ROOMS 2 /* rooms per size; more if more are in use at once */

struct bucket_room {
    void    *memory;
    size_t   count;  /* elements */
    int      holds;  /* a bucket; -1: none */
    int      users;
    bool     is_moving; /* the communicator uses the room, until mark */
    uint64_t mark;
    int      lane;   /* the lane of a pending copy to the host; -1: none is pending */
    uint64_t used;   /* a larger number means a later use */
};

struct bucket_rooms {
    struct comm            *comm;
    const struct partition *partition;
    size_t                  element; /* bytes */
    struct bucket_room     *room;
    int                     count;
    uint64_t                uses;
    size_t                  bytes; /* of all rooms */
};

/* comm and partition are borrowed. Returns -1 if memory is short. Free with
 * bucket_rooms_clear(), also after a failure. */
int  bucket_rooms_init(struct bucket_rooms *rooms, struct comm *comm,
                       const struct partition *partition, size_t element, struct error *err);
void bucket_rooms_clear(struct bucket_rooms *rooms);

/* Returns the room that holds this bucket, or NULL. */
struct bucket_room *bucket_find(struct bucket_rooms *rooms, int bucket);

/* Returns the least recently used room of this bucket's size that has no user, and marks it
 * as holding the bucket. NULL: all are in use. */
struct bucket_room *bucket_take(struct bucket_rooms *rooms, int bucket);

/* Allocates another room, when all are in use. NULL with err. */
struct bucket_room *bucket_add(struct bucket_rooms *rooms, int bucket, struct error *err);

/* Returns the least recently used room that is_moving and has this bucket's size (-1: any
 * size). NULL: there is none. */
struct bucket_room *bucket_moving(struct bucket_rooms *rooms, int bucket);

/* Marks the rooms without users as empty: their data is not valid any more. */
void bucket_forget(struct bucket_rooms *rooms);

#endif
