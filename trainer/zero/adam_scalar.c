/* adam_scalar.c - see adam_kernel.h; for any CPU, one element at a time
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/adam_kernel.h"

#include <math.h>

#define KERNEL
#define LANES 1
typedef float vec;

#define vec_set(x)                 ((float)(x))
#define vec_load(from)             (*(from))
#define vec_store(to, x)           (*(to) = (x))
#define vec_sub(a, b)              ((a) - (b))
#define vec_mul(a, b)              ((a) * (b))
#define vec_div(a, b)              ((a) / (b))
#define vec_sqrt(a)                sqrtf(a)
#define vec_fma(a, b, c)           fmaf(a, b, c)
#define vec_fms(a, b, c)           fmaf(a, b, -(c))
#define vec_load_half(from)        half_to_float(*(from))
#define vec_load_bfloat16(from)    bfloat16_to_float(*(from))
#define vec_store_half(to, x)      (*(to) = float_to_half(x))
#define vec_store_bfloat16(to, x)  (*(to) = float_to_bfloat16(x))

#include "zero/adam_body.h"

void adam_scalar(const struct adam_numbers *numbers, const struct adam_arrays *arrays)
{
    adam_body(numbers, arrays);
}
