/* cuda_fp16.h - stands in for CUDA's, for tests: see ../README
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CUDA_ON_CPU_FP16_H
#define CUDA_ON_CPU_FP16_H

#include "model/narrow.h"

struct __half {
    uint16_t bits;
};

static inline float __half2float(__half x)
{
    return wide_half(x.bits);
}

static inline __half __float2half(float x)
{
    return { narrow_half(x) };
}

#endif
