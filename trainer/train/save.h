/* save.h - the state of a training into checkpoints, and out of them
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SAVE_H
#define MUSTER_SAVE_H

#include "model/model.h"
#include "train/state.h"
#include "train/world.h"
#include "zero/zero.h"

/* Each is called by all ranks, and returns 0, or -1 with the reason in err. */

/* Save as DIR/global_stepN. Rank 0 tells where and how long it took. */
int save_checkpoint(const char *dir, struct world *world, const struct model *model,
                    struct zero *zero, const struct state *state, struct error *err);

/* Go on from DIR/TAG, or without a tag from the latest. *found: there was one; without a tag
 * there need not be. */
int load_checkpoint(const char *dir, const char *tag, struct world *world,
                    const struct model *model, struct zero *zero, struct state *state,
                    bool *found, struct error *err);

#endif
