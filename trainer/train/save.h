/* save.h - the state of a training into checkpoints, and out of them
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SAVE_H
#define MUSTER_SAVE_H

#include "model/model.h"
#include "train/state.h"
#include "train/world.h"
#include "zero/zero.h"

struct writer;

/* Saving, one checkpoint at a time. The caller sets what is above the line, all borrowed. In
 * the background a save begins with a copy of the rank's share in the host's memory; ranks
 * tell each other with each step how far they are, so nobody waits. */
struct save {
    const char         *dir;
    struct world       *world;
    const struct model *model;
    struct zero        *zero;
    bool                in_background;
    /* ---- */
    struct writer *writer; /* NULL: this rank has nothing under way */
    enum { SAVE_NONE, SAVE_WRITE, SAVE_COMMIT } phase; /* the same on all ranks */
    bool    is_open;  /* the same on all ranks: save_end has to come */
    int64_t start_ns;
};

/* Each that takes err is called by all ranks, and returns 0, or -1 with the reason in err. */

/* Save as DIR/global_stepN, as soon as the one before is on the disk. Not in the background:
 * return when this one is. Rank 0 tells where and how long it took. */
int save_begin(struct save *save, const struct state *state, struct error *err);

/* Is this rank's part on the disk, or has it none under way? */
bool save_is_written(const struct save *save);

/* After each step. is_written: save_is_written was true on all ranks before it. Returns 1, on all
 * ranks after the same step, if now the checkpoint is whole on the disk. */
int save_poll(struct save *save, bool is_written, struct error *err);

/* Will save_poll print something? */
bool save_will_print(const struct save *save);

/* Wait for what is under way. */
int save_end(struct save *save, struct error *err);

/* Go on from DIR/TAG, or without a tag from the latest. *found: there was one; without a tag
 * there need not be. */
int load_checkpoint(const char *dir, const char *tag, struct world *world,
                    const struct model *model, struct zero *zero, struct state *state,
                    bool *found, struct error *err);

#endif
