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
    const char                 *from; /* the model's directory; NULL: its shape has a name */
    struct world               *world;
    struct weights              weights;
};

/* Sets all parameters and, if there is a checkpoint, the state, which has the seed of a new
 * training before. Rank 0 prints what it goes on from. -1 with err. */
int start_training(const struct start *start, struct state *state, struct error *err);

/* Returns how many times muster has started these ranks before. */
int start_generation(void);

#endif
