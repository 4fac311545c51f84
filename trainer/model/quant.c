/* quant.c - see quant.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/quant.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define WORTH_THREADS 256 /* blocks */

static const float nf4[16] = QUANT_NF4_VALUES;

static float scale_of(const float *values, size_t count);
static void  encode_int8(const float *values, float scale, uint8_t *codes);
static void  encode_nf4(const float *values, float scale, uint8_t *codes);

const char *quant_name(enum quant kind)
{
    static const char *const names[QUANT_COUNT] = { "none", "int8", "nf4" };

    return names[kind];
}

bool quant_named(const char *name, enum quant *kind)
{
    for (*kind = QUANT_INT8; *kind < QUANT_COUNT; (*kind)++)
        if (strcmp(name, quant_name(*kind)) == 0)
            return true;
    *kind = QUANT_NONE;
    return false;
}

size_t quant_encode(enum quant kind, const float *values, size_t count, void *packed)
{
    const size_t blocks = (count + QUANT_BLOCK - 1) / QUANT_BLOCK;
    size_t       bad = count, i;

#pragma omp parallel for schedule(static) reduction(min : bad) if (blocks > WORTH_THREADS)
    for (i = 0; i < blocks; i++) {
        const size_t first = i * QUANT_BLOCK;
        const size_t n = count - first < QUANT_BLOCK ? count - first : QUANT_BLOCK;
        uint8_t     *block = (uint8_t *)packed + i * quant_block_bytes(kind);
        float        block_values[QUANT_BLOCK] = { 0 };
        float        scale;
        size_t       j;

        for (j = 0; j < n && isfinite(values[first + j]); j++)
            ;
        if (j < n && first + j < bad)
            bad = first + j;
        memcpy(block_values, values + first, j * sizeof *values);
        scale = scale_of(block_values, j);
        memcpy(block, &scale, sizeof scale);
        if (kind == QUANT_INT8)
            encode_int8(block_values, scale, block + sizeof scale);
        else
            encode_nf4(block_values, scale, block + sizeof scale);
    }
    return bad;
}

static float scale_of(const float *values, size_t count)
{
    float  scale = 0;
    size_t i;

    for (i = 0; i < count; i++)
        scale = fabsf(values[i]) > scale ? fabsf(values[i]) : scale;
    return scale;
}

static void encode_int8(const float *values, float scale, uint8_t *codes)
{
    const float by = scale > 0 ? scale : 1;
    float       x;
    int         i;

    for (i = 0; i < QUANT_BLOCK; i++) {
        x = values[i] / by * 127;
        codes[i] = (uint8_t)(int8_t)(x < 0 ? x - 0.5f : x + 0.5f);
    }
}

/* A value in the middle between two of the table takes the lower one. */
static void encode_nf4(const float *values, float scale, uint8_t *codes)
{
    const float by = scale > 0 ? scale : 1;
    float       x[QUANT_BLOCK];
    int         number[QUANT_BLOCK] = { 0 };
    int         i, k;

    for (i = 0; i < QUANT_BLOCK; i++)
        x[i] = values[i] / by;
    for (k = 0; k < 15; k++)
        for (i = 0; i < QUANT_BLOCK; i++)
            number[i] += x[i] > (nf4[k] + nf4[k + 1]) / 2;
    for (i = 0; i < QUANT_BLOCK; i += 2)
        codes[i / 2] = (uint8_t)(number[i] << 4 | number[i + 1]);
}

void quant_decode(enum quant kind, const void *packed, size_t count, float *values)
{
    const size_t bytes = quant_block_bytes(kind);
    size_t       i;

#pragma omp parallel for schedule(static) if (count > WORTH_THREADS * QUANT_BLOCK)
    for (i = 0; i < count; i++) {
        const uint8_t *block = (const uint8_t *)packed + i / QUANT_BLOCK * bytes;
        const uint8_t *codes = block + sizeof(float);
        const size_t   at = i % QUANT_BLOCK;
        float          scale;

        memcpy(&scale, block, sizeof scale);
        if (kind == QUANT_INT8)
            values[i] = (float)(int8_t)codes[at] * QUANT_INT8_STEP * scale;
        else
            values[i] = nf4[at % 2 == 0 ? codes[at / 2] >> 4 : codes[at / 2] & 15] * scale;
    }
}
