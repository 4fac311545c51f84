/* cuda_bf16.h - stands in for CUDA's, for tests: see ../README
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CUDA_ON_CPU_BF16_H
#define CUDA_ON_CPU_BF16_H

#include "model/narrow.h"

struct __nv_bfloat16 {
    uint16_t bits;
};

static inline float __bfloat162float(__nv_bfloat16 x)
{
    return float_of_bits((uint32_t)x.bits << 16);
}

static inline __nv_bfloat16 __float2bfloat16(float x)
{
    const uint32_t wide = bits_of_float(x);

    return { (uint16_t)(x != x ? 0x7fff : (wide + 0x7fff + (wide >> 16 & 1)) >> 16) };
}

#endif
