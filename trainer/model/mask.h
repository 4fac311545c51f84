/* mask.h - which tokens of a sample a masked model has to guess
 *
 * As BERT was trained: of the tokens that are chosen, most become the mask token, some another
 * token at random, some stay. The choice depends on seed, the sample's number and the place
 * alone, so that every number of ranks gives the same.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MASK_H
#define MUSTER_MASK_H

#include <stdint.h>

struct mask {
    int32_t token;      /* the mask token; it is not chosen at random */
    int     vocabulary; /* of the tokens that are */
    double  chosen;     /* parts of all tokens: 0.15 */
    double  random;     /* parts of those: 0.1 */
    double  kept;       /* likewise */
};

/* Change tokens, and set targets: what was there where a token was chosen, -1 elsewhere. */
void mask_sample(const struct mask *mask, uint64_t seed, uint64_t n, int32_t *tokens,
                 int32_t *targets, int length);

#endif
