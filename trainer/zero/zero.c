/* zero.c - see zero.h; here, what a rank holds, and the passes; zero_step.c has the step
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/zero.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"
#include "zero/zero_state.h"

static int    allocate(struct zero *zero, struct error *err);
static void  *take_memory(struct zero *zero, size_t count, size_t element, size_t *account,
                          struct error *err);
static float *take_state(struct zero *zero, struct error *err);
static void   take_ring(struct zero *zero, struct error *err);
static void   make_mirror(struct zero *zero);
static void  *whole_params(struct zero *zero, int bucket, bool is_backward, struct error *err);
static int    gather(struct zero *zero, int bucket, struct bucket_room *room,
                     struct error *err);
static int    gather_ahead(struct zero *zero, int bucket, struct error *err);
static void  *whole_grads(struct zero *zero, int bucket, struct error *err);
static struct bucket_room *empty_room(struct zero *zero, int bucket, struct error *err);
static int    reduce(struct zero *zero, int bucket, struct error *err);
static void   set_partition(struct partition *partition, const struct zero_options *options,
                            const size_t *layer_counts, int layers, int ranks);

struct zero *zero_open(struct comm *comm, const struct zero_options *options,
                       const size_t *layer_counts, int layers, struct error *err)
{
    struct zero *zero = xcalloc(1, sizeof *zero);

    zero->comm = comm;
    zero->options = *options;
    zero->device = options->device != NULL ? options->device : &zero_device_cpu;
    zero->on_gpu = comm->memory == COMM_DEVICE;
    zero->options.offload = options->offload && zero->on_gpu;
    if (comm->size == 1)
        zero->options.stage = 0;
    zero->element = dtype_size(options->type);
    set_partition(&zero->partition, &zero->options, layer_counts, layers, comm->size);
    zero->piece = zero->partition.ranks > 1 ? comm->rank : 0;
    zero->bucket = xcalloc((size_t)zero->partition.buckets, sizeof *zero->bucket);
    if (allocate(zero, err) == 0 && zero->device->check(zero->device, err) == 0)
        return zero;
    zero_close(zero);
    return NULL;
}

/* ---- what a rank holds ---- */

static int allocate(struct zero *zero, struct error *err)
{
    const struct partition *p = &zero->partition;
    struct zero_memory     *memory = &zero->memory;
    const int               stage = zero->options.stage;
    const bool              is_float = zero->options.type == DTYPE_FLOAT;
    const bool              is_own_master = is_float && stage < 3 && !zero->options.offload;

    /* Float parameters are their own masters, unless those are elsewhere. */
    if (stage < 3)
        zero->params = take_memory(zero, p->padded, zero->element, &memory->params, err);
    else if (!is_float || zero->options.offload)
        zero->params = take_memory(zero, p->share, zero->element, &memory->params, err);
    if (!is_own_master)
        zero->masters = take_state(zero, err);
    zero->means = take_state(zero, err);
    zero->squares = take_state(zero, err);
    if (zero->options.offload)
        take_ring(zero, err);
    zero->grads = take_memory(zero, stage < 2 ? p->padded : p->share, zero->element,
                              &memory->grads, err);
    if (zero->has_no_memory)
        return -1;
    if (stage == 3 && bucket_rooms_init(&zero->gathered, zero->comm, p, zero->element, err) < 0)
        return -1;
    if (stage >= 2 && bucket_rooms_init(&zero->reduced, zero->comm, p, zero->element, err) < 0)
        return -1;
    return 0;
}

/* Zeroed. Only the first failure is told. */
static void *take_memory(struct zero *zero, size_t count, size_t element, size_t *account,
                         struct error *err)
{
    void *memory = NULL;

    if (!zero->has_no_memory)
        memory = zero->comm->ops->alloc(zero->comm, count * element, err);
    if (memory == NULL) {
        zero->has_no_memory = true;
        return NULL;
    }
    zero->device->zero(zero->device, memory, count * element);
    *account += count * element;
    return memory;
}

static float *take_state(struct zero *zero, struct error *err)
{
    const size_t bytes = zero->partition.share * sizeof(float);
    float       *memory;

    if (!zero->options.offload)
        return take_memory(zero, zero->partition.share, sizeof(float), &zero->memory.states, err);
    memory = zero->has_no_memory ? NULL : zero->device->pinned(zero->device, bytes, err);
    if (memory == NULL) {
        zero->has_no_memory = true;
        return NULL;
    }
    memset(memory, 0, bytes);
    zero->memory.states += bytes;
    return memory;
}

/* Room for the largest piece in each. */
static void take_ring(struct zero *zero, struct error *err)
{
    size_t largest = 0, i;

    for (i = 0; i < (size_t)zero->partition.buckets; i++)
        if (zero->partition.bucket[i].piece > largest)
            largest = zero->partition.bucket[i].piece;
    for (i = 0; i < 2 * ZERO_LANES && !zero->has_no_memory; i++) {
        zero->ring[i] = zero->device->pinned(zero->device, largest * zero->element, err);
        zero->has_no_memory = zero->ring[i] == NULL;
    }
}

void zero_close(struct zero *zero)
{
    void (*release)(void *memory), (*unpin)(struct zero_device *device, void *memory);
    struct comm *comm;
    int          i;

    if (zero == NULL)
        return;
    comm = zero->comm;
    release = comm->ops->release;
    (void)comm->ops->wait(comm, comm->ops->mark(comm), NULL); /* -1: it does no more */
    bucket_rooms_clear(&zero->gathered);
    bucket_rooms_clear(&zero->reduced);
    release(zero->params);
    release(zero->grads);
    if (zero->options.offload) {
        unpin = zero->device->unpin;
        unpin(zero->device, zero->masters);
        unpin(zero->device, zero->means);
        unpin(zero->device, zero->squares);
        for (i = 0; i < 2 * ZERO_LANES; i++)
            unpin(zero->device, zero->ring[i]);
    } else {
        release(zero->masters);
        release(zero->means);
        release(zero->squares);
    }
    free(zero->mirror);
    partition_clear(&zero->partition);
    free(zero->bucket);
    free(zero);
}

/* The place of this rank's piece, in elements. */
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
    if (zero->options.stage < 3)
        return (char *)zero->params + piece_in_whole(zero, bucket) * zero->element;
    if (zero->params != NULL)
        return (char *)zero->params + piece_in_share(zero, bucket) * zero->element;
    return zero->masters + piece_in_share(zero, bucket);
}

void *zero_own_grads(const struct zero *zero, int bucket)
{
    size_t at = zero->options.stage < 2 ? piece_in_whole(zero, bucket)
                                        : piece_in_share(zero, bucket);

    return (char *)zero->grads + at * zero->element;
}

struct zero_piece zero_own_piece(const struct zero *zero, int bucket)
{
    struct partition_range range = partition_range(&zero->partition, bucket, zero->piece);
    size_t                 at = piece_in_share(zero, bucket);

    return (struct zero_piece){
        .start = range.start,
        .count = range.count,
        .param = zero->masters != NULL ? zero->masters + at : zero_own_params(zero, bucket),
        .mean = zero->means + at,
        .square = zero->squares + at,
    };
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
    make_mirror(zero);
    if (zero->device->check(zero->device, err) < 0)
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
        pieces[i].param += from;
        pieces[i].mean += from;
        pieces[i].square += from;
    }
    *count = p->buckets;
    return pieces;
}

/* As they are now. */
static void make_mirror(struct zero *zero)
{
    const size_t      share = zero->partition.share;
    struct zero_piece from, to;
    int               i;

    if (!zero->on_gpu || zero->options.offload)
        return;
    if (zero->mirror == NULL)
        zero->mirror = xcalloc(3 * share + 1, sizeof *zero->mirror);
    for (i = 0; i < zero->partition.buckets; i++) {
        from = zero_own_piece(zero, i);
        to = zero_host_piece(zero, i);
        zero->device->read(zero->device, to.param, from.param, from.count * sizeof(float));
        zero->device->read(zero->device, to.mean, from.mean, from.count * sizeof(float));
        zero->device->read(zero->device, to.square, from.square, from.count * sizeof(float));
    }
}

struct zero_piece zero_host_piece(const struct zero *zero, int bucket)
{
    struct zero_piece piece = zero_own_piece(zero, bucket);
    const size_t      at = piece_in_share(zero, bucket), share = zero->partition.share;

    if (!zero->on_gpu || zero->options.offload)
        return piece;
    piece.param = zero->mirror + at;
    piece.mean = zero->mirror + share + at;
    piece.square = zero->mirror + 2 * share + at;
    return piece;
}

/* ---- a pass: parameters ---- */

void zero_begin(struct zero *zero, bool is_first, bool is_last)
{
    int bucket;

    zero->is_first = is_first;
    zero->is_last = is_last;
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

    place = (p->layer_start[layer] - p->bucket[bucket].start) * zero->element;
    whole = whole_params(zero, bucket, is_backward, err);
    if (whole == NULL)
        return -1;
    *params = (char *)whole + place;
    if (!is_backward)
        return 0;
    whole = whole_grads(zero, bucket, err);
    if (whole == NULL)
        return -1;
    *grads = (char *)whole + place;
    return 0;
}

static void *whole_params(struct zero *zero, int bucket, bool is_backward, struct error *err)
{
    const struct comm_ops *ops = zero->comm->ops;
    struct bucket_room    *room;
    size_t                 at;

    if (zero->options.stage < 3) {
        at = zero->partition.bucket[bucket].padded_start;
        if (ops->wait(zero->comm, zero->bucket[bucket].params_mark, err) < 0)
            return NULL;
        return (char *)zero->params + at * zero->element;
    }
    room = bucket_find(&zero->gathered, bucket);
    if (room == NULL) {
        room = bucket_take(&zero->gathered, bucket);
        if (room == NULL)
            room = bucket_add(&zero->gathered, bucket, err);
        if (room == NULL || gather(zero, bucket, room, err) < 0)
            return NULL;
    }
    room->users++;
    if (gather_ahead(zero, is_backward ? bucket - 1 : bucket + 1, err) < 0 ||
        ops->wait(zero->comm, room->mark, err) < 0)
        return NULL;
    return room->memory;
}

static int gather(struct zero *zero, int bucket, struct bucket_room *room, struct error *err)
{
    struct comm *comm = zero->comm;

    if (comm->ops->all_gather(comm, zero_own_params(zero, bucket), room->memory,
                              zero->partition.bucket[bucket].piece, zero->options.type,
                              err) < 0)
        return -1;
    room->mark = comm->ops->mark(comm);
    return 0;
}

/* What comes next is gathered while this is computed, if there is room for it. */
static int gather_ahead(struct zero *zero, int bucket, struct error *err)
{
    struct bucket_room *room;

    if (bucket < 0 || bucket == zero->partition.buckets ||
        bucket_find(&zero->gathered, bucket) != NULL)
        return 0;
    room = bucket_take(&zero->gathered, bucket);
    return room != NULL ? gather(zero, bucket, room, err) : 0;
}

void zero_leave(struct zero *zero, int layer)
{
    if (zero->options.stage == 3)
        bucket_find(&zero->gathered, zero->partition.bucket_of[layer])->users--;
}

int zero_read(struct zero *zero, void *host, const void *memory, size_t bytes,
              struct error *err)
{
    zero->device->read(zero->device, host, memory, bytes);
    return zero->device->check(zero->device, err);
}

/* ---- a pass: gradients ---- */

/* From the first layer of the bucket that the backward pass enters until it is reduced. */
static void *whole_grads(struct zero *zero, int bucket, struct error *err)
{
    const struct partition_bucket *b = &zero->partition.bucket[bucket];
    const size_t        bytes = (size_t)zero->partition.ranks * b->piece * zero->element;
    struct zero_bucket *state = &zero->bucket[bucket];
    struct bucket_room *room;
    char               *whole;

    if (zero->options.stage < 2) {
        whole = (char *)zero->grads + b->padded_start * zero->element;
        if (!state->has_grads && zero->is_first)
            zero->device->zero(zero->device, whole, bytes);
        state->has_grads = true;
        return whole;
    }
    room = bucket_find(&zero->reduced, bucket);
    if (state->has_grads)
        return room->memory;
    if (room != NULL && zero_collect(zero, room, err) < 0) /* it is of the pass before */
        return NULL;
    room = empty_room(zero, bucket, err);
    if (room == NULL)
        return NULL;
    zero->device->zero(zero->device, room->memory, bytes);
    room->users = 1;
    state->has_grads = true;
    return room->memory;
}

/* One whose gradients have been reduced, else one more. Gradients under way are waited
 * for, so that there are no more rooms than it takes. */
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

    if (++zero->bucket[bucket].layers_done < zero->partition.bucket[bucket].layers)
        return 0;
    if (!zero->bucket[bucket].has_grads)
        return err_set(err, "zero: layer %d is done, but was never entered", layer);
    return reduce(zero, bucket, err);
}

/* Below stage 2, gradients of all passes are added up before they are reduced. */
static int reduce(struct zero *zero, int bucket, struct error *err)
{
    const struct partition_bucket *b = &zero->partition.bucket[bucket];
    struct comm                   *comm = zero->comm;
    struct bucket_room            *room = NULL;
    char                          *whole, *own;

    if (comm->size == 1 || (zero->options.stage < 2 && !zero->is_last))
        return 0;
    whole = (char *)zero->grads + b->padded_start * zero->element;
    if (zero->options.stage == 0)
        return comm->ops->all_reduce(comm, whole, whole, b->piece, zero->options.type,
                                     REDOP_SUM, err);
    if (zero->options.stage >= 2) {
        room = bucket_find(&zero->reduced, bucket);
        whole = room->memory;
    }
    own = whole + (size_t)zero->piece * b->piece * zero->element;
    if (comm->ops->reduce_scatter(comm, whole, own, b->piece, zero->options.type, REDOP_SUM,
                                  err) < 0)
        return -1;
    if (room != NULL) {
        room->mark = comm->ops->mark(comm);
        room->is_moving = true;
    }
    return 0;
}

int zero_collect(struct zero *zero, struct bucket_room *room, struct error *err)
{
    struct zero_bucket            *state = &zero->bucket[room->holds];
    const struct partition_bucket *b = &zero->partition.bucket[room->holds];
    const size_t                   bytes = b->piece * zero->element;
    const char                    *sum = (char *)room->memory + (size_t)zero->piece * bytes;
    void                          *own = zero_own_grads(zero, room->holds);

    if (zero->comm->ops->wait(zero->comm, room->mark, err) < 0)
        return -1;
    if (state->has_own_grads)
        zero->device->add(zero->device, zero->options.type, own, sum, b->piece);
    else
        zero->device->copy(zero->device, own, sum, bytes);
    state->has_own_grads = true;
    room->is_moving = false;
    room->users = 0;
    room->holds = -1;
    return 0;
}

/* ---- memory ---- */

static void set_partition(struct partition *partition, const struct zero_options *options,
                          const size_t *layer_counts, int layers, int ranks)
{
    partition_init(partition, layer_counts, layers, options->stage == 0 ? 1 : ranks,
                   options->stage == 3 ? 0 : options->bucket_max);
}

struct zero_memory zero_memory(const struct zero *zero)
{
    struct zero_memory memory = zero->memory;

    memory.rooms = zero->gathered.bytes + zero->reduced.bytes;
    return memory;
}

/* With P parameters of E bytes, R ranks: parameters take P E or P E / R, gradients the
 * same, masters and averages 12 P / R, or 8 P / R where a parameter is its own master. */
struct zero_memory zero_memory_needed(const struct zero_options *options,
                                      const size_t *layer_counts, int layers, int ranks)
{
    struct zero_options     o = *options;
    const size_t            element = dtype_size(o.type);
    const bool              is_float = o.type == DTYPE_FLOAT;
    struct zero_memory      memory;
    struct partition        p;
    size_t                  rooms = 0, share;
    int                     i, j, same;

    if (ranks == 1)
        o.stage = 0;
    set_partition(&p, &o, layer_counts, layers, ranks);
    share = p.padded / (size_t)p.ranks;
    for (i = 0; i < p.buckets; i++) {
        for (j = 0, same = 0; j < i; j++)
            same += p.bucket[j].piece == p.bucket[i].piece;
        if (same < BUCKET_ROOMS)
            rooms += p.bucket[i].piece * (size_t)p.ranks * element;
    }
    memory.params = o.stage < 3                ? p.padded * element
                    : is_float && !o.offload ? 0
                                             : share * element;
    memory.grads = o.stage < 2 ? p.padded * element : share * element;
    memory.states = share * (is_float && o.stage < 3 && !o.offload ? 8 : 12);
    memory.rooms = (o.stage == 3 ? rooms : 0) + (o.stage >= 2 ? rooms : 0);
    partition_clear(&p);
    return memory;
}
