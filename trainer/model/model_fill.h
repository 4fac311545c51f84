/* model_fill.h - values for a model's parameters, wherever they come from
 *
 * A rank that holds a share of the flat array, or of the array of frozen parameters, asks for
 * only that share. Frozen parameters are stored in the model's type, as the layers compute with
 * them, or quantized (quant.h); their array is counted in bytes, so that it can be divided whatever
 * they look like: also in the middle of a block.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MODEL_FILL_H
#define MUSTER_MODEL_FILL_H

#include <stddef.h>

#include "err.h"
#include "model/model.h"

/* read sets values to count elements of a parameter, from number first on. -1 with err. */
struct value_source {
    void *arg;
    int (*read)(void *arg, const struct model_param *param, size_t first, size_t count,
                float *values, struct error *err);
};

/* Sets values to count elements of the flat array, from number first on; padding becomes 0. -1
 * with err of the source. */
int model_fill(const struct model *model, const struct value_source *source, size_t first,
               size_t count, float *values, struct error *err);

/* The same for count bytes of the array of frozen parameters; count and first are multiples of
 * 8. It is an error, too, if a value that will be quantized is not finite. */
int model_fill_frozen(const struct model *model, const struct value_source *source, size_t first,
                      size_t count, void *bytes, struct error *err);

/* Return the bytes of a parameter in the array, and those of its first count elements: all of
 * them, or a multiple of QUANT_BLOCK. */
size_t model_frozen_bytes(const struct model *model, const struct model_param *param);
size_t model_frozen_part(const struct model *model, const struct model_param *param,
                         size_t count);

/* Sets values to count elements of a frozen parameter, on the host. from is where they begin in
 * the array: with a quantized one, at the first element of a block. */
void model_frozen_values(const struct model *model, const struct model_param *param,
                         const void *from, size_t count, float *values);

/* Sets values to count elements of the model's type, on the host. */
void model_widen(const struct model *model, const void *from, size_t count, float *values);

#endif
