/* batch.h - which worlds keep the global batch of a ds_config, and their accumulation steps
 *
 *     batch = micro batch of a rank * accumulation steps * ranks / parts
 *
 * parts: this many ranks share the same samples, since each has a part of the model or of a
 * sequence. The rules are DeepSpeed's (trainer/config/ds_config.c has them for muster-train): a
 * missing one of the three values follows from the others, or all follow from "elasticity"
 * (ds/elastic.h). The first world sets the batch; another world keeps it if its accumulation
 * steps can make up for the difference. Pure functions.
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
    struct batch           given; /* in the file; 0: not given */
    int64_t                parts; /* 1: each rank has samples of its own */
    bool                   is_elastic;
    struct elastic_request request;
    int64_t                micro[ELASTIC_MICRO_MAX];
    struct elastic_plan    list;  /* of version 0.1, for any world */
    bool                   suits_none; /* "elasticity" contradicts the arguments */
    struct batch           first; /* of the first world; total 0: there was none */
};

/* Parses the text of a ds_config.json; all other keys are ignored. 1: it sets no batch ("auto"
 * sets none); -1 with err: it is malformed. Clear rules in any case. */
int  batch_rules_parse(struct batch_rules *rules, const char *name, const char *text, size_t size,
                       struct error *err);
void batch_rules_clear(struct batch_rules *rules);

/* Reads parts from the arguments of the script, named as in Megatron
 * (--tensor-model-parallel-size 4 and others); they override the file. -1 with err:
 * "elasticity" has another value, and no world suits both. */
int batch_rules_split(struct batch_rules *rules, char *const *args, size_t count,
                      struct error *err);

/* Computes the batch that this many ranks would have. -1: none suits them. */
int batch_of(const struct batch_rules *rules, int64_t ranks, struct batch *batch);

/* Returns the value of --deepspeed_config or --ds_config (also with =) among the arguments of
 * a script; NULL: there is none. */
const char *batch_config_name(char *const *args, size_t count);

#endif
