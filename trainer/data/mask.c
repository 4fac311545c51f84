/* mask.c - see mask.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "data/mask.h"

#include "model/scramble.h"

static int32_t another_token(const struct mask *mask, uint64_t random);
static double  even(uint64_t bits);

void mask_sample(const struct mask *mask, uint64_t seed, uint64_t n, int32_t *tokens,
                 int32_t *targets, int length)
{
    const uint64_t key = scramble(scramble(seed) + n);
    uint64_t       random;
    double         fate;
    int            i;

    for (i = 0; i < length; i++) {
        random = scramble(key + (uint64_t)i);
        targets[i] = -1;
        if (even(random) >= mask->chosen)
            continue;
        targets[i] = tokens[i];
        random = scramble(random);
        fate = even(random);
        if (fate < mask->random)
            tokens[i] = another_token(mask, scramble(random));
        else if (fate >= mask->random + mask->kept)
            tokens[i] = mask->token;
    }
}

static int32_t another_token(const struct mask *mask, uint64_t random)
{
    return (int32_t)(even(random) * mask->vocabulary);
}

/* Returns a number from 0 to 1, excluding 1. */
static double even(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}
