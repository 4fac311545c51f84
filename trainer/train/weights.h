/* weights.h - a model's weights from and to a directory, as Hugging Face has it
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WEIGHTS_H
#define MUSTER_WEIGHTS_H

#include <stdbool.h>

#include "model/model.h"
#include "train/world.h"
#include "zero/zero.h"

/* Is there a model.safetensors, or the index of several? */
bool weights_are_in(const char *dir);

/* The shape that DIR's config.json tells. -1 with err. */
int weights_shape(const char *dir, struct model_config *shape, struct error *err);

/* Fill the masters of these pieces. -1 with err. */
int weights_load(const char *dir, const struct model *model, struct zero_piece *pieces,
                 int count, struct error *err);

/* All ranks make the model whole, layer by layer, and rank 0 writes it, with its
 * config.json, in the type that it computes in. -1 with err. */
int weights_export(const char *dir, const struct world *world, const struct model *model,
                   struct zero *zero, struct error *err);

#endif
