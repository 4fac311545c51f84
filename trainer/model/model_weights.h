/* model_weights.h - a model's parameters from and to safetensors, by their place in the flat array
 *
 * A rank that holds a share reads and writes that alone.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MODEL_WEIGHTS_H
#define MUSTER_MODEL_WEIGHTS_H

#include <stddef.h>

#include "err.h"
#include "model/model.h"
#include "model/safetensors.h"

/* Has st every parameter of the model, in its shape? Names without their first word ("h.0..."
 * for "transformer.h.0...") and TensorFlow's gamma and beta are taken too. Other tensors are
 * not looked at. */
int model_weights_check(const struct model *model, const struct safetensors *st,
                        struct error *err);

/* count elements of the flat array from first on; what is padding becomes 0. */
int model_weights_load(const struct model *model, const struct safetensors *st, size_t first,
                       size_t count, float *values, struct error *err);

/* Begin files with the model's parameters, and config.json beside them. */
struct safetensors_out *model_weights_create(const struct model *model, const char *directory,
                                             enum dtype type, uint64_t file_max,
                                             struct error *err);
int model_weights_store(const struct model *model, struct safetensors_out *out, size_t first,
                        size_t count, const float *values, struct error *err);

#endif
