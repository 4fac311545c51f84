/* zero_device.h - what zero's arrays are computed with, where they lie
 *
 * On a GPU, all of it is done in the order of the calls, maybe later; what returns a number
 * waits. What fails is kept for check.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ZERO_DEVICE_H
#define MUSTER_ZERO_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "comm/dtype.h"
#include "err.h"
#include "zero/adam.h"

struct zero_device {
    void (*zero)(struct zero_device *device, void *memory, size_t bytes);
    void (*copy)(struct zero_device *device, void *to, const void *from, size_t bytes);
    /* From and to the host's memory; done on return. */
    void (*read)(struct zero_device *device, void *host, const void *memory, size_t bytes);
    void (*write)(struct zero_device *device, void *memory, const void *host, size_t bytes);

    void (*add)(struct zero_device *device, enum dtype type, void *sum, const void *more,
                size_t count);
    /* copy: half or bfloat16 */
    void (*narrow)(struct zero_device *device, enum dtype type, void *copy, const float *values,
                   size_t count);
    /* As measure.h and adam.h have them. */
    double (*squares)(struct zero_device *device, enum dtype type, const void *grad,
                      size_t count);
    size_t (*last_bad)(struct zero_device *device, enum dtype type, const void *grad,
                       size_t count);
    void   (*adam)(struct zero_device *device, const struct adam *adam, int64_t step,
                   double factor, const struct adam_arrays *arrays);

    /* The host's memory from where, and to where, the GPU copies by itself; it begins at a page if
     * bytes are whole pages. NULL with err. */
    void *(*pinned)(struct zero_device *device, size_t bytes, struct error *err);
    void  (*unpin)(struct zero_device *device, void *memory);
    /* Copies to and from such memory, which go on while the CPU computes: one on each lane and
     * each way, to be waited for by fetched or stored. What is fetched has been computed: someone
     * has waited for it. What is issued after a store finds it done. */
    void (*fetch)(struct zero_device *device, int lane, void *pinned, const void *memory,
                  size_t bytes);
    void (*fetched)(struct zero_device *device, int lane);
    void (*store)(struct zero_device *device, int lane, void *memory, const void *pinned,
                  size_t bytes);
    void (*stored)(struct zero_device *device, int lane);
    /* As fetch, of what is computed up to now; or, if event (a cudaEvent_t) is not NULL, of what it
     * stands for. Nobody has to have waited for it. */
    void (*fetch_behind)(struct zero_device *device, int lane, void *pinned, const void *memory,
                         size_t bytes, void *event);
    /* As store, without making what is computed wait: only what waits for the event that it gives,
     * a cudaEvent_t until the next call, finds it done. NULL: it is done. */
    void *(*store_ahead)(struct zero_device *device, void *memory, const void *pinned,
                         size_t bytes);

    int  (*check)(struct zero_device *device, struct error *err);
    void (*free)(struct zero_device *device);
};

#define ZERO_LANES       2
#define ZERO_FETCH_LANES 8 /* to the host */

/* Arrays in the host's memory; nothing to free, and nothing can fail. */
extern struct zero_device zero_device_cpu;

#endif
