/* dequantize_template.h - part of kernels_template.h: blocks of codes, see quant.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/quant.h"

/* n: elements of the block, whose codes begin at codes. */
static inline void decode_int8(elem *out, const int8_t *codes, float scale, int n)
{
    int i;

#pragma omp simd
    for (i = 0; i < n; i++)
        store(&out[i], (real)((float)codes[i] * QUANT_INT8_STEP * scale));
}

/* Elements are taken from the table in their type, with the block's scale. */
static inline void decode_nf4(elem *out, const uint8_t *codes, float scale, int n)
{
    static const float nf4[16] = QUANT_NF4_VALUES;
    elem               table[16];
    int                i;

#pragma omp simd
    for (i = 0; i < 16; i++)
        store(&table[i], (real)(nf4[i] * scale));
    for (i = 0; i < n / 2; i++) {
        out[2 * i] = table[codes[i] >> 4];
        out[2 * i + 1] = table[codes[i] & 15];
    }
    if (n % 2 == 1)
        out[n - 1] = table[codes[n / 2] >> 4];
}

static void dequantize(struct ops *ops, enum quant kind, void *out, const void *packed,
                       size_t count)
{
    const size_t blocks = (count + QUANT_BLOCK - 1) / QUANT_BLOCK;
    size_t       i;

    (void)ops;
#pragma omp parallel for schedule(static) if (count > WORTH_THREADS)
    for (i = 0; i < blocks; i++) {
        const char  *block = (const char *)packed + i * quant_block_bytes(kind);
        const void  *codes = block + sizeof(float);
        elem        *o = (elem *)out + i * QUANT_BLOCK;
        const size_t n = count - i * QUANT_BLOCK;
        float        scale;

        memcpy(&scale, block, sizeof scale);
        if (n >= QUANT_BLOCK && kind == QUANT_INT8)
            decode_int8(o, codes, scale, QUANT_BLOCK);
        else if (n >= QUANT_BLOCK)
            decode_nf4(o, codes, scale, QUANT_BLOCK);
        else if (kind == QUANT_INT8)
            decode_int8(o, codes, scale, (int)n);
        else
            decode_nf4(o, codes, scale, (int)n);
    }
}
