/* model_run.h - what a model keeps between its passes, and what families have to do
 *
 * Within model/ only.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MODEL_RUN_H
#define MUSTER_MODEL_RUN_H

#include "model/model.h"
#include "model/ops.h"

/* What a block's forward pass keeps for its backward pass. [rows][...], row = a token. */
struct block_run {
    void *in;      /* [width] */
    void *normed1; /* [width] */
    void *stats1;
    void *qkv;     /* [3 * width] */
    void *weights; /* ops->attention_bytes of it */
    void *mixed;   /* [width], the heads' outputs */
    void *sum1;    /* [width] */
    void *normed2; /* [width]; GPT-2 only */
    void *stats2;
    void *inner;   /* [inner], before GELU */
    void *active;  /* [inner], behind it */
    void *sum2;    /* [width]; BERT only */
};

/* The rows that have a target, and what the head makes of them. */
struct head_run {
    int      count, room;     /* rows */
    int32_t *index, *targets; /* the row's number among all, its target */
    void    *picked;          /* [width] */
    void    *dense, *active;  /* [width]; BERT only */
    void    *normed;          /* [width] */
    void    *stats, *losses;
    void    *logits;          /* [vocabulary] */
    void    *dpicked, *dnormed; /* [width] */
};

struct model_run {
    int               sequences, length, rows; /* rows: of both */
    uint64_t          sample;                  /* of the first sequence */
    struct block_run *block;
    void             *embedded, *stats; /* BERT: before its first norm */
    void             *out;              /* [width], the last block's */
    void             *again;            /* likewise, of a block that computes once more */
    struct head_run   head;
    struct model_batch batch; /* of the last forward pass; tokens NULL: there is none */
    void             *d, *row;  /* [width]: the gradient on its way down; scratch */
    void             *dinner, *dqkv, *dweights;
    void            **memory; /* all of the above that ops->alloc made, but the head's */
    int               memory_count;
    size_t            taken, bytes; /* of memory; of the blocks' activations alone */
    bool              drops, recomputes; /* what there is room for */
};

/* Layers are 0: embeddings, 1 to blocks: blocks, blocks + 1: head. Blocks write what the next
 * one has as in; backward passes find the gradient of what the layer gave in run->d, and leave
 * that of what it took there. */
struct model_family {
    void (*list_embeddings)(struct model *model);
    void (*list_block)(struct model *model, int block);
    void (*list_head)(struct model *model);

    void (*embed)(struct model *model, const struct model_batch *batch);
    void (*embed_backward)(struct model *model, const struct model_batch *batch);
    void (*block)(struct model *model, int layer, struct block_run *run, void *out);
    void (*block_backward)(struct model *model, int layer, struct block_run *run);
    void (*head)(struct model *model, int layer, struct head_run *run); /* up to logits */
    void (*head_backward)(struct model *model, int layer, struct head_run *run); /* to dpicked */
};
extern const struct model_family gpt2_family, bert_family;

/* Used by list_...: a parameter of the layer that is being listed. together: it follows the
 * one before without padding. */
void model_add_param(struct model *model, const char *name, size_t rows, size_t columns,
                     enum model_init init, double deviation, bool together);

/* How the model's blocks use them, with the batch that there is room for. */
struct norm      model_norm(const struct model *model, int rows);
struct attention model_attention(const struct model *model, int layer);

/* The sum of the embeddings; attention's weights; what attention, and what the second half of
 * a block, adds. */
enum drop_site { DROP_EMBEDDED, DROP_WEIGHTS, DROP_MIXED, DROP_DOWN, DROP_SITES };
struct dropout model_dropout(const struct model *model, int layer, enum drop_site site);
/* Rows of the model's width, or their gradients: in room, which may be x, or x itself without
 * dropout. */
const void *drop_rows(struct model *model, int layer, enum drop_site site, void *room,
                      const void *x);

/* A layer's parameter by its number in the layer, and its gradient. */
const void *layer_param(const struct model *model, int layer, int number);
void       *layer_grad(const struct model *model, int layer, int number);

/* A layer of weights: which parameters, from how many inputs to how many outputs. */
struct linear {
    int  layer, weight, bias;
    int  in, out;
    bool turned; /* stored as [out][in], PyTorch's Linear; otherwise [in][out] */
};
/* Of a block: how large what is in it is, and its four layers of weights. */
struct block_parts {
    int              rows, width;
    size_t           inner; /* elements of all rows */
    struct norm      norm;
    struct attention heads;
    struct linear    qkv, project, up, down;
};
/* weights: the parameters of the four, by their numbers; biases likewise. */
struct block_places {
    int  weights[4], biases[4];
    bool turned;
};
struct block_parts block_parts(const struct model *model, int layer,
                               const struct block_places *places);

void linear_forward(struct model *model, const struct linear *linear, void *out, const void *x,
                    int rows);
/* add: dx += instead of dx =. */
void linear_backward(struct model *model, const struct linear *linear, void *dx, bool add,
                     const void *dout, const void *x, int rows);

/* Logits: a product with each token's embedding, the first parameter of layer 0. bias may be
 * NULL. Backward: the gradient of normed is in dnormed. */
void words_forward(struct model *model, struct head_run *head, const void *bias);
void words_backward(struct model *model, struct head_run *head);

/* Room for a batch of this size, kept until one of another comes. */
int  model_run_fit(struct model *model, int sequences, int length, struct error *err);
int  head_run_fit(struct model *model, int count, struct error *err);
void model_run_free(struct model *model);

#endif
