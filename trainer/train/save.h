/* save.h - saves the state of a training to checkpoints, and loads it
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SAVE_H
#define MUSTER_SAVE_H

#include "model/model.h"
#include "train/state.h"
#include "train/world.h"
#include "zero/zero.h"

struct writer;

/* Saves one checkpoint at a time. The caller sets the fields above the line; all pointers are
 * borrowed. A save in the background first copies the rank's share to the host's memory. With
 * each step, the ranks exchange whether they have written their parts, so no rank waits. */
struct save {
    const char         *dir;
    struct world       *world;
    const struct model *model;
    struct zero        *zero;
    bool                in_background;
    int64_t             keep; /* so many checkpoints stay; 0: all */
    bool                is_best; /* set it before save_begin(): no other has a lower loss */
    /* ---- */
    struct writer *writer; /* NULL: this rank is not writing */
    enum { SAVE_NONE, SAVE_WRITE, SAVE_COMMIT } phase; /* the same on all ranks */
    bool    is_open;  /* the same on all ranks: save_end() must be called */
    int64_t start_ns;
    bool    is_saving_best;
};

/* All ranks must call the functions that take err. They return 0, or -1 with the reason in
 * err. */

/* Waits until the previous checkpoint is on the disk, then saves as DIR/global_stepN. If not in
 * the background, returns when the checkpoint is on the disk. Rank 0 prints where it is and how
 * long it took. */
int save_begin(struct save *save, const struct state *state, struct error *err);

/* Is this rank's part on the disk, or is the rank not writing? */
bool save_is_written(const struct save *save);

/* Call it after each step. is_written: save_is_written() was true on all ranks before the step.
 * Returns 1, on all ranks after the same step, when the whole checkpoint is on the disk. */
int save_poll(struct save *save, bool is_written, struct error *err);

/* Will save_poll print something? */
bool save_will_print(const struct save *save);

/* Waits until a running save is finished. */
int save_end(struct save *save, struct error *err);

/* Loads the state from DIR/TAG or, if tag is NULL, from the latest checkpoint. *found: there
 * was one; without a tag, a missing checkpoint is not an error. */
int load_checkpoint(const char *dir, const char *tag, struct world *world,
                    const struct model *model, struct zero *zero, struct state *state,
                    bool *found, struct error *err);

#endif
