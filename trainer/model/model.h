/* model.h - a transformer as a list of layers over one flat array of parameters
 *
 * A model knows the names and offsets of its parameters, but does not own their memory.
 * The trainer owns it (for all parameters, or for a share and the rest on demand); the
 * model calls the trainer's hooks before and after each layer. One pass over GPT-2 with
 * two blocks:
 *
 *     layer   0 embeddings   1 block   2 block   3 head (tied to layer 0)
 *
 *     forward   enter 0 · leave 0 · enter 1 · leave 1 · enter 2 · leave 2
 *     backward  enter 3 · enter 0 · leave 0 · leave 3 · done 3 ·
 *               enter 2 · leave 2 · done 2 · enter 1 · leave 1 · done 1 ·
 *               enter 0 · leave 0 · done 0
 *
 * The backward pass computes the loss, too, because the logits of a whole batch would not fit
 * into memory: in Qwen2, 4096 tokens have 1.2 GB in bfloat16. The head computes those of some
 * tokens, their loss and their gradient, and then takes the next tokens.
 *
 * The parameters are in one flat array, layer by layer. Each starts at a multiple of
 * MODEL_ALIGN elements, except those that one matrix product uses together. The padding
 * between them is zero, and so is its gradient.
 *
 * Frozen parameters, which a training does not change, are in an array of their own, which is
 * counted in bytes: model_fill.h. They have no gradient, and the backward pass ends at the first
 * layer that has other parameters. The weights of blocks' linear layers among them may be
 * quantized: when the model enters a block, it decodes them to a room that all blocks share.
 *
 *     model_new -> [model_forward -> model_backward]... -> model_free
 *     model_new -> [model_forward -> model_loss or model_logits]... -> model_free
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MODEL_H
#define MUSTER_MODEL_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/dtype.h"
#include "err.h"
#include "model/model_config.h"
#include "model/quant.h"

struct lora;
struct ops;

#define MODEL_ALIGN    32 /* elements; 64 bytes in bfloat16 */
#define MODEL_BYTES    64 /* the same for frozen parameters */
#define MODEL_NAME_MAX 96

struct model_param {
    char   name[MODEL_NAME_MAX]; /* Hugging Face's: "h.0.attn.c_attn.weight" */
    int    layer;
    int    dims; /* 1 or 2 */
    size_t shape[2];
    size_t offset, count; /* elements, in the flat array; if frozen, offset is in bytes */
    bool   is_frozen;
    bool   is_adapter; /* A or B of LoRA */
    bool   is_spared;  /* weight decay leaves it alone */
    bool   is_quantized;
    size_t wide_offset; /* elements, in the room for decoded weights, if it is quantized */
    enum model_init {
        MODEL_INIT_ZERO,
        MODEL_INIT_ONE,
        MODEL_INIT_NORMAL,
        MODEL_INIT_UNIFORM, /* from -deviation to deviation */
    } init;
    float deviation;
};

struct model_layer {
    char   name[24];      /* "embeddings", "block 3", "head" */
    size_t offset, count; /* elements, in the flat array, including padding */
    size_t frozen_offset, frozen_bytes; /* the same of the array of frozen parameters */
    size_t wide_count; /* elements of the room for decoded weights that it needs */
    int    first_param, param_count;
    int    tied; /* the layer also uses this layer's parameters; -1: only its own */
};

enum model_pass { MODEL_FORWARD, MODEL_BACKWARD };

/* All return 0, or -1 with the reason in err, which makes the pass fail. A NULL function is
 * not called. */
struct model_hooks {
    void *arg;
    /* On return, model->params[layer] points to the layer's parameters, model->frozen[layer] to
     * the frozen ones, and in the backward pass model->grads[layer] points to the memory to which
     * the gradient is added. */
    int (*enter)(void *arg, int layer, enum model_pass pass, struct error *err);
    /* The hook may free the parameters. The gradient's memory must stay until done. */
    int (*leave)(void *arg, int layer, enum model_pass pass, struct error *err);
    /* This backward pass adds nothing more to the layer's gradient. */
    int (*done)(void *arg, int layer, struct error *err);
};

/* Sequences of the same length, in the host's memory. */
struct model_batch {
    int            sequences, length;
    const int32_t *tokens;  /* [sequences][length] */
    const int32_t *targets; /* [sequences][length]; -1: no target, no loss */
    const int32_t *begins;  /* of documents, see struct attention; NULL: one per sequence */
    uint64_t       sample;  /* the first sequence's number in the training, for dropout */
};

/* What a training changes; all zero: every parameter. */
struct model_tuning {
    const struct lora *lora;   /* its adapters and what it saves, and nothing else */
    const regex_t     *freeze; /* all but the parameters whose names have a match */
    enum quant         quantize; /* the frozen weights of blocks' linear layers */
};

struct model_family; /* GPT-2, BERT or Llama: model_run.h */
struct model_places;

struct model {
    struct model_config        config;
    const struct model_family *family;
    struct model_places       *places; /* where a layer has its parameters: model_run.h */
    struct ops                *ops;
    enum dtype                 type; /* of parameters, gradients and activations: ops->type */

    struct model_layer *layer;
    int                 layers;
    struct model_param *param;
    int                 param_count;
    size_t              count; /* elements of the flat array, including padding */
    size_t              frozen_bytes; /* of the array of frozen parameters */
    enum quant          quantize; /* how quantized parameters are stored */
    size_t              wide_count; /* elements of the room for a block's decoded weights */
    int                 first_trained; /* the first layer that has other parameters */
    const struct model_tuning *tuning; /* NULL, except while parameters are listed */
    double              lora_scale, lora_dropout;

    /* The trainer sets these, at the latest in enter. Element i of each points to layer i's
     * part of the flat array; the parts need not be in one array. */
    void **params, **grads, **frozen;

    /* The trainer sets these before the first pass. */
    bool     drops; /* do the dropout that config asks for */
    uint64_t drop_seed;
    bool     recomputes; /* keep only each block's input, and compute the rest again */
    bool     parks;      /* if so, keep these inputs in the host's memory */
    int      head_rows;  /* tokens whose logits are in memory at a time */

    struct model_hooks hooks;
    struct model_run  *run; /* activations: model_run.h */
};

/* Returns a model that computes with ops, which must outlive it. NULL with err if config is
 * invalid. */
struct model *model_new(const struct model_config *config, struct ops *ops,
                        struct error *err);
/* Freezes parameters and adds adapters, too. Is an error if nothing is trained then, nothing is
 * frozen, a target is no linear layer of a block, or nothing is there to be quantized. tuning is
 * not kept; NULL: none. */
struct model *model_new_tuned(const struct model_config *config,
                              const struct model_tuning *tuning, struct ops *ops,
                              struct error *err);
void model_free(struct model *model); /* NULL is fine */

/* Makes weight decay spare the parameters in whose names regex has a match; NULL: it spares none.
 * Without this call it spares biases and the weights of norms. -1 with err if no parameter that is
 * trained has a match. */
int model_spare(struct model *model, const regex_t *regex, struct error *err);

/* Uses one array for all parameters and one for all gradients, each of model->count
 * elements. */
void model_use_arrays(struct model *model, void *params, void *grads);
/* Uses one array of model->frozen_bytes bytes. */
void model_use_frozen(struct model *model, void *frozen);

/* Computes the layers before the head. The caller must not change the batch until one of the
 * functions below has returned. */
int model_forward(struct model *model, const struct model_batch *batch, struct error *err);

/* Computes the sum of the losses of the targets of the last forward pass that are not -1, and
 * adds the gradient of scale times this sum to model->grads. scale includes the mean over
 * targets, accumulation steps and ranks, and the loss scale. */
int model_backward(struct model *model, double scale, double *loss_sum, struct error *err);

/* Computes the sum of the losses alone, and the number of targets. */
int model_loss(struct model *model, double *loss_sum, int *targets, struct error *err);

/* Returns the logits for all targets that are not -1, in their order: rows of
 * config.vocabulary elements, until the next call. NULL with err. */
const void *model_logits(struct model *model, struct error *err);

/* Call it if the loss is not finite: names the first layer whose output is not finite, as in
 * "block 3 of 12". */
void model_name_bad(struct model *model, struct error *where);

/* Allocates memory for batches of this size. bytes: what a pass keeps of its blocks; parked: and
 * in the host's memory. -1 with err. */
int model_activations(struct model *model, int64_t sequences, int64_t length, size_t *bytes,
                      size_t *parked, struct error *err);

/* The same without allocating it. bytes: all that passes of this size take, the head included. */
int model_needs(struct model *model, int64_t sequences, int64_t length, size_t *bytes,
                size_t *parked, struct error *err);

/* Returns the bytes of the room for decoded weights, which model_activations() allocates, too. */
size_t model_wide_bytes(const struct model *model);

/* Computes the initial values of count elements of the flat array, from first on. Each value
 * depends only on seed, the parameter's name, and the element's number in it: so any partition
 * gives the same model, and so does any tuning. */
void model_initial_values(const struct model *model, uint64_t seed, size_t first,
                          size_t count, float *values);
/* The same for elements of one parameter. */
void model_initial_param(const struct model_param *param, uint64_t seed, size_t first,
                         size_t count, float *values);

/* Returns the parameter that contains this element of the flat array, or NULL in padding. */
const struct model_param *model_param_at(const struct model *model, size_t offset);
/* Returns NULL for an unknown name. */
const struct model_param *model_param_named(const struct model *model, const char *name);

#endif
