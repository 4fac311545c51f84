/* mask.h - chooses the tokens of a sample that a masked model must predict
 *
 * As in BERT's training: of the chosen tokens, most become the mask token, some become a random
 * token, and some stay. The choice depends only on seed, the sample's number and the position,
 * so it is the same for every number of ranks.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MASK_H
#define MUSTER_MASK_H

#include <stdint.h>

struct mask {
    int32_t token;      /* the mask token; never used as a random token */
    int     vocabulary; /* random tokens are below this number */
    double  chosen;     /* fraction of all tokens: 0.15 */
    double  random;     /* fraction of the chosen tokens: 0.1 */
    double  kept;       /* fraction of the chosen tokens: 0.1 */
};

/* Changes tokens and sets targets: the original token where one was chosen, -1 elsewhere. */
void mask_sample(const struct mask *mask, uint64_t seed, uint64_t n, int32_t *tokens,
                 int32_t *targets, int length);

#endif
