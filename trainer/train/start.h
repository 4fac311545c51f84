/* start.h - where a training begins: a checkpoint, weights, or values at random
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_START_H
#define MUSTER_START_H

#include "train/state.h"
#include "train/train_options.h"
#include "train/world.h"
#include "weights/weights.h"

/* All borrowed. */
struct start {
    const struct train_options *options;
    const char                 *adapter; /* the directory of what is trained; NULL: none */
    struct world               *world;
    struct weights              weights;
};

/* Sets all parameters and, if there is a checkpoint, the state, which has the seed of a new
 * training before. base: weights_print() of the model's weights if some are frozen; 0: there are
 * none. Rank 0 prints what it goes on from. -1 with err. */
int start_training(const struct start *start, struct state *state, uint64_t *base,
                   struct error *err);

/* Returns how many times muster has started these ranks before. */
int start_generation(void);

#endif
