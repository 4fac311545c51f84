/* adam.h - one step of Adam or AdamW on CPUs, in one pass over memory
 *
 * A step written as unscale, clip, Adam and conversion to 16 bits reads and writes
 * the same arrays four times, and memory is what it waits for. Here each element is
 * read once and written once:
 *
 *     g = factor * gradient (+ weight_decay * p unless decoupled)
 *     m = beta1 * m + (1 - beta1) * g
 *     v = beta2 * v + (1 - beta2) * g * g
 *     p = p - lr / c1 * m / (sqrt(v / c2) + eps) (- lr * weight_decay * p if decoupled)
 *     copy = p, rounded to 16 bits
 *
 * with c1 = 1 - beta1^step, c2 = 1 - beta2^step, or 1 without bias correction. factor
 * undoes the loss scale and clips. Computed in float: m and v come within 2 units of
 * the last place of what double gives, p too where it changes by less than a half of
 * itself, and within 4 units of the change elsewhere; weight decay that is not decoupled
 * makes it one unit more. All kernels give the same bits,
 * whatever the number of threads: each rounding is part of adam_body.h.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ADAM_H
#define MUSTER_ADAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/dtype.h"

struct adam {
    double lr, beta1, beta2, eps, weight_decay;
    bool   decoupled;       /* AdamW */
    bool   bias_correction;
};

/* count elements each; they do not overlap. Nothing needs more than its type's
 * alignment. */
struct adam_arrays {
    size_t      count;
    float      *param, *mean, *square; /* p, m, v */
    const void *grad;
    enum dtype  grad_type;             /* float, half or bfloat16 */
    void       *copy;                  /* NULL: none is made */
    enum dtype  copy_type;             /* half or bfloat16 */
};

/* The step numbered step (the first is 1), on all threads that OpenMP gives. Numbers
 * below FLT_MIN count as zero. */
void adam_step(const struct adam *adam, int64_t step, double factor,
               const struct adam_arrays *arrays);

/* What the step is computed by: "avx512", "avx2", "neon" or "scalar". */
const char *adam_kernel_name(void);

/* From now on by this one. -1: this machine does not have it. For tests. */
int adam_kernel_choose(const char *name);

#endif
