/* model_run.h - the state that a model keeps between passes, and the interface of families
 *
 * For use only in model/.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MODEL_RUN_H
#define MUSTER_MODEL_RUN_H

#include "model/model.h"
#include "model/ops.h"

/* Data that a block's forward pass keeps for its backward pass: [rows][...], one row per
 * token. */
struct block_run {
    void *in;      /* [width] */
    void *normed1; /* [width] */
    void *stats1;
    void *qkv;     /* [3 * width] */
    void *weights; /* of ops->attention_bytes() bytes */
    void *mixed;   /* [width], the heads' outputs */
    void *sum1;    /* [width] */
    void *normed2; /* [width]; GPT-2 only */
    void *stats2;
    void *inner;   /* [inner], before GELU */
    void *active;  /* [inner], after GELU */
    void *sum2;    /* [width]; BERT only */
};

/* The rows that have a target, and the head's results for them. */
struct head_run {
    int      count, room;     /* rows; room: allocated rows */
    int32_t *index, *targets; /* the row's number in the batch, its target */
    void    *picked;          /* [width] */
    void    *dense, *active;  /* [width]; BERT only */
    void    *normed;          /* [width] */
    void    *stats, *losses;
    void    *logits;          /* [vocabulary] */
    void    *dpicked, *dnormed; /* [width] */
};

struct model_run {
    int               sequences, length, rows; /* rows: sequences * length */
    uint64_t          sample;                  /* of the first sequence */
    struct block_run *block;
    void             *embedded, *stats; /* BERT only: the first norm's input and stats */
    void             *out;              /* [width], the last block's output */
    void             *again;            /* [width], the output of a block that recomputes */
    struct head_run   head;
    struct model_batch batch; /* of the last forward pass; tokens NULL: none */
    void             *d, *row;  /* [width]: the gradient of the current layer; scratch */
    void             *dinner, *dqkv, *dweights;
    void            **memory; /* all of the above from ops->alloc, except the head's */
    int               memory_count;
    size_t            taken, bytes; /* of memory; of only the blocks' activations */
    bool              drops, recomputes; /* the settings that memory was allocated for */
};

/* Layer 0 is the embeddings, layers 1 to blocks are the blocks, and layer blocks + 1 is the
 * head. A block writes its output to the next block's in. A layer's backward pass reads the
 * gradient of its output from run->d and replaces it by the gradient of its input. */
struct model_family {
    void (*list_embeddings)(struct model *model);
    void (*list_block)(struct model *model, int block);
    void (*list_head)(struct model *model);

    void (*embed)(struct model *model, const struct model_batch *batch);
    void (*embed_backward)(struct model *model, const struct model_batch *batch);
    void (*block)(struct model *model, int layer, struct block_run *run, void *out);
    void (*block_backward)(struct model *model, int layer, struct block_run *run);
    void (*head)(struct model *model, int layer, struct head_run *run); /* up to logits */
    void (*head_backward)(struct model *model, int layer, struct head_run *run); /* dpicked */
};
extern const struct model_family gpt2_family, bert_family;

/* For the list_ functions: adds a parameter to the layer that is being listed. together: no
 * padding between the previous parameter and this one. */
void model_add_param(struct model *model, const char *name, size_t rows, size_t columns,
                     enum model_init init, double deviation, bool together);

/* Return the shapes of a block's norm and attention, for the batch that memory is allocated
 * for. */
struct norm      model_norm(const struct model *model, int rows);
struct attention model_attention(const struct model *model, int layer);

/* Returns where rows that a block's first product wrote have their queries, keys and values. */
struct qkv model_qkv(const struct model *model, void *rows);

/* Where dropout applies: the sum of the embeddings; attention's weights; the output of
 * attention; the output of a block's second half. */
enum drop_site { DROP_EMBEDDED, DROP_WEIGHTS, DROP_MIXED, DROP_DOWN, DROP_SITES };
struct dropout model_dropout(const struct model *model, int layer, enum drop_site site);
/* Drops from rows of the model's width, or from their gradients. Returns room, which may be x,
 * or x itself if there is no dropout. */
const void *drop_rows(struct model *model, int layer, enum drop_site site, void *room,
                      const void *x);

/* Return a layer's parameter by its number in the layer, and its gradient. */
const void *layer_param(const struct model *model, int layer, int number);
void       *layer_grad(const struct model *model, int layer, int number);

/* A linear layer: its parameters, and its numbers of inputs and outputs. */
struct linear {
    int  layer, weight, bias;
    int  in, out;
    bool turned; /* stored as [out][in], as in PyTorch's Linear; otherwise [in][out] */
};
/* The sizes of a block, and its four linear layers. */
struct block_parts {
    int              rows, width;
    size_t           inner; /* elements of all rows */
    struct norm      norm;
    struct attention heads;
    struct linear    qkv, project, up, down;
};
/* The parameters of a block's four linear layers, by their numbers in the layer. */
struct block_places {
    int  weights[4], biases[4];
    bool turned;
};
struct block_parts block_parts(const struct model *model, int layer,
                               const struct block_places *places);

void linear_forward(struct model *model, const struct linear *linear, void *out, const void *x,
                    int rows);
/* add: adds to dx instead of writing it. */
void linear_backward(struct model *model, const struct linear *linear, void *dx, bool add,
                     const void *dout, const void *x, int rows);

/* words_forward() computes the logits, the product with each token's embedding, which is the
 * first parameter of layer 0. bias may be NULL. words_backward() writes the gradient of normed
 * to dnormed. */
void words_forward(struct model *model, struct head_run *head, const void *bias);
void words_backward(struct model *model, struct head_run *head);

/* Allocate memory for a batch of this size, and keep it until a batch of another size comes. */
int  model_run_fit(struct model *model, int sequences, int length, struct error *err);
int  head_run_fit(struct model *model, int count, struct error *err);
void model_run_free(struct model *model);

#endif
