/* bucket.h - rooms for whole buckets, where no rank keeps all of them
 *
 * A room is memory for one bucket. There are two for each size of bucket that occurs
 * more than once: one is computed with while the other is filled or emptied. A room
 * that nobody uses still holds its bucket until another one needs it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BUCKET_H
#define MUSTER_BUCKET_H

#include "comm/comm.h"
#include "zero/partition.h"

#define BUCKET_ROOMS 2 /* of one size, at least; more if more are in use at once */

struct bucket_room {
    void    *memory;
    size_t   count;  /* elements */
    int      holds;  /* a bucket; -1: none */
    int      users;
    bool     is_moving; /* a user of its own: the communicator, until mark */
    uint64_t mark;
    int      lane;   /* a copy to the host is under way there, as well; -1: none is */
    uint64_t used;   /* the larger, the later */
};

struct bucket_rooms {
    struct comm            *comm;
    const struct partition *partition;
    size_t                  element; /* bytes */
    struct bucket_room     *room;
    int                     count;
    uint64_t                uses;
    size_t                  bytes; /* of all */
};

/* comm and partition are borrowed. -1 when there is no memory. Free with
 * bucket_rooms_clear, after a failure too. */
int  bucket_rooms_init(struct bucket_rooms *rooms, struct comm *comm,
                       const struct partition *partition, size_t element, struct error *err);
void bucket_rooms_clear(struct bucket_rooms *rooms);

/* The room that holds this bucket, or NULL. */
struct bucket_room *bucket_find(struct bucket_rooms *rooms, int bucket);

/* A room for this bucket that has no user, the one that was used least recently; it is
 * marked as holding the bucket. NULL: all are in use. */
struct bucket_room *bucket_take(struct bucket_rooms *rooms, int bucket);

/* One room more, for when all are in use. NULL with err. */
struct bucket_room *bucket_add(struct bucket_rooms *rooms, int bucket, struct error *err);

/* The room under way that was used least recently, of the size of this bucket; -1: of any.
 * NULL: there is none. */
struct bucket_room *bucket_moving(struct bucket_rooms *rooms, int bucket);

/* What the rooms without users hold is not valid any more. */
void bucket_forget(struct bucket_rooms *rooms);

#endif
