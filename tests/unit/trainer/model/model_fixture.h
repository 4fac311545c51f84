/* model_fixture.h - small models of all families, with all their parameters
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MODEL_FIXTURE_H
#define MUSTER_MODEL_FIXTURE_H

#include "model/model.h"
#include "model/ops.h"

#define SEQUENCES 2
#define LENGTH    5
#define TINY      7 /* models */

/* The families whose tokens know their positions by rotary embeddings come last. */
#define TINY_ROTARY 3

extern const struct model_config tiny[TINY];

/* A batch for each of them, with seven targets. */
extern const int32_t            tiny_tokens[SEQUENCES * LENGTH], tiny_targets[SEQUENCES * LENGTH];
extern const struct model_batch tiny_batch;

/* A model with all its parameters, and room for their gradient. */
struct fixture {
    struct ops   *ops;
    struct model *model;
    void         *params, *grads, *frozen;
};

/* type: double, float or bfloat16. */
void fixture_make(struct fixture *f, const struct model_config *config, enum dtype type);
/* tuning: see model_new_tuned(). A parameter has the same values whatever it is. */
void fixture_make_tuned(struct fixture *f, const struct model_config *config,
                        const struct model_tuning *tuning, enum dtype type);
void fixture_drop(struct fixture *f);

/* A forward pass with the batch; returns its loss. fixture_back() goes on with a backward pass,
 * and claims that it finds the same loss. */
double fixture_loss(struct fixture *f);
void   fixture_back(struct fixture *f, double scale);

#endif
