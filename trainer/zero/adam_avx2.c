/* adam_avx2.c - see adam_kernel.h; for CPUs with AVX2, FMA and F16C
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#ifdef __x86_64__
#include "zero/adam_kernel.h"

#include <immintrin.h>

#define KERNEL __attribute__((target("avx2,fma,f16c")))
#define LANES  8
typedef __m256 vec;

#define vec_set(x)       _mm256_set1_ps(x)
#define vec_load(from)   _mm256_loadu_ps(from)
#define vec_store(to, x) _mm256_storeu_ps(to, x)
#define vec_sub(a, b)    _mm256_sub_ps(a, b)
#define vec_mul(a, b)    _mm256_mul_ps(a, b)
#define vec_div(a, b)    _mm256_div_ps(a, b)
#define vec_sqrt(a)      _mm256_sqrt_ps(a)
#define vec_fma(a, b, c) _mm256_fmadd_ps(a, b, c)
#define vec_fms(a, b, c) _mm256_fmsub_ps(a, b, c)

static inline KERNEL vec vec_load_half(const uint16_t *from)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from));
}

static inline KERNEL void vec_store_half(uint16_t *to, vec x)
{
    _mm_storeu_si128((__m128i *)to, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

static inline KERNEL vec vec_load_bfloat16(const uint16_t *from)
{
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)from));

    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

/* Rounds as float_to_bfloat16() does: to nearest, ties to even; NaN stays NaN. */
static inline KERNEL void vec_store_bfloat16(uint16_t *to, vec x)
{
    __m256i bits = _mm256_castps_si256(x), high = _mm256_srli_epi32(bits, 16), odd, rounded, nan;

    odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
    rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    rounded = _mm256_srli_epi32(rounded, 16);
    nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    rounded = _mm256_blendv_epi8(rounded, _mm256_or_si256(high, _mm256_set1_epi32(0x40)), nan);
    rounded = _mm256_permute4x64_epi64(_mm256_packus_epi32(rounded, rounded), 0x08);
    _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(rounded));
}

#include "zero/adam_body.h"

KERNEL void adam_avx2(const struct adam_numbers *numbers, const struct adam_arrays *arrays)
{
    adam_body(numbers, arrays);
}
#endif
