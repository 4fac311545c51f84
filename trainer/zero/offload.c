/* offload.c - see zero.h; a step whose masters and averages are not on the GPU
 *
 *     file to host  state 0      state 1      state 2      ...
 *     CPU                        Adam 0       Adam 1       Adam 2 ...
 *     host to GPU                             params 0     params 1 ...
 *     host to file                            state 0      state 1 ...
 *
 * From stage 2 on, the gradients were copied to the host during the backward pass. Below stage
 * 2 they are copied during the step, one bucket ahead of Adam.
 *
 * All data is copied in the model's type, so in 16 bits if the model has 16 bits, but below stage
 * 2 sums in float as they are. Each direction between GPU and host has pinned memory for two
 * buckets; files may have more. Without a GPU, data moves only to and from the file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "zero/wide_sum.h"
#include "zero/zero.h"
#include "zero/zero_state.h"

static void fetch_grads(struct zero *zero, int bucket);
static struct adam_arrays arrays_of(struct zero *zero, int bucket, struct error *err);
static int  adam_here(struct zero *zero, const struct adam *adam, double factor, int bucket,
                      struct adam_arrays *arrays, struct error *err);
static int  adam_there(struct zero *zero, const struct adam *adam, double factor, int bucket,
                       struct adam_arrays *arrays, struct error *err);

int zero_update_offloaded(struct zero *zero, const struct adam *adam, double factor,
                          struct error *err)
{
    const int          buckets = zero->partition.buckets;
    const bool         is_file = zero->plan.options.states.place == ZERO_FILE;
    struct adam_arrays arrays;
    int                bucket;

    fetch_grads(zero, 0);
    for (bucket = 0; bucket < buckets; bucket++) {
        arrays = arrays_of(zero, bucket, err);
        if (arrays.param == NULL)
            return -1;
        if (bucket + 1 < buckets)
            fetch_grads(zero, bucket + 1);
        if (zero->plan.on_gpu && !zero->plan.grads_away)
            zero->device->fetched(zero->device, bucket % ZERO_LANES);
        if (adam_here(zero, adam, factor, bucket, &arrays, err) < 0)
            return -1;
        if (is_file)
            swap_ring_give(&zero->states_ring, bucket, true);
        if (zero->device->check(zero->device, err) < 0 || zero_spread(zero, bucket, err) < 0)
            return -1;
    }
    return 0;
}

/* The lane's memory is free: Adam has read the gradients that it held. */
static void fetch_grads(struct zero *zero, int bucket)
{
    const int lane = bucket % ZERO_LANES;

    if (zero->plan.on_gpu && !zero->plan.grads_away)
        zero->device->fetch(zero->device, lane, zero->ring[lane], zero_own_grads(zero, bucket),
                            zero_own_piece(zero, bucket).count * zero->sum_element);
}

/* The result's param is NULL after a failure. */
static struct adam_arrays arrays_of(struct zero *zero, int bucket, struct error *err)
{
    struct adam_arrays arrays = zero_adam_arrays(zero, bucket);
    struct zero_piece  piece = zero_host_piece(zero, bucket);

    if (zero->plan.on_gpu && !zero->plan.grads_away)
        arrays.grad = zero->ring[bucket % ZERO_LANES];
    if (zero->plan.options.states.place != ZERO_FILE)
        return arrays;
    if (zero_piece_take(&piece, err) < 0)
        return arrays;
    arrays.param = piece.param;
    arrays.mean = piece.mean;
    arrays.square = piece.square;
    return arrays;
}

/* Reads ahead into half of the lanes; the other half holds records that are being written. */
void zero_read_ahead(struct zero *zero, int bucket)
{
    const int lanes = zero->states_ring.lanes;
    int       i;

    for (i = 0; i < (lanes + 1) / 2 && i < lanes; i++)
        swap_ring_ahead(&zero->states_ring, bucket + i);
}

static int adam_here(struct zero *zero, const struct adam *adam, double factor, int bucket,
                     struct adam_arrays *arrays, struct error *err)
{
    void *params = zero_params_room(zero, bucket, err);

    if (params == NULL)
        return -1;
    if (zero->type != DTYPE_FLOAT)
        arrays->copy = params;
    adam_step(adam, zero->steps, factor, arrays);
    if (zero->type == DTYPE_FLOAT && params != arrays->param)
        memcpy(params, arrays->param, arrays->count * sizeof(float));
    zero_params_sent(zero, bucket);
    return 0;
}

/* Copies one bucket at a time, without overlap: this is rare, because when the parameters do
 * not fit into the GPU's memory, the masters do not either. */
int zero_update_away(struct zero *zero, const struct adam *adam, double factor, int bucket,
                     struct error *err)
{
    struct adam_arrays arrays = zero_adam_arrays(zero, bucket);

    return zero->plan.on_gpu ? adam_there(zero, adam, factor, bucket, &arrays, err)
                             : adam_here(zero, adam, factor, bucket, &arrays, err);
}

/* Uses a room of gathered parameters: no layer needs them between two passes. */
static int adam_there(struct zero *zero, const struct adam *adam, double factor, int bucket,
                      struct adam_arrays *arrays, struct error *err)
{
    struct bucket_room *room = bucket_take(&zero->gathered, bucket);
    void               *params = zero_params_room(zero, bucket, err);

    if (params == NULL)
        return -1;
    arrays->copy = zero->type == DTYPE_FLOAT ? NULL : room->memory;
    zero->device->adam(zero->device, adam, zero->steps, factor, arrays);
    zero->device->read(zero->device, params,
                       arrays->copy != NULL ? arrays->copy : (void *)arrays->param,
                       arrays->count * zero->element);
    room->holds = -1;
    zero_params_sent(zero, bucket);
    return 0;
}

/* ---- gradients to the host ---- */

static void fetch_room(struct zero *zero, struct bucket_room *room, void *host, void *event)
{
    const size_t bytes = zero->partition.bucket[room->holds].piece * zero->element;
    char        *sum = (char *)room->memory + (size_t)zero->piece * bytes;

    room->lane = (int)(zero->fetches++ % ZERO_FETCH_LANES);
    zero->device->fetch_behind(zero->device, room->lane, host, sum, bytes, event);
}

/* Copies a bucket's first gradient of the step at once. zero_add_grads() copies later ones when
 * they can be added to the sum, and all of them if the sum has another type. */
void zero_send_grads(struct zero *zero, struct bucket_room *room)
{
    struct comm *comm = zero->comm;
    void        *event = comm->size > 1 ? comm->ops->event(comm, room->mark) : NULL;

    room->lane = -1;
    if (!zero->bucket[room->holds].has_own_grads && zero->plan.sum_type == zero->type)
        fetch_room(zero, room, zero_own_grads(zero, room->holds), event);
}

/* Call it when the communicator has reduced the room. */
void zero_add_grads(struct zero *zero, struct bucket_room *room)
{
    struct zero_bucket *state = &zero->bucket[room->holds];
    const size_t        count = zero->partition.bucket[room->holds].piece;
    const bool          is_added = room->lane < 0;
    void               *sum = zero_own_grads(zero, room->holds), *more = zero->ring[0];

    if (is_added)
        fetch_room(zero, room, more, NULL);
    zero->device->fetched(zero->device, room->lane);
    if (is_added && zero->plan.sum_type != zero->type)
        wide_sum(zero->type, sum, more, count, !state->has_own_grads);
    else if (is_added)
        zero_device_cpu.add(&zero_device_cpu, zero->type, sum, more, count);
    state->has_own_grads = true;
}

/* ---- parameters from the host ---- */

void *zero_params_room(struct zero *zero, int bucket, struct error *err)
{
    const int lane = bucket % ZERO_LANES;

    if (zero->plan.options.params.place == ZERO_FILE)
        return swap_ring_take_blank(&zero->params_ring, bucket, err);
    if (zero->plan.options.params.place == ZERO_HOST || !zero->plan.on_gpu)
        return zero_own_params(zero, bucket);
    zero->device->stored(zero->device, lane);
    return zero->ring[ZERO_LANES + lane];
}

void zero_params_sent(struct zero *zero, int bucket)
{
    const int lane = bucket % ZERO_LANES;

    if (zero->plan.options.params.place == ZERO_FILE)
        swap_ring_give(&zero->params_ring, bucket, true);
    else if (zero->plan.options.params.place == ZERO_THERE && zero->plan.on_gpu)
        zero->device->store(zero->device, lane, zero_own_params(zero, bucket),
                            zero->ring[ZERO_LANES + lane],
                            zero_own_piece(zero, bucket).count * zero->element);
}
