/* zero_step.c - see zero.h; computes new parameters from reduced gradients
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/zero.h"

#include <math.h>
#include <string.h>

#include "zero/zero_state.h"

static int  finish_gradients(struct zero *zero, struct error *err);
static int  measure(struct zero *zero, double *squares, struct error *err);
static int  find_bad(struct zero *zero, int64_t *bad, struct error *err);
static int  over_ranks(struct zero *zero, double *value, enum redop op, struct error *err);
static int  update(struct zero *zero, const struct adam *adam, double factor,
                   struct error *err);
static int  copy_masters(struct zero *zero, int bucket, struct error *err);

int zero_step(struct zero *zero, const struct adam *adam, double scale,
              struct zero_result *result, struct error *err)
{
    double squares, factor = 1 / scale;

    *result = (struct zero_result){ .bad = -1 };
    zero_rest(zero);
    zero_read_ahead(zero, 0);
    if (finish_gradients(zero, err) < 0 || measure(zero, &squares, err) < 0)
        return -1;
    result->norm = sqrt(squares) / scale;
    if (!isfinite(squares)) {
        result->is_skipped = true;
        return find_bad(zero, &result->bad, err);
    }
    if (zero->plan.options.clip > 0)
        factor /= fmax(1, (result->norm + 1e-6) / zero->plan.options.clip);
    zero->steps++;
    return update(zero, adam, factor, err);
}

static int finish_gradients(struct zero *zero, struct error *err)
{
    const struct partition *p = &zero->partition;
    struct comm            *comm = zero->comm;
    struct bucket_room     *room;
    int                     bucket;

    for (bucket = 0; bucket < p->buckets; bucket++)
        if (zero->bucket[bucket].layers_done < p->bucket[bucket].layers)
            return err_set(err, "zero: the gradients of some layers are missing");
    while ((room = bucket_moving(&zero->reduced, -1)) != NULL)
        if (zero_collect(zero, room, err) < 0)
            return -1;
    return comm->ops->wait(comm, comm->ops->mark(comm), err);
}

static struct zero_device *where_grads_are(const struct zero *zero)
{
    return zero->plan.grads_away ? &zero_device_cpu : zero->device;
}

static int measure(struct zero *zero, double *squares, struct error *err)
{
    struct zero_device *device = where_grads_are(zero);
    int                 bucket;

    *squares = 0;
    for (bucket = 0; bucket < zero->partition.buckets; bucket++)
        *squares += device->squares(device, zero->plan.sum_type, zero_own_grads(zero, bucket),
                                    zero_own_piece(zero, bucket).count);
    return zero->partition.ranks > 1 ? over_ranks(zero, squares, REDOP_SUM, err) : 0;
}

static int over_ranks(struct zero *zero, double *value, enum redop op, struct error *err)
{
    struct comm *comm = zero->comm;

    if (comm_reduce_numbers(comm, value, 1, op, err) < 0)
        return -1;
    return comm->ops->wait(comm, comm->ops->mark(comm), err);
}

/* Finds the last element of all ranks, so that all ranks report the same one. The backward pass
 * runs from the end of the array to its beginning and spreads values that are not finite, so
 * the last element is the first that was not finite. */
static int find_bad(struct zero *zero, int64_t *bad, struct error *err)
{
    struct zero_device *device = where_grads_are(zero);
    struct zero_piece   piece;
    double              last = -1;
    size_t              at;
    int                 bucket;

    for (bucket = zero->partition.buckets - 1; bucket >= 0 && last < 0; bucket--) {
        piece = zero_own_piece(zero, bucket);
        at = device->last_bad(device, zero->plan.sum_type, zero_own_grads(zero, bucket),
                              piece.count);
        if (at < piece.count)
            last = (double)(piece.start + at);
    }
    if (zero->comm->size > 1 && over_ranks(zero, &last, REDOP_MAX, err) < 0)
        return -1;
    *bad = (int64_t)last;
    return 0;
}

void zero_search(struct zero *zero, int64_t element)
{
    zero->is_searching = true;
    zero->searched = (size_t)element;
    zero->is_found = false;
}

/* The sum of squares of one element shows whether it is finite, in any device's memory. */
int zero_look(struct zero *zero, int bucket, const void *grads, struct error *err)
{
    const struct partition_bucket *b = &zero->partition.bucket[bucket];
    struct zero_device            *device = zero->device;
    const size_t                   at = zero->searched - b->start;

    if (zero->searched < b->start || at >= b->count)
        return 0;
    grads = (const char *)grads + at * zero->element;
    if (!isfinite(device->squares(device, zero->type, grads, 1)))
        zero->is_found = true;
    return device->check(device, err);
}

int zero_search_end(struct zero *zero, int *rank, struct error *err)
{
    const int size = zero->comm->size;
    double    lowest = zero->is_found ? zero->comm->rank : size;

    zero->is_searching = false;
    if (size > 1 && over_ranks(zero, &lowest, REDOP_MIN, err) < 0)
        return -1;
    *rank = lowest < size ? (int)lowest : -1;
    return 0;
}

/* Sends a bucket's parameters while the next bucket's are computed. */
static int update(struct zero *zero, const struct adam *adam, double factor, struct error *err)
{
    struct adam_arrays arrays;
    int                bucket;

    if (zero_forget(zero, err) < 0)
        return -1;
    if (zero->plan.options.states.place != ZERO_THERE)
        return zero_update_offloaded(zero, adam, factor, err);
    for (bucket = 0; bucket < zero->partition.buckets; bucket++) {
        if (zero->plan.options.params.place != ZERO_THERE) {
            if (zero_update_away(zero, adam, factor, bucket, err) < 0)
                return -1;
            continue;
        }
        arrays = zero_adam_arrays(zero, bucket);
        arrays.copy = zero->type == DTYPE_FLOAT ? NULL : zero_own_params(zero, bucket);
        zero->device->adam(zero->device, adam, zero->steps, factor, &arrays);
        if (zero_spread(zero, bucket, err) < 0)
            return -1;
    }
    return zero->device->check(zero->device, err);
}

struct adam_arrays zero_adam_arrays(const struct zero *zero, int bucket)
{
    const struct zero_piece piece = zero_own_piece(zero, bucket);

    return (struct adam_arrays){
        .count = piece.count,
        .param = piece.param,
        .mean = piece.mean,
        .square = piece.square,
        .grad = zero_own_grads(zero, bucket),
        .grad_type = zero->plan.sum_type,
        .copy_type = zero->type,
        .first = piece.start,
        .spared = zero->plan.options.spared,
        .spared_count = zero->plan.options.spared_count,
    };
}

int zero_publish(struct zero *zero, struct error *err)
{
    struct comm *comm = zero->comm;
    int          bucket;

    if (comm->ops->wait(comm, comm->ops->mark(comm), err) < 0 || zero_forget(zero, err) < 0)
        return -1;
    for (bucket = 0; bucket < zero->partition.buckets; bucket++) {
        if (copy_masters(zero, bucket, err) < 0 || zero_spread(zero, bucket, err) < 0)
            return -1;
    }
    zero_rest(zero);
    return zero->device->check(zero->device, err);
}

/* Copies the masters and averages to the GPU, if they belong there, and to the parameters. */
static int copy_masters(struct zero *zero, int bucket, struct error *err)
{
    struct zero_device        *device = zero->device;
    const struct zero_options *o = &zero->plan.options;
    const struct zero_piece    piece = zero_own_piece(zero, bucket);
    const size_t               bytes = piece.count * sizeof(float);
    struct zero_piece          host = zero_host_piece(zero, bucket);
    void                      *params;

    if (zero->plan.on_gpu && o->states.place == ZERO_THERE) {
        device->write(device, piece.param, host.param, bytes);
        device->write(device, piece.mean, host.mean, bytes);
        device->write(device, piece.square, host.square, bytes);
        if (o->params.place == ZERO_THERE && zero->type != DTYPE_FLOAT)
            device->narrow(device, zero->type, zero_own_params(zero, bucket), piece.param,
                           piece.count);
        if (o->params.place == ZERO_THERE)
            return 0;
    }
    params = zero_params_room(zero, bucket, err);
    if (params == NULL || zero_piece_take(&host, err) < 0)
        return -1;
    if (zero->type != DTYPE_FLOAT)
        zero_device_cpu.narrow(&zero_device_cpu, zero->type, params, host.param, piece.count);
    else if (params != host.param)
        memcpy(params, host.param, bytes);
    zero_piece_give(&host, false);
    zero_params_sent(zero, bucket);
    return 0;
}

int64_t zero_steps(const struct zero *zero)
{
    return zero->steps;
}

void zero_set_steps(struct zero *zero, int64_t steps)
{
    zero->steps = steps;
}
