/* zero_training.h - a training of whole numbers, divided among ranks or done plainly
 *
 * The gradients are small whole numbers that depend on the parameters, so every sum is
 * exact, in any order: a parameter that came late, or from the wrong rank, shows. So it does
 * wherever parameters and states are kept.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ZERO_TRAINING_H
#define MUSTER_ZERO_TRAINING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zero/zero.h"

#define LAYERS  8
#define BUCKETS 7  /* of stage 3: a layer without elements is in none */
#define TIED    0  /* the last layer takes this one too */
#define TOTAL   4102
#define SAMPLES 24 /* of a step, over all ranks and passes */
#define STEPS   6

extern const size_t      training_layers[LAYERS];
extern const struct adam training_adam;

extern char training_dir[]; /* for files; the test makes it */

struct training {
    /* What to do. */
    int        stage, passes;
    enum dtype type;
    bool       sums_in_float;
    size_t     bucket_max;
    double     clip;
    bool       in_background;
    int64_t    compute_ns;    /* a layer takes so long, either way */
    int        overflow_step; /* a gradient of this step is infinite; -1: none */
    int        overflow_from; /* from this rank on; each: one that comes later, too */
    bool       in_sum;        /* on none of them, but all together */
    bool       is_sparing;    /* weight decay spares some parameters */
    bool       is_still;      /* the gradient is zero */

    enum zero_place params, states;
    int             buffers;

    /* What came out. */
    float              param[TOTAL], mean[TOTAL], square[TOTAL];
    double             norm[STEPS];
    bool               is_skipped[STEPS];
    int64_t            bad[STEPS];
    int                bad_rank;
    struct zero_memory memory, needed;
};

float training_initial(size_t element);
bool  training_spares(size_t element); /* with is_sparing */

/* What a rank does, for thread_comm_run(); arg is the training. */
const char *training_rank(struct comm *comm, void *arg);

/* The same without ranks, passes and buckets. */
void training_plainly(struct training *t);

/* Two parts of what a rank does: sets the masters, and does the steps. */
int training_fill(struct zero *zero);
int training_steps(struct training *t, struct comm *comm, struct zero *zero, struct error *err);

#endif
