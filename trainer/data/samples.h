/* samples.h - the tokens that a model reads, and the targets that it must predict
 *
 * Each sample is a pure function of its number and the seed. For a model that predicts the
 * next token, each token's target is its successor. For a masked model, the targets are 15 %
 * of the tokens: 80 % of these are replaced by a mask, 10 % by a random token, and 10 % stay.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SAMPLES_H
#define MUSTER_SAMPLES_H

#include "data/data.h"

#define SAMPLES_MASK DATA_BYTE_WORDS /* the mask token, the first after the tokens of text */

struct samples {
    struct data *data;
    bool         is_masked;
    int          length, vocabulary;
    uint64_t     seed;
    int32_t     *room; /* buffer for one sample of data */
};

/* path and text: see data.h; is_masked needs text whose bytes are tokens. -1 with err. Free with
 * samples_close(), also after a failure. */
int  samples_open(struct samples *samples, const char *path, int length, bool is_masked,
                  int vocabulary, uint64_t seed, const struct data_text *text,
                  struct error *err);
void samples_close(struct samples *samples);

/* Returns a hash of the number of tokens in each file. */
uint64_t samples_hash(const struct samples *samples);

/* Are the samples made of documents, so that they need begins? */
bool samples_have_documents(const struct samples *samples);

/* Writes length tokens and as many targets; -1: no target. begins: where the document of each
 * begins in the sample, if there are documents. */
int samples_take(struct samples *samples, uint64_t number, int32_t *tokens, int32_t *targets,
                 int32_t *begins, struct error *err);

#endif
