/* adam_neon.c - see adam_kernel.h; for 64-bit ARM
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#ifdef __aarch64__
#include "zero/adam_kernel.h"

#include <arm_neon.h>

#define KERNEL
#define LANES 4
typedef float32x4_t vec;

#define vec_set(x)       vdupq_n_f32(x)
#define vec_load(from)   vld1q_f32(from)
#define vec_store(to, x) vst1q_f32(to, x)
#define vec_sub(a, b)    vsubq_f32(a, b)
#define vec_mul(a, b)    vmulq_f32(a, b)
#define vec_div(a, b)    vdivq_f32(a, b)
#define vec_sqrt(a)      vsqrtq_f32(a)
#define vec_fma(a, b, c) vfmaq_f32(c, a, b)
#define vec_fms(a, b, c) vnegq_f32(vfmsq_f32(c, a, b))

static inline vec vec_load_half(const uint16_t *from)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from)));
}

static inline void vec_store_half(uint16_t *to, vec x)
{
    vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32(x)));
}

static inline vec vec_load_bfloat16(const uint16_t *from)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(from), 16));
}

/* Rounds as float_to_bfloat16() does: to nearest, ties to even; NaN stays NaN. */
static inline void vec_store_bfloat16(uint16_t *to, vec x)
{
    uint32x4_t bits = vreinterpretq_u32_f32(x), high = vshrq_n_u32(bits, 16), rounded;

    rounded = vaddq_u32(vandq_u32(high, vdupq_n_u32(1)), vdupq_n_u32(0x7fff));
    rounded = vshrq_n_u32(vaddq_u32(bits, rounded), 16);
    rounded = vbslq_u32(vceqq_f32(x, x), rounded, vorrq_u32(high, vdupq_n_u32(0x40)));
    vst1_u16(to, vmovn_u32(rounded));
}

#include "zero/adam_body.h"

void adam_neon(const struct adam_numbers *numbers, const struct adam_arrays *arrays)
{
    adam_body(numbers, arrays);
}
#endif
