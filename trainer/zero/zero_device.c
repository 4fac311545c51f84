/* zero_device.c - see zero_device.h; the host's memory
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/zero_device.h"

#include <stdlib.h>
#include <string.h>

#include "zero/measure.h"
#include "zero/wide_sum.h"

#define PAGE 4096

static void zero(struct zero_device *device, void *memory, size_t bytes)
{
    (void)device;
    memset(memory, 0, bytes);
}

static void copy(struct zero_device *device, void *to, const void *from, size_t bytes)
{
    (void)device;
    memcpy(to, from, bytes);
}

static void add(struct zero_device *device, enum dtype type, void *sum, const void *more,
                size_t count)
{
    (void)device;
    dtype_reduce(type, REDOP_SUM, sum, sum, more, count);
}

static void add_wide(struct zero_device *device, enum dtype type, float *sum, const void *more,
                     size_t count, bool is_first)
{
    (void)device;
    wide_sum(type, sum, more, count, is_first);
}

static void narrow(struct zero_device *device, enum dtype type, void *to, const float *values,
                   size_t count)
{
    uint16_t *narrowed = to;
    size_t    i;

    (void)device;
    for (i = 0; i < count; i++)
        narrowed[i] = type == DTYPE_HALF ? float_to_half(values[i])
                                         : float_to_bfloat16(values[i]);
}

static double squares(struct zero_device *device, enum dtype type, const void *grad,
                      size_t count)
{
    (void)device;
    return measure_squares(type, grad, count);
}

static size_t last_bad(struct zero_device *device, enum dtype type, const void *grad,
                       size_t count)
{
    (void)device;
    return measure_last_bad(type, grad, count);
}

static void adam(struct zero_device *device, const struct adam *how, int64_t step,
                 double factor, const struct adam_arrays *arrays)
{
    (void)device;
    adam_step(how, step, factor, arrays);
}

static void *pinned(struct zero_device *device, size_t bytes, struct error *err)
{
    void *memory;

    (void)device;
    if (posix_memalign(&memory, PAGE, bytes > 0 ? bytes : 1) == 0)
        return memory;
    err_set(err, "out of memory: %zu bytes", bytes);
    return NULL;
}

static void unpin(struct zero_device *device, void *memory)
{
    (void)device;
    free(memory);
}

static void *store_ahead(struct zero_device *device, void *memory, const void *from, size_t bytes)
{
    copy(device, memory, from, bytes);
    return NULL;
}

static int check(struct zero_device *device, struct error *err)
{
    (void)device;
    (void)err;
    return 0;
}

struct zero_device zero_device_cpu = {
    .zero = zero,
    .copy = copy,
    .read = copy,
    .write = copy,
    .add = add,
    .add_wide = add_wide,
    .narrow = narrow,
    .squares = squares,
    .last_bad = last_bad,
    .adam = adam,
    .pinned = pinned,
    .unpin = unpin,
    .store_ahead = store_ahead,
    .check = check,
};
