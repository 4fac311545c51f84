/* narrow.h - branch-free conversion of half and bfloat16 from and to float
 *
 * Loops over these functions can be vectorized. The results are the same as those of the
 * conversions in dtype.h, such as half_to_float().
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NARROW_H
#define MUSTER_NARROW_H

#include <stdint.h>
#include <string.h>

static inline float float_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_of_float(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Multiplication by 2^112 corrects the exponent, and normalizes subnormal numbers. */
static inline float wide_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t bits = bits_of_float(float_of_bits((uint32_t)(half & 0x7fff) << 13) * 0x1p112f);
    const uint32_t special = (half & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;

    return float_of_bits(sign | bits | special);
}

/* Rounds to nearest, ties to even. Adding 1/2 rounds subnormal numbers, because the last bit of
 * the sum has the same value as the last bit of a subnormal half. */
static inline uint16_t narrow_half(float value)
{
    const uint32_t wide = bits_of_float(value), size = wide & 0x7fffffff;
    const uint32_t small = bits_of_float(float_of_bits(size) + 0.5f) - bits_of_float(0.5f);
    const uint32_t normal = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
    uint32_t       half = size < 113u << 23 ? small : normal;

    half = size >= 143u << 23 ? 0x7c00 : half;
    half = size > 0x7f800000 ? 0x7e00 : half;
    return (uint16_t)(wide >> 16 & 0x8000) | (uint16_t)half;
}

static inline float wide_bfloat16(uint16_t bits)
{
    return float_of_bits((uint32_t)bits << 16);
}

/* Rounds to nearest, ties to even. */
static inline uint16_t narrow_bfloat16(float value)
{
    const uint32_t wide = bits_of_float(value);
    const uint32_t rounded = (wide + 0x7fff + (wide >> 16 & 1)) >> 16;

    return (uint16_t)(value != value ? (wide >> 16 | 0x40) : rounded);
}

#endif
