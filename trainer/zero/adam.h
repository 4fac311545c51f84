/* adam.h - one step of Adam or AdamW on CPUs, in one pass over memory
 *
 * A step in separate passes (unscale, clip, Adam, conversion to 16 bits) reads and writes
 * the same arrays four times, and memory bandwidth limits its speed. This code reads and
 * writes each element once:
 *
 *     g = factor * gradient (+ weight_decay * p unless decoupled)
 *     m = beta1 * m + (1 - beta1) * g
 *     v = beta2 * v + (1 - beta2) * g * g
 *     p = p - lr / c1 * m / (sqrt(v / c2) + eps) (- lr * weight_decay * p if decoupled)
 *     copy = p, rounded to 16 bits
 *
 * with c1 = 1 - beta1^step, c2 = 1 - beta2^step, or 1 without bias correction. factor
 * undoes the loss scale and clips. The arithmetic is in float: m and v are within 2 units
 * in the last place of the result in double. p is, too, if it changes by less than half of
 * its value, otherwise p is within 4 units of the change. Weight decay that is not decoupled
 * adds one unit. All kernels give the same bits for any number of threads, because adam_body.h
 * defines each rounding.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ADAM_H
#define MUSTER_ADAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/dtype.h"
#include "zero/partition.h"

struct adam {
    double lr, beta1, beta2, eps, weight_decay;
    bool   decoupled;       /* AdamW */
    bool   bias_correction;
};

/* Arrays of count elements; they must not overlap. Each needs only its type's alignment. */
struct adam_arrays {
    size_t      count;
    float      *param, *mean, *square; /* p, m, v */
    const void *grad;
    enum dtype  grad_type;             /* float, half or bfloat16 */
    void       *copy;                  /* NULL: make no copy */
    enum dtype  copy_type;             /* half or bfloat16 */

    /* Ranges that weight decay spares; in order, and they do not overlap. The first element of the
     * arrays has the number first there, so the ranges of a larger array are fine, too. */
    const struct partition_range *spared;
    int                           spared_count;
    size_t                        first;
};

/* Does step number step (the first is 1), on all OpenMP threads. Treats numbers below
 * FLT_MIN as zero. */
void adam_step(const struct adam *adam, int64_t step, double factor,
               const struct adam_arrays *arrays);

/* Returns count elements of all of these arrays, from the element from on. */
struct adam_arrays adam_part(const struct adam_arrays *all, size_t from, size_t count);

/* Returns the part from the element from on, as far as weight decay spares all of it, or reaches
 * all. */
struct adam_arrays adam_alike(const struct adam_arrays *all, size_t from, bool *is_spared);

/* Returns the kernel that adam_step() uses: "avx512", "avx2", "neon" or "scalar". */
const char *adam_kernel_name(void);

/* Makes adam_step() use this kernel. Returns -1 if this machine cannot run it. For tests. */
int adam_kernel_choose(const char *name);

#endif
