/* order.c - see order.h
 *
 * A Feistel network over the smallest even number of bits that holds count is a permutation of
 * 0 .. 2^bits - 1, whatever its round function is. A number outside 0 .. count - 1 goes
 * through it again until it is inside (cycle walking). 2^bits is at most four times count, so
 * that takes fewer than four turns on average.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "shards/order.h"

#define ROUNDS 6

static uint64_t mix(uint64_t x);

uint64_t order_at(uint64_t place, uint64_t count, uint64_t seed, uint64_t epoch)
{
    const uint64_t key = mix(seed + mix(epoch + 1));
    uint64_t       mask, left, right, was;
    int            half = 1, round;

    while (half < 31 && (UINT64_C(1) << 2 * half) < count)
        half++;
    mask = (UINT64_C(1) << half) - 1;
    do {
        left = place >> half;
        right = place & mask;
        for (round = 0; round < ROUNDS; round++) {
            was = right;
            right = left ^ (mix(key + (uint64_t)round + (right << 3)) & mask);
            left = was;
        }
        place = left << half | right;
    } while (place >= count);
    return place;
}

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
