/* safetensors_type.c - see safetensors_type.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/safetensors_type.h"

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error files are little-endian, and so are all machines that this was written for
#endif

enum { F32, F16, BF16, F64, I32, I64, OTHERS };

static const struct {
    const char *name;
    size_t      size;
} types[] = {
    [F32] = { "F32", 4 },      [F16] = { "F16", 2 },  [BF16] = { "BF16", 2 },
    [F64] = { "F64", 8 },      [I32] = { "I32", 4 },  [I64] = { "I64", 8 },
    [OTHERS] = { "BOOL", 1 },  { "U8", 1 },           { "I8", 1 },
    { "F8_E4M3", 1 },          { "F8_E5M2", 1 },      { "I16", 2 },
    { "U16", 2 },              { "U32", 4 },          { "U64", 8 },
};
#define TYPES ((int)(sizeof types / sizeof types[0]))

static float one_to_float(int type, const char *bytes);

int safetensors_type_find(const char *name)
{
    int i;

    for (i = 0; name != NULL && i < TYPES; i++)
        if (strcmp(types[i].name, name) == 0)
            return i;
    return -1;
}

int safetensors_type_of(enum dtype type)
{
    return type == DTYPE_FLOAT ? F32 : type == DTYPE_HALF ? F16 : BF16;
}

const char *safetensors_type_name(int type)
{
    return types[type].name;
}

size_t safetensors_type_size(int type)
{
    return types[type].size;
}

bool safetensors_type_is_number(int type)
{
    return type < OTHERS;
}

void safetensors_type_to_float(int type, const void *bytes, size_t count, float *values)
{
    size_t i;

    if (type == F32) {
        memcpy(values, bytes, count * sizeof *values);
        return;
    }
    for (i = 0; i < count; i++)
        values[i] = one_to_float(type, (const char *)bytes + i * types[type].size);
}

/* bytes may be unaligned. */
static float one_to_float(int type, const char *bytes)
{
    uint16_t half;
    double   real;
    int32_t  number;
    int64_t  large;

    switch (type) {
    case F16:
    case BF16:
        memcpy(&half, bytes, sizeof half);
        return type == F16 ? half_to_float(half) : bfloat16_to_float(half);
    case F64:
        memcpy(&real, bytes, sizeof real);
        return (float)real;
    case I32:
        memcpy(&number, bytes, sizeof number);
        return (float)number;
    default:
        memcpy(&large, bytes, sizeof large);
        return (float)large;
    }
}

void safetensors_type_from_float(int type, const float *values, size_t count, void *bytes)
{
    uint16_t half;
    size_t   i;

    if (type == F32) {
        memcpy(bytes, values, count * sizeof *values);
        return;
    }
    for (i = 0; i < count; i++) {
        half = type == F16 ? float_to_half(values[i]) : float_to_bfloat16(values[i]);
        memcpy((char *)bytes + i * sizeof half, &half, sizeof half);
    }
}
