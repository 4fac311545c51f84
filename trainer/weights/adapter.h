/* adapter.h - LoRA's adapters in a directory, as PEFT has them
 *
 *     DIR/adapter_config.json         what has an adapter, and of which rank
 *     DIR/adapter_model.safetensors   base_model.model.NAME, of what is trained
 *
 * What muster-train writes also names the base, by weights_print(), in the file's metadata.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ADAPTER_H
#define MUSTER_ADAPTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/lora.h"
#include "model/model.h"
#include "weights/weights.h"

/* Parses the text of an adapter_config.json; name is the file's, for err. Keys that may change
 * what is computed are errors unless they are off. Free with lora_clear(). */
int adapter_config_parse(struct lora *lora, const char *name, const char *text, size_t size,
                         struct error *err);

/* The same for a file, or for a directory that has one. */
int adapter_config_read(struct lora *lora, const char *path, struct error *err);

/* Can a model of this shape have what the file says of its tied embeddings? -1 with err. */
int adapter_config_fits(const struct lora *lora, const char *path,
                        const struct model_config *shape, struct error *err);

/* Returns the text for an adapter of this model. base: the directory of the model; NULL: none.
 * The caller frees it. */
char *adapter_config_text(const struct lora *lora, const struct model *model, const char *base);

/* Opens DIR's adapter: does it have each parameter that is trained, in its shape, and no others?
 * base: weights_print() of the model's weights; 0: it has none. NULL with err. */
struct safetensors *adapter_open(const char *dir, const struct model *model, uint64_t base,
                                 struct error *err);

/* A value_source (model_fill.h) of parameters that are trained. adapter: what adapter_open() has
 * returned. */
int adapter_read(void *adapter, const struct model_param *param, size_t first, size_t count,
                 float *values, struct error *err);

/* All ranks gather what is trained, and rank 0 writes both files, in the type that the model
 * computes in; the weights last. from, base: as above. -1 with err. */
int adapter_export(const char *dir, const char *from, const struct lora *lora, int rank,
                   const struct weights *weights, uint64_t base, struct error *err);

#endif
