/* offload.c - see zero.h; here, a step whose masters and averages are the host's
 *
 *     GPU to host   gradient 0   gradient 1   gradient 2   ...
 *     CPU                        Adam 0       Adam 1       Adam 2 ...
 *     host to GPU                             params 0     params 1 ...
 *
 * All that crosses has the type of the model: 16 bits, if it has. Two buckets have room on each
 * way, in pinned memory.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "zero/zero.h"
#include "zero/zero_state.h"

static void begin(struct zero *zero, int bucket);
static void compute(struct zero *zero, const struct adam *adam, double factor, int bucket);
static void send_back(struct zero *zero, int bucket);

int zero_update_offloaded(struct zero *zero, const struct adam *adam, double factor,
                          struct error *err)
{
    const int buckets = zero->partition.buckets;
    int       bucket;

    begin(zero, 0);
    for (bucket = 0; bucket < buckets; bucket++) {
        if (bucket + 1 < buckets)
            begin(zero, bucket + 1);
        zero->device->fetched(zero->device, bucket % ZERO_LANES);
        zero->device->stored(zero->device, bucket % ZERO_LANES);
        compute(zero, adam, factor, bucket);
        send_back(zero, bucket);
        if (zero->device->check(zero->device, err) < 0 || zero_spread(zero, bucket, err) < 0)
            return -1;
    }
    bucket_forget(&zero->gathered);
    return 0;
}

/* Its lane's room is free: Adam has read what was there. */
static void begin(struct zero *zero, int bucket)
{
    const int lane = bucket % ZERO_LANES;

    zero->device->fetch(zero->device, lane, zero->ring[lane], zero_own_grads(zero, bucket),
                        zero_own_piece(zero, bucket).count * zero->element);
}

static void compute(struct zero *zero, const struct adam *adam, double factor, int bucket)
{
    struct adam_arrays arrays = zero_adam_arrays(zero, bucket);

    arrays.grad = zero->ring[bucket % ZERO_LANES];
    if (zero->options.type != DTYPE_FLOAT)
        arrays.copy = zero->ring[ZERO_LANES + bucket % ZERO_LANES];
    adam_step(adam, zero->steps, factor, &arrays);
    if (zero->options.type == DTYPE_FLOAT)
        memcpy(zero->ring[ZERO_LANES + bucket % ZERO_LANES], arrays.param,
               arrays.count * sizeof(float));
}

static void send_back(struct zero *zero, int bucket)
{
    const int lane = bucket % ZERO_LANES;

    zero->device->store(zero->device, lane, zero_own_params(zero, bucket),
                        zero->ring[ZERO_LANES + lane],
                        zero_own_piece(zero, bucket).count * zero->element);
}

void zero_copy_offloaded(struct zero *zero, int bucket)
{
    const struct zero_piece piece = zero_own_piece(zero, bucket);
    const int               lane = bucket % ZERO_LANES;
    void                   *room = zero->ring[ZERO_LANES + lane];

    zero->device->stored(zero->device, lane);
    if (zero->options.type == DTYPE_FLOAT)
        memcpy(room, piece.param, piece.count * sizeof(float));
    else
        zero_device_cpu.narrow(&zero_device_cpu, zero->options.type, room, piece.param,
                               piece.count);
    send_back(zero, bucket);
}
