/* state.h - the state of a training, apart from its parameters
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STATE_H
#define MUSTER_STATE_H

#include <stdint.h>

#include "err.h"
#include "zero/loss_scale.h"

struct state {
    int64_t           step;    /* steps so far, including skipped ones */
    int64_t           updates; /* steps that were not skipped */
    int64_t           samples; /* samples so far, and the number of the next sample */
    int64_t           shards;  /* --data-shards: all below this number are done; 0: unknown */
    uint64_t          seed;
    uint64_t          base;    /* a hash of the frozen parameters; 0: there are none */
    double            best;    /* the lowest evaluation loss of a checkpoint; 0: none */
    struct loss_scale scale;   /* its rules come from the configuration and are not saved */
};

/* Returns the state as lines of name and value, for a checkpoint's note; the caller frees
 * it. */
char *state_text(const struct state *state);

/* Returns -1 if a line is missing or is not a number. Does not change the rules or, if they
 * require a fixed scale, the scale. */
int state_parse(struct state *state, const char *text, struct error *err);

#endif
