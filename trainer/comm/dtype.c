/* dtype.c - see dtype.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/dtype.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t      size;
    int64_t     exact_max;
} types[DTYPE_COUNT] = {
    [DTYPE_INT8]     = { "int8", 1, INT8_MAX },
    [DTYPE_UINT8]    = { "uint8", 1, UINT8_MAX },
    [DTYPE_INT32]    = { "int32", 4, INT32_MAX },
    [DTYPE_UINT32]   = { "uint32", 4, UINT32_MAX },
    [DTYPE_INT64]    = { "int64", 8, INT64_MAX },
    [DTYPE_UINT64]   = { "uint64", 8, INT64_MAX },
    [DTYPE_HALF]     = { "half", 2, 1 << 11 },
    [DTYPE_FLOAT]    = { "float", 4, 1 << 24 },
    [DTYPE_DOUBLE]   = { "double", 8, INT64_C(1) << 53 },
    [DTYPE_BFLOAT16] = { "bfloat16", 2, 1 << 8 },
};

static const char *const redops[REDOP_COUNT] = {
    [REDOP_SUM] = "sum", [REDOP_PROD] = "prod", [REDOP_MAX] = "max", [REDOP_MIN] = "min",
};

static void     sum_bfloat16(uint16_t *out, const uint16_t *a, const uint16_t *b,
                             size_t count);
static double   load_double(enum dtype type, const void *array, size_t i);
static float    bits_float(uint32_t bits);
static uint32_t float_bits(float value);

const char *dtype_name(enum dtype type)
{
    return types[type].name;
}

const char *redop_name(enum redop op)
{
    return redops[op];
}

int dtype_find(const char *name)
{
    int type;

    for (type = 0; type < DTYPE_COUNT; type++)
        if (strcmp(types[type].name, name) == 0)
            return type;
    return -1;
}

int redop_find(const char *name)
{
    int op;

    for (op = 0; op < REDOP_COUNT; op++)
        if (strcmp(redops[op], name) == 0)
            return op;
    return -1;
}

size_t dtype_size(enum dtype type)
{
    return types[type].size;
}

int64_t dtype_exact_max(enum dtype type)
{
    return types[type].exact_max;
}

void dtype_store(enum dtype type, void *array, size_t i, int64_t value)
{
    switch (type) {
    case DTYPE_INT8:     ((int8_t *)array)[i] = (int8_t)value; break;
    case DTYPE_UINT8:    ((uint8_t *)array)[i] = (uint8_t)value; break;
    case DTYPE_INT32:    ((int32_t *)array)[i] = (int32_t)value; break;
    case DTYPE_UINT32:   ((uint32_t *)array)[i] = (uint32_t)value; break;
    case DTYPE_INT64:    ((int64_t *)array)[i] = value; break;
    case DTYPE_UINT64:   ((uint64_t *)array)[i] = (uint64_t)value; break;
    case DTYPE_HALF:     ((uint16_t *)array)[i] = float_to_half((float)value); break;
    case DTYPE_FLOAT:    ((float *)array)[i] = (float)value; break;
    case DTYPE_DOUBLE:   ((double *)array)[i] = (double)value; break;
    case DTYPE_BFLOAT16: ((uint16_t *)array)[i] = float_to_bfloat16((float)value); break;
    case DTYPE_COUNT:    break;
    }
}

int64_t dtype_load(enum dtype type, const void *array, size_t i)
{
    uint64_t large;
    double   real;

    switch (type) {
    case DTYPE_INT8:   return ((const int8_t *)array)[i];
    case DTYPE_UINT8:  return ((const uint8_t *)array)[i];
    case DTYPE_INT32:  return ((const int32_t *)array)[i];
    case DTYPE_UINT32: return ((const uint32_t *)array)[i];
    case DTYPE_INT64:  return ((const int64_t *)array)[i];
    case DTYPE_UINT64:
        large = ((const uint64_t *)array)[i];
        return large <= INT64_MAX ? (int64_t)large : INT64_MIN;
    default:
        real = load_double(type, array, i);
        if (real > -0x1p63 && real < 0x1p63 && (double)(int64_t)real == real)
            return (int64_t)real;
        return INT64_MIN;
    }
}

void dtype_text(enum dtype type, const void *array, size_t i, char *text, size_t size)
{
    if (type == DTYPE_UINT64)
        snprintf(text, size, "%llu", (unsigned long long)((const uint64_t *)array)[i]);
    else if (type < DTYPE_HALF)
        snprintf(text, size, "%lld", (long long)dtype_load(type, array, i));
    else
        snprintf(text, size, "%.17g", load_double(type, array, i));
}

static double load_double(enum dtype type, const void *array, size_t i)
{
    switch (type) {
    case DTYPE_HALF:     return (double)half_to_float(((const uint16_t *)array)[i]);
    case DTYPE_FLOAT:    return (double)((const float *)array)[i];
    case DTYPE_BFLOAT16: return (double)bfloat16_to_float(((const uint16_t *)array)[i]);
    default:             return ((const double *)array)[i];
    }
}

/* One loop per type and operation, so that the compiler can vectorize each loop. LOAD and
 * STORE convert to and from ARITH, the type used for the arithmetic. */
#define SAME(x) (x)

#define REDUCE_LOOP(TYPE, ARITH, LOAD, STORE, EXPRESSION)                     \
    for (i = 0; i < count; i++) {                                             \
        const ARITH x = (ARITH)LOAD(((const TYPE *)a)[i]);                    \
        const ARITH y = (ARITH)LOAD(((const TYPE *)b)[i]);                    \
        ((TYPE *)out)[i] = (TYPE)STORE((ARITH)(EXPRESSION));                  \
    }                                                                         \
    break

#define REDUCE_TYPE(NAME, TYPE, ARITH, LOAD, STORE)                           \
    static void NAME(enum redop op, void *out, const void *a, const void *b, size_t count) \
    {                                                                         \
        size_t i;                                                             \
                                                                              \
        switch (op) {                                                         \
        case REDOP_SUM:   REDUCE_LOOP(TYPE, ARITH, LOAD, STORE, x + y);       \
        case REDOP_PROD:  REDUCE_LOOP(TYPE, ARITH, LOAD, STORE, x * y);       \
        case REDOP_MAX:   REDUCE_LOOP(TYPE, ARITH, LOAD, STORE, x > y ? x : y); \
        case REDOP_MIN:   REDUCE_LOOP(TYPE, ARITH, LOAD, STORE, x < y ? x : y); \
        case REDOP_COUNT: break;                                              \
        }                                                                     \
    }

/* Signed integers are computed in a wider type, which cannot overflow, and wrap when
 * they are stored. */
REDUCE_TYPE(reduce_int8, int8_t, int32_t, SAME, SAME)
REDUCE_TYPE(reduce_uint8, uint8_t, uint32_t, SAME, SAME)
REDUCE_TYPE(reduce_int32, int32_t, int64_t, SAME, SAME)
REDUCE_TYPE(reduce_uint32, uint32_t, uint64_t, SAME, SAME)
REDUCE_TYPE(reduce_int64, int64_t, __int128, SAME, SAME)
REDUCE_TYPE(reduce_uint64, uint64_t, uint64_t, SAME, SAME)
REDUCE_TYPE(reduce_half, uint16_t, float, half_to_float, float_to_half)
REDUCE_TYPE(reduce_float, float, float, SAME, SAME)
REDUCE_TYPE(reduce_double, double, double, SAME, SAME)
REDUCE_TYPE(reduce_bfloat16, uint16_t, float, bfloat16_to_float, float_to_bfloat16)

void dtype_reduce(enum dtype type, enum redop op, void *out, const void *a, const void *b,
                  size_t count)
{
    static void (*const reduce[DTYPE_COUNT])(enum redop, void *, const void *, const void *,
                                             size_t) = {
        [DTYPE_INT8]     = reduce_int8,
        [DTYPE_UINT8]    = reduce_uint8,
        [DTYPE_INT32]    = reduce_int32,
        [DTYPE_UINT32]   = reduce_uint32,
        [DTYPE_INT64]    = reduce_int64,
        [DTYPE_UINT64]   = reduce_uint64,
        [DTYPE_HALF]     = reduce_half,
        [DTYPE_FLOAT]    = reduce_float,
        [DTYPE_DOUBLE]   = reduce_double,
        [DTYPE_BFLOAT16] = reduce_bfloat16,
    };

    if (type == DTYPE_BFLOAT16 && op == REDOP_SUM)
        sum_bfloat16(out, a, b, count);
    else
        reduce[type](op, out, a, b, count);
}

/* Gradients are summed by sum_bfloat16(), so it is vectorized. Where the compiler and the
 * sanitizers support it, it is compiled for several kinds of CPU, and the program picks the
 * right version when it starts. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONES
#endif

#define LANES 16
typedef uint16_t narrow16 __attribute__((vector_size(LANES * sizeof(uint16_t))));
typedef uint32_t bits16 __attribute__((vector_size(LANES * sizeof(uint32_t))));
typedef float    float16 __attribute__((vector_size(LANES * sizeof(float))));

CLONES static void sum_bfloat16(uint16_t *out, const uint16_t *a, const uint16_t *b,
                                size_t count)
{
    narrow16 narrow;
    bits16   x, y, is_nan;
    float16  p, q;
    size_t   i;

    for (i = 0; i + LANES <= count; i += LANES) {
        memcpy(&narrow, a + i, sizeof narrow);
        x = __builtin_convertvector(narrow, bits16) << 16;
        memcpy(&narrow, b + i, sizeof narrow);
        y = __builtin_convertvector(narrow, bits16) << 16;
        memcpy(&p, &x, sizeof p);
        memcpy(&q, &y, sizeof q);
        p += q;
        memcpy(&x, &p, sizeof x); /* the rest does what float_to_bfloat16() does */
        is_nan = (bits16)((x & 0x7fffffff) > 0x7f800000);
        y = (x + 0x7fff + (x >> 16 & 1)) >> 16;
        x = (is_nan & (x >> 16 | 0x40)) | (~is_nan & y);
        narrow = __builtin_convertvector(x, narrow16);
        memcpy(out + i, &narrow, sizeof narrow);
    }
    for (; i < count; i++)
        out[i] = float_to_bfloat16(bfloat16_to_float(a[i]) + bfloat16_to_float(b[i]));
}

/* Half: sign 1, exponent 5 (bias 15), mantissa 10. */
float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t rest = half & 0x7fff;

    if (rest >= 0x7c00) /* infinity or NaN */
        return bits_float(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x0400)
        return bits_float(sign | (rest + ((127 - 15) << 10)) << 13);
    return bits_float(sign | float_bits((float)rest * 0x1p-24f)); /* subnormal or zero */
}

uint16_t float_to_half(float value)
{
    uint32_t bits = float_bits(value), rest = bits & 0x7fffffff;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);

    if (rest > 0x7f800000)
        return sign | 0x7e00;
    if (rest >= 0x477ff000) /* 65520: halfway between the largest half and infinity */
        return sign | 0x7c00;
    if (rest >= 0x38800000) { /* 2^-14: normal from here on */
        rest -= (uint32_t)(127 - 15) << 23;
        rest += 0xfff + (rest >> 13 & 1);
        return (uint16_t)(sign | rest >> 13);
    }
    /* Adding 0.5 aligns the last bit of the sum with the last bit of a subnormal half, so
     * the addition rounds correctly. */
    return (uint16_t)(sign | (float_bits(bits_float(rest) + 0.5f) - float_bits(0.5f)));
}

/* bfloat16: the upper half of a float. */
float bfloat16_to_float(uint16_t bf16)
{
    return bits_float((uint32_t)bf16 << 16);
}

static float bits_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t float_to_bfloat16(float value)
{
    uint32_t bits = float_bits(value);

    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40); /* rounding could turn NaN into infinity */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint32_t float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}
