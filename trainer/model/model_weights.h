/* model_weights.h - loads and stores ranges of a model's flat array as safetensors
 *
 * A rank that holds a share reads and writes only its share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MODEL_WEIGHTS_H
#define MUSTER_MODEL_WEIGHTS_H

#include <stddef.h>

#include "err.h"
#include "model/model.h"
#include "model/safetensors.h"

/* Does st have every parameter of the model, in its shape? Also accepts names without their
 * first word ("h.0..." for "transformer.h.0...") and TensorFlow's gamma and beta. Ignores other
 * tensors. -1 with err if not. */
int model_weights_check(const struct model *model, const struct safetensors *st,
                        struct error *err);

/* A value_source (model_fill.h) whose arg is a struct safetensors. */
int model_weights_read(void *weights, const struct model_param *param, size_t first, size_t count,
                       float *values, struct error *err);

/* Returns the type of the first parameter's tensor; float if this program does not write it. */
enum dtype model_weights_type(const struct model *model, const struct safetensors *st);

/* Loads count elements of the flat array from first on; padding becomes 0. */
int model_weights_load(const struct model *model, const struct safetensors *st, size_t first,
                       size_t count, float *values, struct error *err);

/* Begins files for the model's parameters. */
struct safetensors_out *model_weights_create(const struct model *model, const char *directory,
                                             enum dtype type, uint64_t file_max,
                                             struct error *err);
int model_weights_store(const struct model *model, struct safetensors_out *out, size_t first,
                        size_t count, const float *values, struct error *err);

#endif
