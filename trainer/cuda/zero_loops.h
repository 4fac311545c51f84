/* zero_loops.h - the kernels of zero_cuda.h
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ZERO_LOOPS_H
#define MUSTER_ZERO_LOOPS_H

#include "cuda/stream.h"

extern "C" {
#include "zero/adam_kernel.h"
}

struct zero_loops {
    struct stream *stream;
    double        *parts; /* one number per block, on the GPU */
};

void zero_loops_init(struct zero_loops *loops, struct stream *stream);
void zero_loops_clear(struct zero_loops *loops);

/* See zero/zero_device.h. */
void   zero_loops_add(struct zero_loops *loops, enum dtype type, void *sum, const void *more,
                      size_t count);
void   zero_loops_add_wide(struct zero_loops *loops, enum dtype type, float *sum,
                           const void *more, size_t count, bool is_first);
void   zero_loops_narrow(struct zero_loops *loops, enum dtype type, void *to, const float *values,
                         size_t count);
double zero_loops_squares(struct zero_loops *loops, enum dtype type, const void *grad,
                          size_t count);
size_t zero_loops_last_bad(struct zero_loops *loops, enum dtype type, const void *grad,
                           size_t count);
void   zero_loops_adam(struct zero_loops *loops, const struct adam *adam, int64_t step,
                       double factor, const struct adam_arrays *arrays);

#endif
