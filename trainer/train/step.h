/* step.h - one step of a training
 *
 * The passes over this rank's part of the batch, then the optimizer. To follow a step through:
 *
 *     train/step.c          step_run(): passes, then zero_step(); its hooks are what layers ask
 *     model/model.c         model_forward(), model_backward(): layer by layer, with the hooks
 *     zero/zero_params.c    zero_whole_params(): a layer's parameters, which are gathered for it
 *     zero/zero.c           zero_done(): its gradients, which are reduced behind it
 *     zero/zero_step.c      zero_step(): norm, skip or clip, Adam on this rank's share, spread
 *     zero/adam_body.h      adam_vector(): the formula
 *
 * Below that are comm/comm.h, what crosses the network, and model/ops.h, what is computed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STEP_H
#define MUSTER_STEP_H

#include "config/ds_config.h"
#include "model/model.h"
#include "shards/data_shards.h"
#include "train/samples.h"
#include "train/state.h"
#include "train/world.h"
#include "zero/zero.h"

/* What a rank may have been told, and tells the others with a step. */
enum step_want { STEP_WANT_SAVE, STEP_WANT_END, STEP_WANTS };

/* What a step takes its time for. A GPU works on while the host is done with a backward pass:
 * what is left counts for the update. */
enum step_part { STEP_FORWARD, STEP_BACKWARD, STEP_UPDATE, STEP_PARTS };

/* Borrowed, all pointers. */
struct step {
    const struct ds_config *config; /* resolved */
    struct world           *world;
    struct model           *model;
    struct zero            *zero;
    struct samples         *samples;
    struct data_shards     *shards; /* NULL: each rank has a fixed share of each step */
    struct state           *state;
    bool                    wants[STEP_WANTS]; /* of this rank */
    bool                    is_saved;          /* save_is_written of this rank */

    /* step.c's own. Sums over all ranks are under way there while layers are computed. */
    int32_t *tokens, *targets; /* of all passes */
    uint64_t *first;           /* sample of each pass */
    double   target_count;
    uint64_t target_mark;
    double   told[2 + STEP_WANTS]; /* the loss, is_saved, and wants */

    /* Where this rank's loss became something that is not finite; empty: nowhere. */
    struct error bad;
};

struct step_result {
    double             loss;  /* the mean over all targets of all ranks */
    double             lr;
    double             scale; /* of this step's loss */
    struct zero_result zero;
    int                bad_rank; /* skipped: whose own gradient is not finite; -1: only the sum */
    double             seconds[STEP_PARTS]; /* on this rank, over all passes */
    double             mib[STEP_PARTS];     /* in use behind each; with memory_breakdown */
    bool               wants[STEP_WANTS]; /* of any rank */
    bool               is_saved;          /* of all ranks */
};

/* Let the model take its parameters from zero. Free with step_clear. */
void step_init(struct step *step);
void step_clear(struct step *step);

/* -1 with the reason in err; the training cannot go on then. */
int step_run(struct step *step, struct step_result *result, struct error *err);

#endif
