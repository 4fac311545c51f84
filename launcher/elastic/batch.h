/* batch.h - which worlds keep the global batch of a ds_config, and with how many accumulation steps
 *
 *     batch = micro batch of a rank * accumulation steps * ranks / parts
 *
 * parts: so many ranks have the same samples, since they have parts of the model, or of a sequence.
 * DeepSpeed's rules (trainer/config/ds_config.c has them for muster-train): what is missing of the
 * three follows from the others, or all of it from "elasticity" (ds/elastic.h). The first world
 * sets the batch; another world keeps it if its accumulation steps can make up for it. Pure
 * functions.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BATCH_H
#define MUSTER_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ds/elastic.h"
#include "err.h"

#define BATCH_CONFIG_MAX (1 << 20) /* bytes of the file */

struct batch {
    int64_t total, micro, steps;
};

struct batch_rules {
    struct batch           given; /* by the file; 0: not */
    int64_t                parts; /* 1: each rank has samples of its own */
    bool                   is_elastic;
    struct elastic_request request;
    int64_t                micro[ELASTIC_MICRO_MAX];
    struct elastic_plan    list;  /* of version 0.1, for any world */
    bool                   suits_none; /* "elasticity" and the arguments contradict */
    struct batch           first; /* of the first world; total 0: there was none */
};

/* Of the text of a ds_config.json, of which all other keys are ignored. 1: it says nothing of the
 * batch ("auto" is nothing); -1 with err: it is malformed. Clear it in any case. */
int  batch_rules_parse(struct batch_rules *rules, const char *name, const char *text, size_t size,
                       struct error *err);
void batch_rules_clear(struct batch_rules *rules);

/* The same of the arguments of the script, by Megatron's words (--tensor-model-parallel-size 4 and
 * others); what they say counts instead of the file. -1 with err: "elasticity" has another idea of
 * it, and no world suits both. */
int batch_rules_split(struct batch_rules *rules, char *const *args, size_t count,
                      struct error *err);

/* What these ranks would have. -1: nothing suits them. */
int batch_of(const struct batch_rules *rules, int64_t ranks, struct batch *batch);

/* The value of --deepspeed_config, --ds_config (also with =) among the arguments of a script; NULL:
 * there is none. */
const char *batch_config_name(char *const *args, size_t count);

#endif
