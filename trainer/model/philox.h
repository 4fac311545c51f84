/* philox.h - random bits as a function of position, the same on CPUs and GPUs
 *
 * Philox4x32-10 (Salmon et al., 2011) computes four words from a counter and a key, without
 * state. So the dropped elements depend only on seed, sample and position. They do not depend
 * on the number of ranks or threads, on where a training was interrupted, or on whether a block
 * is recomputed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PHILOX_H
#define MUSTER_PHILOX_H

#include <stdint.h>

#include "model/ops.h"

#ifndef PHILOX_FUNCTION
#define PHILOX_FUNCTION static inline
#endif

struct philox {
    uint32_t word[4];
};

PHILOX_FUNCTION struct philox philox(struct philox counter, uint32_t key0, uint32_t key1)
{
    uint32_t *c = counter.word;
    uint64_t  left, right;
    int       round;

    for (round = 0; round < 10; round++) {
        left = (uint64_t)0xd2511f53u * c[0];
        right = (uint64_t)0xcd9e8d57u * c[2];
        c[0] = (uint32_t)(right >> 32) ^ c[1] ^ key0;
        c[1] = (uint32_t)right;
        c[2] = (uint32_t)(left >> 32) ^ c[3] ^ key1;
        c[3] = (uint32_t)left;
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return counter;
}

/* Returns the words for elements 4 * four to 4 * four + 3 of a sequence of the batch. */
PHILOX_FUNCTION struct philox dropout_words(const struct dropout *drop, int sequence,
                                            uint64_t four)
{
    const uint64_t sample = drop->sample + (uint64_t)sequence;
    struct philox  counter;

    counter.word[0] = (uint32_t)four;
    counter.word[1] = (uint32_t)(four >> 32) << 16 ^ drop->site;
    counter.word[2] = (uint32_t)sample;
    counter.word[3] = (uint32_t)(sample >> 32);
    return philox(counter, (uint32_t)drop->seed, (uint32_t)(drop->seed >> 32));
}

/* Elements whose word is below this limit are dropped. */
PHILOX_FUNCTION uint32_t dropout_limit(const struct dropout *drop)
{
    return (uint32_t)(drop->rate * 4294967296.0);
}

/* Returns an element's factor: 0 if it is dropped, else the factor that keeps the mean. */
PHILOX_FUNCTION float dropout_factor(const struct dropout *drop, int sequence, uint64_t element)
{
    const struct philox words = dropout_words(drop, sequence, element / 4);

    return words.word[element % 4] < dropout_limit(drop) ? 0 : (float)(1 / (1 - drop->rate));
}

#endif
