/* model.h - a transformer as a list of layers over one flat array of parameters
 *
 * A model knows its parameters by name and place, but owns none of them. Whoever
 * trains it holds them (all, or a share and the rest on demand) and is told by
 * hooks which layer comes next. One pass over GPT-2 with two blocks:
 *
 *     layer   0 embeddings   1 block   2 block   3 head (tied to layer 0)
 *
 *     forward   enter 0 · leave 0 · enter 1 · leave 1 · enter 2 · leave 2 ·
 *               enter 3 · enter 0 · leave 0 · leave 3
 *     backward  enter 3 · enter 0 · leave 0 · leave 3 · done 3 ·
 *               enter 2 · leave 2 · done 2 · enter 1 · leave 1 · done 1 ·
 *               enter 0 · leave 0 · done 0
 *
 * The parameters lie in one flat array, layer by layer. Each begins at a multiple
 * of MODEL_ALIGN elements, except those that one matrix product takes together.
 * What is between them is padding: it is zero, and so is its gradient.
 *
 *     model_new -> [model_forward -> model_backward]... -> model_free
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MODEL_H
#define MUSTER_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/dtype.h"
#include "err.h"
#include "model/model_config.h"

struct ops;

#define MODEL_ALIGN    32 /* elements: 64 bytes of bfloat16 */
#define MODEL_NAME_MAX 96

struct model_param {
    char   name[MODEL_NAME_MAX]; /* Hugging Face's: "h.0.attn.c_attn.weight" */
    int    layer;
    int    dims; /* 1 or 2 */
    size_t shape[2];
    size_t offset, count; /* elements, in the flat array */
    enum model_init { MODEL_INIT_ZERO, MODEL_INIT_ONE, MODEL_INIT_NORMAL } init;
    float  deviation; /* of MODEL_INIT_NORMAL */
};

struct model_layer {
    char   name[24];      /* "embeddings", "block 3", "head" */
    size_t offset, count; /* elements, in the flat array, padding included */
    int    first_param, param_count;
    int    tied; /* it takes this layer's parameters as well; -1: only its own */
};

enum model_pass { MODEL_FORWARD, MODEL_BACKWARD };

/* All return 0, or -1 with the reason in err, which ends the pass. A NULL function is
 * not called. */
struct model_hooks {
    void *arg;
    /* When it returns, model->params[layer] is the layer's parameters, and in the
     * backward pass model->grads[layer] is where their gradient is added. */
    int (*enter)(void *arg, int layer, enum model_pass pass, struct error *err);
    /* The parameters may go. The gradient stays until done. */
    int (*leave)(void *arg, int layer, enum model_pass pass, struct error *err);
    /* This backward pass adds nothing more to the layer's gradient. */
    int (*done)(void *arg, int layer, struct error *err);
};

/* Sequences of the same length, in the host's memory. */
struct model_batch {
    int            sequences, length;
    const int32_t *tokens;  /* [sequences][length] */
    const int32_t *targets; /* the same shape; -1: no loss here */
    uint64_t       sample;  /* the first sequence's number in the training, for dropout */
};

struct model_family; /* GPT-2 or BERT: model_run.h */

struct model {
    struct model_config        config;
    const struct model_family *family;
    struct ops                *ops;
    enum dtype                 type; /* of parameters, gradients and activations: ops->type */

    struct model_layer *layer;
    int                 layers;
    struct model_param *param;
    int                 param_count;
    size_t              count; /* of the flat array, in elements, padding included */

    /* The holder of the parameters sets these, at the latest in enter. Layer i's part of
     * the flat array begins at each; they need not lie in one array. */
    void **params, **grads;

    /* Set by who trains, before the first pass. */
    bool     drops; /* do the dropout that config asks for */
    uint64_t drop_seed;
    bool     recomputes; /* keep each block's input alone, and compute the rest once more */

    struct model_hooks hooks;
    struct model_run  *run; /* activations: model_run.h */
};

/* A model that computes with ops; ops outlives it. NULL with what is wrong with config. */
struct model *model_new(const struct model_config *config, struct ops *ops,
                        struct error *err);
void model_free(struct model *model); /* NULL is fine */

/* All parameters and gradients in one array each, of model->count elements. */
void model_use_arrays(struct model *model, void *params, void *grads);

/* The sum of the losses of all targets that are not -1, and their number. The batch stays as
 * it is until the backward pass has returned. */
int model_forward(struct model *model, const struct model_batch *batch, double *loss_sum,
                  int *targets, struct error *err);

/* Add the gradient of scale * loss_sum of the last forward pass to model->grads. A mean
 * over targets, accumulation steps and ranks, and the loss scale, are all in scale. */
int model_backward(struct model *model, double scale, struct error *err);

/* The last forward pass had a loss that is not finite: whose output is the first that is not, as
 * "block 3 of 12". */
void model_name_bad(const struct model *model, struct error *where);

/* Make room for such batches: so many bytes that a pass keeps of its blocks. -1 with err. */
int model_activations(struct model *model, int64_t sequences, int64_t length, size_t *bytes,
                      struct error *err);

/* What the last forward pass gave for its targets, in their order: rows of
 * config.vocabulary elements. The backward pass overwrites them. */
const void *model_logits(const struct model *model);

/* Initial values of count elements from first on, of the flat array. Each is a function
 * of seed and its own place, so that any partition gives the same model. */
void model_initial_values(const struct model *model, uint64_t seed, size_t first,
                          size_t count, float *values);

/* The parameter that holds this element, or NULL in padding. */
const struct model_param *model_param_at(const struct model *model, size_t offset);
/* NULL: there is none of that name. */
const struct model_param *model_param_named(const struct model *model, const char *name);

#endif
