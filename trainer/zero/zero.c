/* zero.c - see zero.h; a rank's pieces, and the passes; zero_step.c has the step
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/zero.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"
#include "zero/zero_state.h"

static int    make_mirror(struct zero *zero, struct error *err);
static void  *whole_grads(struct zero *zero, int bucket, struct error *err);
static struct bucket_room *empty_room(struct zero *zero, int bucket, struct error *err);
static int    look(struct zero *zero, int bucket, struct error *err);
static int    reduce(struct zero *zero, int bucket, struct error *err);
static int    reduce_whole(struct zero *zero, int bucket, struct error *err);
static void  *whole_sum(const struct zero *zero, int bucket);
static void   add_room(struct zero *zero, struct bucket_room *room, void *sum, const void *more,
                       size_t count);
static void   empty(struct bucket_room *room);

struct zero *zero_open(struct comm *comm, const struct zero_options *options,
                       const size_t *layer_counts, int layers, struct error *err)
{
    struct zero *zero = xcalloc(1, sizeof *zero);

    zero->comm = comm;
    zero->plan = zero_plan(options, comm->size);
    if (options->spared_count > 0)
        zero->plan.options.spared = zero->spared =
            xmemdup(options->spared, (size_t)options->spared_count * sizeof *options->spared);
    zero->device = options->device != NULL ? options->device : &zero_device_cpu;
    zero->type = options->type;
    zero->element = dtype_size(options->type);
    zero->sum_element = dtype_size(zero->plan.sum_type);
    zero_partition(&zero->partition, &zero->plan, layer_counts, layers, comm->size);
    zero->piece = zero->partition.ranks > 1 ? comm->rank : 0;
    zero->bucket = xcalloc((size_t)zero->partition.buckets, sizeof *zero->bucket);
    if (zero_allocate(zero, err) == 0 && zero->device->check(zero->device, err) == 0)
        return zero;
    zero_close(zero);
    return NULL;
}

void zero_close(struct zero *zero)
{
    struct comm *comm;

    if (zero == NULL)
        return;
    comm = zero->comm;
    (void)comm->ops->wait(comm, comm->ops->mark(comm), NULL); /* -1: no operation runs now */
    zero_release(zero);
    partition_clear(&zero->partition);
    free(zero->bucket);
    free(zero->spared);
    free(zero);
}

/* ---- what a rank holds ---- */

/* Returns where this rank's piece starts in an array of whole buckets, in elements. */
static size_t piece_in_whole(const struct zero *zero, int bucket)
{
    const struct partition_bucket *b = &zero->partition.bucket[bucket];

    return b->padded_start + (size_t)zero->piece * b->piece;
}

static size_t piece_in_share(const struct zero *zero, int bucket)
{
    return zero->partition.bucket[bucket].share_start;
}

void *zero_own_params(const struct zero *zero, int bucket)
{
    const size_t at = zero->plan.params_come ? piece_in_share(zero, bucket)
                                             : piece_in_whole(zero, bucket);

    if (zero->params != NULL)
        return (char *)zero->params + at * zero->element;
    return zero->masters + at;
}

void *zero_own_grads(const struct zero *zero, int bucket)
{
    const size_t at = zero->plan.grads_go ? piece_in_share(zero, bucket)
                                          : piece_in_whole(zero, bucket);

    return (char *)zero->grads + at * zero->sum_element;
}

struct zero_piece zero_own_piece(const struct zero *zero, int bucket)
{
    struct partition_range range = partition_range(&zero->partition, bucket, zero->piece);
    struct zero_piece      piece = { .start = range.start, .count = range.count };
    const size_t           at = piece_in_share(zero, bucket);

    if (zero->means == NULL)
        return piece;
    piece.param = zero->masters != NULL ? zero->masters + at : zero_own_params(zero, bucket);
    piece.mean = zero->means + at;
    piece.square = zero->squares + at;
    return piece;
}

struct zero_piece *zero_pieces(struct zero *zero, bool is_exclusive, int *count,
                               struct error *err)
{
    const struct partition *p = &zero->partition;
    struct comm            *comm = zero->comm;
    const size_t            ranks = (size_t)comm->size, rank = (size_t)comm->rank;
    struct zero_piece      *pieces;
    size_t                  from, to;
    int                     i;

    if (comm->ops->wait(comm, comm->ops->mark(comm), err) < 0)
        return NULL;
    if (make_mirror(zero, err) < 0)
        return NULL;
    pieces = xcalloc((size_t)p->buckets, sizeof *pieces);
    for (i = 0; i < p->buckets; i++) {
        pieces[i] = zero_host_piece(zero, i);
        if (!is_exclusive || p->ranks > 1)
            continue;
        from = pieces[i].count * rank / ranks;
        to = pieces[i].count * (rank + 1) / ranks;
        pieces[i].start += from;
        pieces[i].count = to - from;
        if (pieces[i].in_file != NULL)
            continue;
        pieces[i].param += from;
        pieces[i].mean += from;
        pieces[i].square += from;
    }
    *count = p->buckets;
    return pieces;
}

/* Copies the current masters and averages from the GPU to the host. */
static int make_mirror(struct zero *zero, struct error *err)
{
    const size_t      share = zero->partition.share;
    struct zero_piece from, to;
    int               i;

    if (!zero->plan.on_gpu || zero->plan.options.states.place != ZERO_THERE)
        return 0;
    if (zero->mirror == NULL)
        zero->mirror = xcalloc(3 * share + 1, sizeof *zero->mirror);
    for (i = 0; i < zero->partition.buckets; i++) {
        from = zero_own_piece(zero, i);
        to = zero_host_piece(zero, i);
        zero->device->read(zero->device, to.param, from.param, from.count * sizeof(float));
        zero->device->read(zero->device, to.mean, from.mean, from.count * sizeof(float));
        zero->device->read(zero->device, to.square, from.square, from.count * sizeof(float));
    }
    return zero->device->check(zero->device, err);
}

struct zero_piece zero_host_piece(struct zero *zero, int bucket)
{
    struct zero_piece piece = zero_own_piece(zero, bucket);
    const size_t      at = piece_in_share(zero, bucket), share = zero->partition.share;

    piece.bucket = bucket;
    if (zero->plan.options.states.place == ZERO_FILE)
        piece.in_file = zero;
    if (zero->mirror == NULL)
        return piece;
    piece.param = zero->mirror + at;
    piece.mean = zero->mirror + share + at;
    piece.square = zero->mirror + 2 * share + at;
    return piece;
}

int zero_piece_take(struct zero_piece *piece, struct error *err)
{
    struct zero *zero = piece->in_file;
    size_t       count, skipped;
    float       *record;

    if (zero == NULL)
        return 0;
    record = swap_ring_take(&zero->states_ring, piece->bucket, err);
    if (record == NULL)
        return -1;
    zero_read_ahead(zero, piece->bucket + 1);
    count = zero->partition.bucket[piece->bucket].piece;
    skipped = piece->start - zero_own_piece(zero, piece->bucket).start;
    piece->param = record + skipped;
    piece->mean = piece->param + count;
    piece->square = piece->mean + count;
    return 0;
}

void zero_piece_give(struct zero_piece *piece, bool is_changed)
{
    if (piece->in_file == NULL)
        return;
    swap_ring_give(&piece->in_file->states_ring, piece->bucket, is_changed);
    piece->param = piece->mean = piece->square = NULL;
}

void zero_rest(struct zero *zero)
{
    free(zero->mirror);
    zero->mirror = NULL;
}

/* ---- a pass ---- */

void zero_begin(struct zero *zero, bool is_first, bool is_last)
{
    int bucket;

    zero->is_first = is_first;
    zero->is_last = is_last;
    zero->direction = 0;
    for (bucket = 0; bucket < zero->partition.buckets; bucket++) {
        zero->bucket[bucket].layers_done = 0;
        zero->bucket[bucket].has_grads = false;
        if (is_first)
            zero->bucket[bucket].has_own_grads = false;
    }
}

int zero_enter(struct zero *zero, int layer, bool is_backward, void **params, void **grads,
               struct error *err)
{
    const struct partition *p = &zero->partition;
    const int               bucket = p->bucket_of[layer];
    size_t                  place;
    void                   *whole;

    if (bucket < 0)
        return 0;
    place = (p->layer_start[layer] - p->bucket[bucket].start) * zero->element;
    whole = zero_whole_params(zero, bucket, is_backward, err);
    if (whole == NULL)
        return -1;
    *params = (char *)whole + place;
    if (!is_backward || zero->plan.options.is_frozen)
        return 0;
    whole = whole_grads(zero, bucket, err);
    if (whole == NULL)
        return -1;
    *grads = (char *)whole + place;
    return 0;
}

int zero_read(struct zero *zero, void *host, const void *memory, size_t bytes,
              struct error *err)
{
    zero->device->read(zero->device, host, memory, bytes);
    return zero->device->check(zero->device, err);
}

/* ---- a pass: gradients ---- */

/* Returns the bucket's whole gradient, from the time when the backward pass enters the bucket's
 * first layer until the gradient is reduced. */
static void *whole_grads(struct zero *zero, int bucket, struct error *err)
{
    const struct partition_bucket *b = &zero->partition.bucket[bucket];
    const size_t        bytes = (size_t)zero->partition.ranks * b->piece * zero->element;
    struct zero_bucket *state = &zero->bucket[bucket];
    struct bucket_room *room;
    char               *whole;

    if (!zero->plan.grads_in_rooms) {
        whole = whole_sum(zero, bucket);
        if (!state->has_grads && zero->is_first)
            zero->device->zero(zero->device, whole, bytes);
        state->has_grads = true;
        return whole;
    }
    room = bucket_find(&zero->reduced, bucket);
    if (state->has_grads)
        return room->memory;
    if (room != NULL && zero_collect(zero, room, err) < 0) /* it is from the previous pass */
        return NULL;
    room = empty_room(zero, bucket, err);
    if (room == NULL)
        return NULL;
    zero->device->zero(zero->device, room->memory, bytes);
    room->users = 1;
    state->has_grads = true;
    return room->memory;
}

/* Returns an unused room, or else waits until the gradients of a room are reduced. Allocates
 * another room only if neither exists, so that there are no more rooms than necessary. */
static struct bucket_room *empty_room(struct zero *zero, int bucket, struct error *err)
{
    struct bucket_room *room = bucket_take(&zero->reduced, bucket), *moving;

    if (room != NULL)
        return room;
    moving = bucket_moving(&zero->reduced, bucket);
    if (moving == NULL)
        return bucket_add(&zero->reduced, bucket, err);
    if (zero_collect(zero, moving, err) < 0)
        return NULL;
    return bucket_take(&zero->reduced, bucket);
}

int zero_done(struct zero *zero, int layer, struct error *err)
{
    const int bucket = zero->partition.bucket_of[layer];

    if (bucket < 0)
        return 0;
    if (++zero->bucket[bucket].layers_done < zero->partition.bucket[bucket].layers)
        return 0;
    if (!zero->bucket[bucket].has_grads)
        return err_set(err, "zero: layer %d was marked as done but never entered", layer);
    return zero->is_searching ? look(zero, bucket, err) : reduce(zero, bucket, err);
}

/* Afterwards the gradient is not needed, so its room becomes free. */
static int look(struct zero *zero, int bucket, struct error *err)
{
    const int rc = zero_look(zero, bucket, whole_grads(zero, bucket, err), err);

    if (zero->plan.grads_in_rooms)
        empty(bucket_find(&zero->reduced, bucket));
    return rc;
}

static int reduce(struct zero *zero, int bucket, struct error *err)
{
    const struct partition_bucket *b = &zero->partition.bucket[bucket];
    struct comm                   *comm = zero->comm;
    struct bucket_room            *room;
    char                          *own;

    if (!zero->plan.grads_go) {
        if (zero->plan.grads_in_rooms) {
            room = bucket_find(&zero->reduced, bucket);
            add_room(zero, room, whole_sum(zero, bucket), room->memory, room->count);
        }
        return zero->is_last ? reduce_whole(zero, bucket, err) : 0;
    }
    room = bucket_find(&zero->reduced, bucket);
    own = (char *)room->memory + (size_t)zero->piece * b->piece * zero->element;
    if (comm->size > 1 && comm->ops->reduce_scatter(comm, room->memory, own, b->piece, zero->type,
                                                    REDOP_SUM, err) < 0)
        return -1;
    room->mark = comm->ops->mark(comm);
    room->is_moving = true;
    if (zero->plan.grads_away)
        zero_send_grads(zero, room);
    return 0;
}

/* Below stage 2, the gradients of all passes are summed before they are reduced. */
static int reduce_whole(struct zero *zero, int bucket, struct error *err)
{
    const struct partition_bucket *b = &zero->partition.bucket[bucket];
    const enum dtype               type = zero->plan.sum_type;
    const struct comm_ops         *ops = zero->comm->ops;
    void                          *whole = whole_sum(zero, bucket);

    if (zero->comm->size == 1)
        return 0;
    if (zero->partition.ranks == 1)
        return ops->all_reduce(zero->comm, whole, whole, b->piece, type, REDOP_SUM, err);
    return ops->reduce_scatter(zero->comm, whole, zero_own_grads(zero, bucket), b->piece, type,
                               REDOP_SUM, err);
}

/* Below stage 2. */
static void *whole_sum(const struct zero *zero, int bucket)
{
    const size_t at = zero->partition.bucket[bucket].padded_start;

    return (char *)zero->grads + at * zero->sum_element;
}

int zero_collect(struct zero *zero, struct bucket_room *room, struct error *err)
{
    const struct partition_bucket *b = &zero->partition.bucket[room->holds];
    const size_t                   bytes = b->piece * zero->element;
    const char                    *own = (char *)room->memory + (size_t)zero->piece * bytes;

    if (zero->comm->ops->wait(zero->comm, room->mark, err) < 0)
        return -1;
    if (zero->plan.grads_away) {
        zero_add_grads(zero, room);
        empty(room);
    } else {
        add_room(zero, room, zero_own_grads(zero, room->holds), own, b->piece);
    }
    return 0;
}

/* Adds count elements from the room to the sum of the bucket that it holds. */
static void add_room(struct zero *zero, struct bucket_room *room, void *sum, const void *more,
                     size_t count)
{
    struct zero_bucket *state = &zero->bucket[room->holds];
    struct zero_device *device = zero->device;
    const bool          is_first = !state->has_own_grads;

    if (zero->plan.sum_type != zero->type)
        device->add_wide(device, zero->type, sum, more, count, is_first);
    else if (is_first)
        device->copy(device, sum, more, count * zero->element);
    else
        device->add(device, zero->type, sum, more, count);
    state->has_own_grads = true;
    empty(room);
}

static void empty(struct bucket_room *room)
{
    room->is_moving = false;
    room->users = 0;
    room->holds = -1;
}
