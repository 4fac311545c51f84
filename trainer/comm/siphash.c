/* siphash.c - see siphash.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/siphash.h"

#include <stdint.h>

static uint64_t get_u64(const unsigned char *at, size_t size);
static void     put_u64(unsigned char *at, uint64_t word);
static void     take(uint64_t v[4], uint64_t word);
static void     mix(uint64_t v[4], int rounds);
static uint64_t rotate(uint64_t word, int bits);

void siphash(const unsigned char key[SIPHASH_KEY], const void *bytes, size_t size,
             unsigned char code[SIPHASH_CODE])
{
    const uint64_t       k0 = get_u64(key, 8), k1 = get_u64(key + 8, 8);
    const unsigned char *at = bytes;
    size_t               left = size;
    uint64_t             v[4] = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ 0xee,
                                  k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573 };

    for (; left >= 8; left -= 8, at += 8)
        take(v, get_u64(at, 8));
    take(v, (uint64_t)size << 56 | get_u64(at, left));
    v[2] ^= 0xee;
    mix(v, 4);
    put_u64(code, v[0] ^ v[1] ^ v[2] ^ v[3]);
    v[1] ^= 0xdd;
    mix(v, 4);
    put_u64(code + 8, v[0] ^ v[1] ^ v[2] ^ v[3]);
}

static void take(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    mix(v, 2);
    v[0] ^= word;
}

static void mix(uint64_t v[4], int rounds)
{
    while (rounds-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static uint64_t rotate(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

static uint64_t get_u64(const unsigned char *at, size_t size)
{
    uint64_t word = 0;

    while (size-- > 0)
        word = word << 8 | at[size];
    return word;
}

static void put_u64(unsigned char *at, uint64_t word)
{
    int i;

    for (i = 0; i < 8; i++)
        at[i] = (unsigned char)(word >> 8 * i);
}
