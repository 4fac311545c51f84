/* state.h - where a training is, beside its parameters
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STATE_H
#define MUSTER_STATE_H

#include <stdint.h>

#include "err.h"
#include "zero/loss_scale.h"

struct state {
    int64_t           step;    /* steps so far, skipped ones included */
    int64_t           updates; /* steps that were not skipped */
    int64_t           samples; /* of the data; the next sample has this number */
    int64_t           shards;  /* --data-shards: all below that number are in it; 0: not known */
    uint64_t          seed;
    struct loss_scale scale;   /* its rules are the configuration's, and not kept */
};

/* As lines of name and value, for a checkpoint's note; the caller frees it. */
char *state_text(const struct state *state);

/* -1 when a line is missing or is no number. The rules stay as they are; where they ask for
 * a fixed scale, the scale does as well. */
int state_parse(struct state *state, const char *text, struct error *err);

#endif
