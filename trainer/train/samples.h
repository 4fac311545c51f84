/* samples.h - what a model is given, and what it shall say
 *
 * Each sample is a pure function of its number and the seed. A model that guesses the
 * next token has each token's successor as its target. One that fills gaps has as
 * targets the tokens that are hidden from it: of 15 in a hundred, 80 % are replaced by
 * a mask, 10 % by any token, and 10 % stay.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SAMPLES_H
#define MUSTER_SAMPLES_H

#include "model/data.h"

#define SAMPLES_MASK DATA_BYTE_WORDS /* the token of a mask, behind those of text */

struct samples {
    struct data *data;
    bool         is_masked;
    int          length, vocabulary;
    uint64_t     seed;
    int32_t     *room; /* for one sample of data */
};

/* Data is a file or directory, see data.h; masks need text. -1 with err. Free with
 * samples_close, after a failure too. */
int  samples_open(struct samples *samples, const char *path, int length, bool is_masked,
                  int vocabulary, uint64_t seed, struct error *err);
void samples_close(struct samples *samples);

/* Of how many tokens there are where. */
uint64_t samples_hash(const struct samples *samples);

/* length tokens and as many targets, of which -1 is none. */
int samples_take(struct samples *samples, uint64_t number, int32_t *tokens, int32_t *targets,
                 struct error *err);

#endif
