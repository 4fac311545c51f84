/* quant.h - frozen weights in 8.5 or 4.5 bits an element, as QLoRA stores them
 *
 * Blocks of QUANT_BLOCK elements follow each other. A block is a float, the largest absolute value
 * of its elements (its scale), and then their codes. The value of a code is a number from -1 to 1,
 * times the scale:
 *
 *     int8   64 bytes, each code / 127
 *     nf4    32 bytes, each two numbers from a table of 16 (QLoRA, arXiv:2305.14314, appendix); the
 *            first of two elements is in the high bits, as in bitsandbytes
 *
 * The last block is whole, too: zeros follow the last element. Values are products of floats in
 * every type that models compute in, and then rounded to it, so that all machines have the same.
 * A value that was decoded has its code again when it is encoded.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_QUANT_H
#define MUSTER_QUANT_H

#include <stdbool.h>
#include <stddef.h>

enum quant { QUANT_NONE, QUANT_INT8, QUANT_NF4, QUANT_COUNT };

#define QUANT_BLOCK 64               /* elements */
#define QUANT_INT8_STEP (1.0f / 127) /* 127 of them are exactly 1 */

/* Quantiles of the normal distribution; 0, -1 and 1 are among them. */
#define QUANT_NF4_VALUES                                                                         \
    {                                                                                            \
        -1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,                \
            -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,           \
            0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f,                    \
            0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f,                     \
            0.7229568362236023f, 1.0f                                                            \
    }

/* Return the bytes of a block, and those of the blocks of count elements. */
static inline size_t quant_block_bytes(enum quant kind)
{
    return sizeof(float) + (kind == QUANT_INT8 ? QUANT_BLOCK : QUANT_BLOCK / 2);
}

static inline size_t quant_bytes(enum quant kind, size_t count)
{
    return (count + QUANT_BLOCK - 1) / QUANT_BLOCK * quant_block_bytes(kind);
}

/* "int8", "nf4"; QUANT_NONE: "none". */
const char *quant_name(enum quant kind);
/* Is the name that of a kind other than QUANT_NONE? Sets kind to it. */
bool quant_named(const char *name, enum quant *kind);

/* Encodes count values to whole blocks. Returns the number of the first value that is not finite,
 * or count if all are. */
size_t quant_encode(enum quant kind, const float *values, size_t count, void *packed);

/* Decodes the first count values of the blocks. */
void quant_decode(enum quant kind, const void *packed, size_t count, float *values);

#endif
