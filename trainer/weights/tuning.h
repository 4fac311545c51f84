/* tuning.h - what of a model is trained, as a command line says it
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TUNING_H
#define MUSTER_TUNING_H

#include <stdint.h>
#include <stdio.h>

#include "model/lora.h"
#include "model/model.h"
#include "zero/partition.h"

/* The values of options; all NULL: every parameter is trained. Borrowed. */
struct tuning_words {
    const char *lora;     /* as lora_parse() takes it; or PEFT's directory, or its configuration */
    const char *freeze;   /* an extended regular expression */
    const char *quantize; /* a name of quant.h */
    const char *no_decay; /* what weight decay spares: "none", or an extended regular expression;
                           * "default" or NULL: biases and the weights of norms */
};

struct tuning {
    struct tuning_words words;
    struct lora         lora;    /* rank 0: no adapters */
    const char         *adapter; /* the directory to take them from; NULL: at random */
};

/* Returns a model of this shape that is tuned so. NULL with err, which names the option. Free the
 * tuning with tuning_clear(), also after a failure. */
struct model *tuning_model(struct tuning *tuning, const struct tuning_words *words,
                           const struct model_config *shape, struct ops *ops, struct error *err);
void          tuning_clear(struct tuning *tuning);

/* Returns the ranges of the flat array that weight decay spares, as zero_options takes them; the
 * caller frees them. */
struct partition_range *tuning_spared(const struct model *model, int *count);

/* Returns the hash with all that ranks must agree on added to it. */
uint64_t tuning_hash(const struct tuning *tuning, uint64_t hash);

/* Prints how many parameters of the model are trained, and how; nothing if all are. */
void tuning_print(const struct tuning *tuning, const struct model *model, FILE *out);

#endif
