/* tokenizer_state.h - what a tokenizer consists of
 *
 * For use only in text/.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TOKENIZER_STATE_H
#define MUSTER_TOKENIZER_STATE_H

#include <jansson.h>

#include "text/added.h"
#include "text/merges.h"
#include "text/normal.h"
#include "text/split.h"
#include "text/tokenizer.h"
#include "text/vocab.h"

#define TEMPLATE_MAX 64 /* tokens that the post-processor adds on each side */

struct tokenizer {
    json_t        *json;  /* parts of it are used */
    struct normal  normal;
    struct split   split;
    struct vocab   vocab; /* each token as its text: bytes, if split.is_bytes */
    struct merges  merges;
    bool           ignores_merges; /* a piece that is a token becomes it, merges or not */
    int32_t        byte[256];      /* tokens of single bytes */
    struct vocab   names;          /* added tokens, as they are written */
    struct added   raw, normalized; /* added tokens, before and after normalization */
    bool          *is_special;     /* by number; of words */
    int            words;
    int32_t        before[TEMPLATE_MAX], after[TEMPLATE_MAX];
    int            befores, afters;
};

/* Fills tokenizer from tokenizer->json. -1 with the reason in err. */
int tokenizer_read(struct tokenizer *tokenizer, struct error *err);

#endif
