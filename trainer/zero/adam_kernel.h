/* adam_kernel.h - the interface between adam.c and its kernels, one per kind of CPU
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ADAM_KERNEL_H
#define MUSTER_ADAM_KERNEL_H

#include "zero/adam.h"

/* The numbers of a step, as the formula in adam_body.h uses them. */
struct adam_numbers {
    float factor;
    float decay_in_grad;     /* weight_decay, or 0 when decoupled */
    float take1, take2;      /* 1 - beta1, 1 - beta2 */
    float rate;              /* lr / c1 */
    float root_factor;       /* 1 / sqrt(c2) */
    float eps;
    float decay_of_param;    /* lr * weight_decay when decoupled, or 0 */
};

/* step: the first is 1. */
struct adam_numbers adam_numbers(const struct adam *adam, int64_t step, double factor);

/* The same for parameters that weight decay spares. */
struct adam_numbers adam_without_decay(const struct adam_numbers *numbers);

/* Does the step for all of the arrays, without a look at what is spared. */
typedef void adam_kernel(const struct adam_numbers *numbers, const struct adam_arrays *arrays);

adam_kernel adam_scalar;
#ifdef __x86_64__
adam_kernel adam_avx2, adam_avx512;
#endif
#ifdef __aarch64__
adam_kernel adam_neon;
#endif

#endif
