/* zero_params.c - see zero.h; gathers parameters for the layers that compute with them
 *
 * Offloaded parameters are gathered in two steps: first this rank's piece is copied into the
 * room, then the other ranks' pieces are gathered. Both steps for the next layer overlap with
 * the computation of this layer. Files are read further ahead:
 *
 *     file         read 3       read 4 ...
 *     to the GPU   piece of 2
 *     network                   gather 2
 *     GPU          layer 1 ........   layer 2
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/zero.h"

#include <stdlib.h>

#include "xalloc.h"
#include "zero/zero_state.h"

#define FILL_MAX ((size_t)1 << 22) /* elements that a GPU is sent at a time; a multiple of 8 */

static struct bucket_room *room_for(struct zero *zero, int bucket, struct error *err);
static int  gather(struct zero *zero, int bucket, struct bucket_room *room, struct error *err);
static int  bring(struct zero *zero, int bucket, char *own, struct error *err);
static const void *source_of(struct zero *zero, int bucket, struct error *err);
static bool is_onward(struct zero *zero, int bucket, int step);
static int  gather_ahead(struct zero *zero, int bucket, int step, struct error *err);
static int  arrive(struct zero *zero, struct bucket_room *room, struct error *err);
static int  arrive_all(struct zero *zero, struct error *err);
static int  fill_bucket(struct zero *zero, int bucket, zero_filler *fill, void *arg,
                        struct error *err);
static int  fill_device(struct zero *zero, int bucket, struct partition_range range,
                        zero_filler *fill, void *arg, struct error *err);

void *zero_whole_params(struct zero *zero, int bucket, bool is_backward, struct error *err)
{
    const struct comm_ops *ops = zero->comm->ops;
    const int              step = is_backward ? -1 : 1;
    struct bucket_room    *room;
    size_t                 at;

    if (!zero->plan.params_come) {
        at = zero->partition.bucket[bucket].padded_start;
        if (ops->wait(zero->comm, zero->bucket[bucket].params_mark, err) < 0)
            return NULL;
        return (char *)zero->params + at * zero->element;
    }
    room = bucket_find(&zero->gathered, bucket);
    if (room == NULL) {
        room = room_for(zero, bucket, err);
        if (room == NULL || gather(zero, bucket, room, err) < 0)
            return NULL;
    }
    room->users++;
    if (is_onward(zero, bucket, step) && gather_ahead(zero, bucket + step, step, err) < 0)
        return NULL;
    room = bucket_find(&zero->gathered, bucket);
    return arrive(zero, room, err) == 0 ? room->memory : NULL;
}

static struct bucket_room *room_for(struct zero *zero, int bucket, struct error *err)
{
    struct bucket_room *room = bucket_take(&zero->gathered, bucket), *moving;

    if (room != NULL)
        return room;
    moving = bucket_moving(&zero->gathered, bucket);
    if (moving == NULL)
        return bucket_add(&zero->gathered, bucket, err);
    if (arrive(zero, moving, err) < 0)
        return NULL;
    room = bucket_take(&zero->gathered, bucket);
    return room != NULL ? room : bucket_add(&zero->gathered, bucket, err);
}

static int gather(struct zero *zero, int bucket, struct bucket_room *room, struct error *err)
{
    const size_t piece = zero->partition.bucket[bucket].piece;
    struct comm *comm = zero->comm;
    char        *own = (char *)room->memory + (size_t)zero->piece * piece * zero->element;
    const bool   is_away = zero->plan.options.params.place != ZERO_THERE;

    if (is_away && bring(zero, bucket, own, err) < 0)
        return -1;
    if (comm->size > 1 &&
        comm->ops->all_gather(comm, is_away ? own : zero_own_params(zero, bucket), room->memory,
                              piece, zero->type, err) < 0)
        return -1;
    room->mark = comm->ops->mark(comm);
    room->is_moving = is_away;
    return 0;
}

/* Copies this rank's piece into the room. No other copy writes to the room: the earlier ones
 * have finished. */
static int bring(struct zero *zero, int bucket, char *own, struct error *err)
{
    const size_t bytes = zero->partition.bucket[bucket].piece * zero->element;
    const void  *source = source_of(zero, bucket, err);
    void        *event;

    if (source == NULL)
        return -1;
    event = zero->device->store_ahead(zero->device, own, source, bytes);
    return event != NULL ? zero->comm->ops->after(zero->comm, event, err) : 0;
}

static const void *source_of(struct zero *zero, int bucket, struct error *err)
{
    void *source;

    if (zero->plan.options.params.place == ZERO_HOST)
        return zero_own_params(zero, bucket);
    source = swap_ring_take(&zero->params_ring, bucket, err);
    if (source != NULL || err->text[0] != '\0')
        return source;
    if (arrive_all(zero, err) < 0)
        return NULL;
    return swap_ring_take(&zero->params_ring, bucket, err);
}

/* Is the bucket entered in order? A layer with tied parameters is entered out of order. The
 * bucket after it is then not needed next, and would only take a room from the bucket that
 * is. */
static bool is_onward(struct zero *zero, int bucket, int step)
{
    const bool is_next = zero->direction != step || zero->entered + step == bucket ||
                         zero->entered == bucket;

    if (is_next)
        zero->entered = bucket;
    zero->direction = step;
    return is_next;
}

/* Gathers the next bucket while this one is computed, if a room is free. */
static int gather_ahead(struct zero *zero, int bucket, int step, struct error *err)
{
    struct bucket_room *room;
    int                 i;

    if (bucket < 0 || bucket == zero->partition.buckets)
        return 0;
    if (bucket_find(&zero->gathered, bucket) == NULL) {
        room = bucket_take(&zero->gathered, bucket);
        if (room != NULL && gather(zero, bucket, room, err) < 0)
            return -1;
    }
    for (i = 1; i < zero->params_ring.lanes - 1; i++)
        swap_ring_ahead(&zero->params_ring, bucket + i * step);
    return 0;
}

/* Waits for the room's data, then gives back the lane that it was copied from. */
static int arrive(struct zero *zero, struct bucket_room *room, struct error *err)
{
    if (zero->comm->ops->wait(zero->comm, room->mark, err) < 0)
        return -1;
    if (room->is_moving && zero->plan.options.params.place == ZERO_FILE)
        swap_ring_give(&zero->params_ring, room->holds, false);
    room->is_moving = false;
    return 0;
}

static int arrive_all(struct zero *zero, struct error *err)
{
    struct bucket_room *room;

    while ((room = bucket_moving(&zero->gathered, -1)) != NULL)
        if (arrive(zero, room, err) < 0)
            return -1;
    return 0;
}

void zero_leave(struct zero *zero, int layer)
{
    const int bucket = zero->partition.bucket_of[layer];

    if (zero->plan.params_come && bucket >= 0)
        bucket_find(&zero->gathered, bucket)->users--;
}

int zero_forget(struct zero *zero, struct error *err)
{
    if (arrive_all(zero, err) < 0)
        return -1;
    bucket_forget(&zero->gathered);
    return 0;
}

/* In stage 3 the parameters are gathered when a layer is entered. */
int zero_spread(struct zero *zero, int bucket, struct error *err)
{
    const struct partition_bucket *b = &zero->partition.bucket[bucket];
    struct comm                   *comm = zero->comm;
    char                          *whole;

    if (zero->partition.ranks == 1 || zero->plan.params_come)
        return 0;
    whole = (char *)zero->params + b->padded_start * zero->element;
    if (comm->ops->all_gather(comm, zero_own_params(zero, bucket), whole, b->piece, zero->type,
                              err) < 0)
        return -1;
    zero->bucket[bucket].params_mark = comm->ops->mark(comm);
    return 0;
}

/* ---- frozen parameters ---- */

int zero_fill(struct zero *zero, zero_filler *fill, void *arg, struct error *err)
{
    int bucket;

    for (bucket = 0; bucket < zero->partition.buckets; bucket++)
        if (fill_bucket(zero, bucket, fill, arg, err) < 0)
            return -1;
    return zero_forget(zero, err);
}

static int fill_bucket(struct zero *zero, int bucket, zero_filler *fill, void *arg,
                       struct error *err)
{
    const struct partition_range range =
        partition_range(&zero->partition, bucket, zero->piece);
    const enum zero_place place = zero->plan.options.params.place;
    char                 *to;
    int                   rc;

    if (place == ZERO_THERE && zero->plan.on_gpu)
        return fill_device(zero, bucket, range, fill, arg, err);
    to = place == ZERO_FILE ? swap_ring_take_blank(&zero->params_ring, bucket, err)
                            : zero_own_params(zero, bucket);
    if (to == NULL)
        return -1;
    rc = fill(arg, range.start, range.count, to, err);
    if (place == ZERO_FILE)
        swap_ring_give(&zero->params_ring, bucket, rc == 0);
    return rc;
}

/* Part by part, because the host may have little memory. */
static int fill_device(struct zero *zero, int bucket, struct partition_range range,
                       zero_filler *fill, void *arg, struct error *err)
{
    const size_t most = range.count < FILL_MAX ? range.count : FILL_MAX;
    char        *part = xreallocarray(NULL, most + 1, zero->element);
    size_t       done, n;
    int          rc = 0;

    for (done = 0; done < range.count && rc == 0; done += n) {
        n = range.count - done < most ? range.count - done : most;
        rc = fill(arg, range.start + done, n, part, err);
        if (rc == 0)
            zero->device->write(zero->device,
                                (char *)zero_own_params(zero, bucket) + done * zero->element,
                                part, n * zero->element);
    }
    free(part);
    return rc < 0 ? -1 : zero->device->check(zero->device, err);
}
