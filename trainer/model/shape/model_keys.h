/* model_keys.h - the keys of config.json, for reading and writing it
 *
 * The defaults of Llama's family are those of the classes in transformers 5.12.1's
 * models/NAME/configuration_NAME.py, and of its version 4.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MODEL_KEYS_H
#define MUSTER_MODEL_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "err.h"
#include "model/model_config.h"

/* Sets of kinds. */
enum {
    IN_GPT2 = 1 << MODEL_GPT2,
    IN_BERT = 1 << MODEL_BERT,
    IN_ROBERTA = 1 << MODEL_ROBERTA,
    IN_LLAMA = 1 << MODEL_LLAMA,
    IN_MISTRAL = 1 << MODEL_MISTRAL,
    IN_QWEN2 = 1 << MODEL_QWEN2,
    IN_QWEN3 = 1 << MODEL_QWEN3,
    IN_BERTS = IN_BERT | IN_ROBERTA,
    IN_QWENS = IN_QWEN2 | IN_QWEN3,
    IN_FAMILY = IN_LLAMA | IN_MISTRAL | IN_QWENS,
    IN_ALL = IN_GPT2 | IN_BERTS | IN_FAMILY,
};

/* model_type and the class, by enum model_kind. */
extern const struct model_kind_name {
    const char *type, *class;
} model_kind_names[];
#define MODEL_KINDS (MODEL_QWEN3 + 1)

/* Positive integers. The row of a key is that with the model's kind. */
#define KEY_REQUIRED    (-1)
#define KEY_FOUR_WIDTHS (-2)
extern const struct number_key {
    const char *key;
    int         kinds;
    size_t      field;  /* an int */
    int         absent; /* the value if the key is missing, or KEY_... */
    bool        null_is_0; /* 0: as other numbers say; else null means absent */
} number_keys[]; /* ends with NULL */

/* Real numbers of at least 0 and less than 1. */
extern const struct real_key {
    const char *key;
    int         kinds;
    size_t      field; /* a double */
    double      absent;
} real_keys[];

extern const struct flag_key {
    const char *key;
    int         kinds;
    size_t      field; /* a bool */
    bool        is_not; /* the field has the opposite of the key's value */
} flag_keys[]; /* false if they are missing */

/* Settings that change the computation: only this value is supported. */
extern const struct fixed_key {
    const char *key, *value;
    int         kinds;
} fixed_keys[];

/* What has no influence on training, or what code reads that is beside the tables. A * at one
 * end stands for any text. */
extern const struct other_key {
    const char *key;
    int         kinds;
} other_keys[];

/* Reads rope_theta, rope_scaling and rope_parameters. */
int model_rope_read(struct model_config *config, json_t *root, struct error *err);

/* Adds rope_theta and rope_scaling. */
void model_rope_write(const struct model_config *config, json_t *root);

#endif
