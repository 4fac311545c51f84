/* weights.h - loads and exports a model's weights, in a directory of Hugging Face's format
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WEIGHTS_H
#define MUSTER_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "model/safetensors.h"
#include "zero/zero.h"

#define WEIGHTS_FILE_MAX (UINT64_C(5) << 30) /* bytes of a file; Hugging Face's own default */

/* A model whose parameters ranks hold together. */
struct weights {
    const struct model *model;
    struct zero        *trained, *frozen; /* frozen NULL: no parameter is frozen */
};

/* Does DIR contain model.safetensors, or the index of several files? */
bool weights_are_in(const char *dir);

/* Returns -1 with err if DIR has weights that cannot be loaded from there: in another format, or
 * files of safetensors without their index. A training would begin with random numbers, and its
 * loss would be that of a new model. Other directories are fine, also without weights. */
int weights_check_format(const char *dir, struct error *err);

/* Reads the shape from DIR's config.json. -1 with err. */
int weights_shape(const char *dir, struct model_config *shape, struct error *err);

/* Sets print to a hash of the names and of some of the values of weights, so that others of the
 * same shape have another one. -1 with err. */
int weights_print(const struct safetensors *st, uint64_t *print, struct error *err);

/* Are both directories the same one? */
bool weights_are_same(const char *a, const char *b);

/* Makes the directory for an export, or fails: before a training, and not only after it. -1 with
 * err. */
int weights_prepare(const char *dir, struct error *err);

/* All ranks gather the model, layer by layer, and rank 0 writes it and its config.json, in the
 * type that the model computes in. from: the directory from which the model came; its config.json
 * is kept, but for what has changed, and what belongs to its tokenizer is copied; NULL: none.
 * Each file gets its name when it is complete, weights last. -1 with err, which says if
 * the weights are there. */
int weights_export(const char *dir, const char *from, int rank, const struct weights *weights,
                   struct error *err);

/* All ranks gather the model, layer by layer; one of them has out and stores the parameters there:
 * parameter i of the model as tensor number[i], or not at all if it is negative. -1 with err. */
int weights_gather(struct safetensors_out *out, const int *number, const struct weights *weights,
                   struct error *err);

/* Writes what a model has beside its weights: config.json, for this type, and if from is not NULL,
 * what belongs to the tokenizer there. -1 with err; the other files are written even so. */
int weights_write_rest(const char *dir, const char *from, const struct model_config *shape,
                       enum dtype type, struct error *err);

/* Writes a file, which gets its name when it is complete. -1 with err. */
int weights_write_file(const char *dir, const char *name, const char *bytes, size_t size,
                       struct error *err);

#endif
