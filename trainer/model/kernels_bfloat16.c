/* kernels_bfloat16.c - see kernels.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <string.h>

#define elem      uint16_t
#define real      float
#define ELEM_TYPE DTYPE_BFLOAT16
#define LOAD      from_bits
#define STORE     to_bits
#define TABLE     KERNELS_NAME(kernels_bfloat16)

static inline float from_bits(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float          value;

    memcpy(&value, &wide, sizeof value);
    return value;
}

/* To the nearest, ties to even; without a branch, for the sake of vectors. */
static inline uint16_t to_bits(float value)
{
    uint32_t wide, rounded;

    memcpy(&wide, &value, sizeof wide);
    rounded = (wide + 0x7fff + (wide >> 16 & 1)) >> 16;
    return (uint16_t)(value != value ? (wide >> 16 | 0x40) : rounded);
}

#include "model/kernels_template.h"
