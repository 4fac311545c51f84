/* lora.h - low-rank adapters: which layers have one, and of what kind
 *
 * An adapter adds scale * B(A(dropout(x))) to the output of a linear layer, whose own weight is
 * frozen. A is rank x in, B is out x rank and begins as zero (Hu et al., 2021, arXiv:2106.09685).
 * The scale is alpha / rank or, with rslora, alpha / sqrt(rank) (arXiv:2312.03732). Names and
 * meaning of all that are PEFT's.
 *
 *     lora_parse -> model_new_tuned -> lora_clear
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LORA_H
#define MUSTER_LORA_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

/* What the names of an adapter's parameters end with, after that of its module. */
#define LORA_A ".lora_A.weight"
#define LORA_B ".lora_B.weight"

#define LORA_RANK_MAX  1024
#define LORA_ALPHA_MAX 1e6
#define LORA_NAMES_MAX 64 /* of targets, and of saved modules */
#define LORA_NAME_MAX  96 /* bytes of each, with the final zero */
#define LORA_TEXT_MAX  8192

struct lora {
    int    rank;
    double alpha, dropout;
    bool   is_rs;     /* rslora */
    bool   is_tied;   /* of PEFT's files: a saved embedding is the head's, too, if it is tied */
    bool   is_linear; /* "all-linear": all linear layers of blocks have one; else the targets */
    int    targets, saves;
    char (*target)[LORA_NAME_MAX]; /* modules: "q_proj", "mlp.c_proj" */
    char (*saved)[LORA_NAME_MAX];  /* modules that are trained as a whole: "embed_tokens" */
};

/* Parses "r=16,alpha=32,dropout=0.05,targets=q_proj,v_proj,modules_to_save=lm_head,rslora". An
 * item without = belongs to the list before it. Not given: alpha 2 r, no dropout, targets
 * all-linear, nothing saved. PEFT's long names (lora_alpha, target_modules ...) are fine, too. -1
 * with err. */
int  lora_parse(struct lora *lora, const char *text, struct error *err);
void lora_clear(struct lora *lora);

/* Adds a name to the targets or to the saved modules. -1 with err. */
int lora_add(struct lora *lora, bool is_saved, const char *name, struct error *err);

/* Are the numbers and lists valid together? -1 with err. */
int lora_check(const struct lora *lora, struct error *err);

/* Returns all of it as text, as lora_parse() accepts it; the caller frees it. */
char *lora_text(const struct lora *lora);

double lora_scale(const struct lora *lora);

/* Is the module of this parameter ("model.layers.3.mlp.up_proj.weight") a target, by a name that
 * is the module's or its end after a dot? Is it saved? Neither looks at
 * is_linear. */
bool lora_has_target(const struct lora *lora, const char *param);
bool lora_saves(const struct lora *lora, const char *param);

#endif
