/* crc32c.c - see crc32c.h; eight bytes at a time, by eight tables
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/crc32c.h"

#include <pthread.h>

#define POLYNOMIAL 0x82f63b78u /* bit-reversed */

/* table[k][b]: the checksum of byte b followed by k zeros. */
static uint32_t       table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    uint32_t byte, sum;
    int      k;

    for (byte = 0; byte < 256; byte++) {
        sum = byte;
        for (k = 0; k < 8; k++)
            sum = sum >> 1 ^ (sum & 1 ? POLYNOMIAL : 0);
        table[0][byte] = sum;
    }
    for (byte = 0; byte < 256; byte++)
        for (k = 1; k < 8; k++)
            table[k][byte] = table[k - 1][byte] >> 8 ^ table[0][table[k - 1][byte] & 255];
}

uint32_t crc32c(uint32_t before, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint32_t       sum = ~before, low, high;

    pthread_once(&once, fill_table);
    for (; size >= 8; size -= 8, at += 8) {
        low = sum ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                     (uint32_t)at[3] << 24);
        high = (uint32_t)at[4] | (uint32_t)at[5] << 8 | (uint32_t)at[6] << 16 |
               (uint32_t)at[7] << 24;
        sum = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^
              table[4][low >> 24] ^ table[3][high & 255] ^ table[2][high >> 8 & 255] ^
              table[1][high >> 16 & 255] ^ table[0][high >> 24];
    }
    for (; size > 0; size--, at++)
        sum = sum >> 8 ^ table[0][(sum ^ *at) & 255];
    return ~sum;
}
