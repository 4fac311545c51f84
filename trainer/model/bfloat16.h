/* bfloat16.h - bfloat16 from and to float without a branch, for the sake of vectors
 *
 * The same numbers as dtype.h's bfloat16_to_float and float_to_bfloat16.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BFLOAT16_H
#define MUSTER_BFLOAT16_H

#include <stdint.h>
#include <string.h>

static inline float wide_bfloat16(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float          value;

    memcpy(&value, &wide, sizeof value);
    return value;
}

/* To the nearest, ties to even. */
static inline uint16_t narrow_bfloat16(float value)
{
    uint32_t wide, rounded;

    memcpy(&wide, &value, sizeof wide);
    rounded = (wide + 0x7fff + (wide >> 16 & 1)) >> 16;
    return (uint16_t)(value != value ? (wide >> 16 | 0x40) : rounded);
}

#endif
