/* step.h - one step of a training
 *
 * A step runs the passes over this rank's part of the batch, then the optimizer. To follow a
 * step through the code:
 *
 *     train/step.c          step_run(): passes, then zero_step(); the hooks for layers
 *     model/model.c         model_forward(), model_backward(): layer by layer, call the hooks
 *     zero/zero_params.c    zero_whole_params(): gathers a layer's parameters
 *     zero/zero.c           zero_done(): reduces a layer's gradients
 *     zero/zero_step.c      zero_step(): norm, skip or clip, Adam on this rank's share, spread
 *     zero/adam_body.h      adam_vector(): the formula
 *
 * Below are comm/comm.h for the network and model/ops.h for the computation.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STEP_H
#define MUSTER_STEP_H

#include "config/ds_config.h"
#include "data/samples.h"
#include "model/model.h"
#include "report/figures.h"
#include "shards/data_shards.h"
#include "train/state.h"
#include "train/world.h"
#include "zero/zero.h"

/* Requests that a rank may have received by a signal or a notice; a step sends them to all
 * ranks. */
enum step_want { STEP_WANT_SAVE, STEP_WANT_END, STEP_WANTS };

/* All pointers above the line are borrowed. */
struct step {
    const struct ds_config *config; /* resolved */
    struct world           *world;
    struct model           *model;
    struct zero            *zero, *frozen; /* frozen NULL: no parameter is frozen */
    struct samples         *samples;
    struct data_shards     *shards; /* NULL: each rank has a fixed share of each step */
    struct state           *state;
    double                  lr_scale; /* the learning rate is multiplied by it */
    bool                    wants[STEP_WANTS]; /* of this rank */
    bool                    is_saved;          /* this rank's save_is_written() */

    /* ---- Private to step.c. Sums over all ranks are pending there while layers compute. */
    int32_t *tokens, *targets; /* of all passes */
    int32_t *begins;           /* NULL: the samples have no documents */
    uint64_t *first;           /* number of each pass's first sample */
    double   target_count;
    uint64_t target_mark;
    double   told[2 + STEP_WANTS]; /* the loss, is_saved, and wants */

    /* The layer in which this rank's loss became infinite or NaN; empty: none. */
    struct error bad;
};

struct step_result {
    struct figures     figures;
    struct zero_result zero;
    int                bad_rank; /* if skipped: rank with the bad gradient; -1: only the sum */
    bool               wants[STEP_WANTS]; /* of any rank */
    bool               is_saved;          /* of all ranks */
};

/* Makes the model take its parameters from zero. Free with step_clear(). */
void step_init(struct step *step);
void step_clear(struct step *step);

/* Returns -1 with the reason in err if the training cannot continue. */
int step_run(struct step *step, struct step_result *result, struct error *err);

#endif
