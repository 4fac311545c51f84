/* zero_device.h - the device that stores zero's arrays and computes with them
 *
 * A GPU carries out the calls in order, but maybe later; functions that return a number wait.
 * check returns the first failure.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ZERO_DEVICE_H
#define MUSTER_ZERO_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/dtype.h"
#include "err.h"
#include "zero/adam.h"

struct zero_device {
    void (*zero)(struct zero_device *device, void *memory, size_t bytes);
    void (*copy)(struct zero_device *device, void *to, const void *from, size_t bytes);
    /* Copy to and from the host's memory; finished on return. */
    void (*read)(struct zero_device *device, void *host, const void *memory, size_t bytes);
    void (*write)(struct zero_device *device, void *memory, const void *host, size_t bytes);

    void (*add)(struct zero_device *device, enum dtype type, void *sum, const void *more,
                size_t count);
    /* Adds in float, or sets the sum if is_first. */
    void (*add_wide)(struct zero_device *device, enum dtype type, float *sum, const void *more,
                     size_t count, bool is_first);
    /* copy: half or bfloat16 */
    void (*narrow)(struct zero_device *device, enum dtype type, void *copy, const float *values,
                   size_t count);
    /* As in measure.h and adam.h. */
    double (*squares)(struct zero_device *device, enum dtype type, const void *grad,
                      size_t count);
    size_t (*last_bad)(struct zero_device *device, enum dtype type, const void *grad,
                       size_t count);
    void   (*adam)(struct zero_device *device, const struct adam *adam, int64_t step,
                   double factor, const struct adam_arrays *arrays);

    /* Allocates host memory that the GPU can copy from and to asynchronously. It is
     * page-aligned if bytes is a multiple of the page size. NULL with err. */
    void *(*pinned)(struct zero_device *device, size_t bytes, struct error *err);
    void  (*unpin)(struct zero_device *device, void *memory);
    /* Copy to and from pinned memory while the CPU computes: one copy per lane and direction;
     * fetched and stored wait for it. The data to fetch must have been computed: the caller has
     * waited for it. Calls after a store see the data that it stored. */
    void (*fetch)(struct zero_device *device, int lane, void *pinned, const void *memory,
                  size_t bytes);
    void (*fetched)(struct zero_device *device, int lane);
    void (*store)(struct zero_device *device, int lane, void *memory, const void *pinned,
                  size_t bytes);
    void (*stored)(struct zero_device *device, int lane);
    /* As fetch, but the copy itself waits: for all earlier calls or, if event (a cudaEvent_t)
     * is not NULL, for the event. */
    void (*fetch_behind)(struct zero_device *device, int lane, void *pinned, const void *memory,
                         size_t bytes, void *event);
    /* As store, but later calls do not wait for it. Returns a cudaEvent_t, valid until the next
     * call; only work that waits for this event sees the data. NULL: the copy has finished. */
    void *(*store_ahead)(struct zero_device *device, void *memory, const void *pinned,
                         size_t bytes);

    int  (*check)(struct zero_device *device, struct error *err);
    void (*free)(struct zero_device *device);
};

#define ZERO_LANES       2
#define ZERO_FETCH_LANES 8 /* to the host */

/* For arrays in the host's memory. It needs no free, and its calls cannot fail. */
extern struct zero_device zero_device_cpu;

#endif
