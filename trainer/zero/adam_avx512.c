/* adam_avx512.c - see adam_kernel.h; for CPUs with AVX-512F
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#ifdef __x86_64__
#include "zero/adam_kernel.h"

#include <immintrin.h>

#define KERNEL __attribute__((target("avx512f")))
#define LANES  16
typedef __m512 vec;

#define vec_set(x)       _mm512_set1_ps(x)
#define vec_load(from)   _mm512_loadu_ps(from)
#define vec_store(to, x) _mm512_storeu_ps(to, x)
#define vec_sub(a, b)    _mm512_sub_ps(a, b)
#define vec_mul(a, b)    _mm512_mul_ps(a, b)
#define vec_div(a, b)    _mm512_div_ps(a, b)
#define vec_sqrt(a)      _mm512_sqrt_ps(a)
#define vec_fma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define vec_fms(a, b, c) _mm512_fmsub_ps(a, b, c)

static inline KERNEL vec vec_load_half(const uint16_t *from)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
}

static inline KERNEL void vec_store_half(uint16_t *to, vec x)
{
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

static inline KERNEL vec vec_load_bfloat16(const uint16_t *from)
{
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from));

    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

/* Rounds as float_to_bfloat16() does: to nearest, ties to even; NaN stays NaN. The CPU's
 * own instruction would turn denormal numbers into zeros. */
static inline KERNEL void vec_store_bfloat16(uint16_t *to, vec x)
{
    __m512i   bits = _mm512_castps_si512(x), high = _mm512_srli_epi32(bits, 16), odd, rounded;
    __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);

    odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
    rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    rounded = _mm512_srli_epi32(rounded, 16);
    rounded = _mm512_mask_or_epi32(rounded, nan, high, _mm512_set1_epi32(0x40));
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi32_epi16(rounded));
}

#include "zero/adam_body.h"

KERNEL void adam_avx512(const struct adam_numbers *numbers, const struct adam_arrays *arrays)
{
    adam_body(numbers, arrays);
}
#endif
