/* model_config.h - the shape of a model, as in Hugging Face's config.json
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MODEL_CONFIG_H
#define MUSTER_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "comm/dtype.h"
#include "err.h"
#include "model/rope.h"

enum model_kind {
    MODEL_GPT2,
    MODEL_BERT,
    MODEL_ROBERTA,
    MODEL_LLAMA, /* from here on: Llama's family, see llama.c */
    MODEL_MISTRAL,
    MODEL_QWEN2,
    MODEL_QWEN3,
};

struct model_config {
    enum model_kind kind;
    int             vocabulary; /* tokens are 0 ... vocabulary - 1 */
    int             positions;  /* number of position embeddings; Llama: the longest sequence */
    int             types;      /* token types of BERT; this program uses only type 0 */
    int             width;
    int             inner; /* width of the inner layer in a block's second half */
    int             heads;
    int             kv_heads;   /* of keys and values; 0: as many as heads */
    int             head_width; /* 0: width / heads */
    int             blocks;
    double          norm_epsilon;
    double          deviation; /* of the initial weights */
    double          embedding_dropout, attention_dropout, hidden_dropout; /* 0: none */

    /* Llama's family only. */
    bool        qkv_bias, project_bias, inner_bias; /* of q, k, v; of o; of gate, up, down */
    bool        head_norm;   /* Qwen3: each head's queries and keys are normed */
    bool        is_untied;   /* the head has weights of its own */
    int         window;      /* tokens that a token attends to, see struct attention; 0: all */
    int         full_blocks; /* the window is not for this number of first blocks */
    struct rope rope;
};

#define MODEL_VOCABULARY_MAX (1 << 24)
#define MODEL_POSITIONS_MAX  (1 << 16) /* of a table */
#define MODEL_LONGEST_MAX    (1 << 24) /* tokens, where there is no table */
#define MODEL_WIDTH_MAX      (1 << 15)
#define MODEL_HEADS_MAX      256
#define MODEL_BLOCKS_MAX     1024
#define MODEL_TOKENS_MAX     (1 << 22) /* of a batch */
#define MODEL_CONFIG_MAX     (1 << 20) /* bytes of config.json */

/* Finds the shape of a named model: "gpt2" (also -medium, -large, -xl), "bert" (BERT base),
 * "roberta", "hello" (HelloDeepSpeed's), "qwen2.5-0.5b" and others of Llama's family. -1 with the
 * known names in err. */
int model_config_named(struct model_config *config, const char *name, struct error *err);

/* Parses the text of a config.json. name: the file's name, for err. What may change the
 * computation and is not supported is an error that names the key, also an unknown key. */
int model_config_parse(struct model_config *config, const char *name, const char *text,
                       size_t size, struct error *err);

/* Returns the shape as a config.json that transformers 4 and 5 can read; the caller frees it. */
char *model_config_text(const struct model_config *config);

/* The same for weights of this type. If base is not NULL, it is the config.json (size bytes) from
 * which the shape came: its other keys stay. NULL with err if base is no such file. */
char *model_config_export(const struct model_config *config, enum dtype type, const char *base,
                          size_t size, struct error *err);

/* Gives the shape another width or number of heads (0: the same). The inner width, the heads of
 * keys and values, and a head's width change in proportion, as far as they can. */
void model_config_resize(struct model_config *config, int width, int heads);

/* Is the shape valid? -1 with err if not. */
int model_config_check(const struct model_config *config, struct error *err);

/* Does it fill masked tokens? Otherwise it continues a text. */
bool model_is_masked(const struct model_config *config);

/* Is it of Llama's family? */
bool model_config_is_llama(const struct model_config *config);

/* Return the number of heads of keys and values, and the width of a head. */
int model_kv_heads(const struct model_config *config);
int model_head_width(const struct model_config *config);

/* Returns the length of the longest sequence that the model accepts. */
int model_longest(const struct model_config *config);

#endif
