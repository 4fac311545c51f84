/* model_run.h - the state that a model keeps between passes, and the interface of families
 *
 * For use only in model/.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MODEL_RUN_H
#define MUSTER_MODEL_RUN_H

#include "model/model.h"
#include "model/ops.h"

/* A block's linear layers. */
enum { PLACE_QKV, PLACE_PROJECT, PLACE_UP, PLACE_DOWN, PLACE_LINEARS };
#define PARTS_MAX 3

/* Data that a block's forward pass keeps for its backward pass: [rows][...], one row per
 * token. */
struct block_run {
    void *in;      /* [width] */
    void *normed1; /* [width] */
    void *stats1;
    void *qkv;     /* [queries, keys, values] */
    void *turned;  /* [queries, keys] after norm and rotation, if the model norms heads */
    void *q_stats, *k_stats;
    void *kept;    /* of ops->attention_bytes() bytes */
    void *mixed;   /* [queries], the heads' outputs */
    void *sum1;    /* [width] */
    void *normed2; /* [width]; not BERT */
    void *stats2;
    void *inner;   /* [inner], before GELU; [2 * inner], before SwiGLU */
    void *active;  /* [inner], after it */
    void *sum2;    /* [width]; BERT only */
    void *low[PLACE_LINEARS]; /* [adapters of the linear layer][rank], times the scale */
};

/* The rows that have a target, and the head's results for some of them. */
struct head_run {
    int      all, all_room;         /* rows that have a target; allocated ones */
    int32_t *all_index, *all_targets; /* the row's number in the batch, its target */

    int            count, room; /* the rows that the head has now; allocated ones */
    const int32_t *index, *targets;
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
    const int32_t    *begins;                  /* of the batch */
    struct block_run *block;
    void             *embedded, *stats; /* BERT only: the first norm's input and stats */
    void             *angles; /* Llama only: for ops->rotate */
    void             *out;              /* [width], the last block's output */
    void             *again;            /* [width], the output of a block that recomputes */
    struct head_run   head;
    struct model_batch batch; /* of the last forward pass; tokens NULL: none */
    void             *d;         /* [width], the gradient of the current layer */
    void             *row;       /* scratch, [width] or [queries] */
    void             *dinner, *dactive; /* of inner and active; GPT-2 and BERT: the same */
    void             *dqkv;      /* also scratch, [width] */
    void             *scratch;   /* for ops->attention_backward */
    void             *dlow;      /* of low */
    void             *dropped;   /* an adapter's input, if it has dropout */
    void             *wide;      /* decoded weights of the block that has been entered */
    void            **memory; /* all of the above from ops->alloc, except the head's */
    int               memory_count;
    size_t            taken, bytes; /* of memory; of only the blocks' activations */
    size_t            parked_bytes;
    void            **parked;   /* each block's input on the host; NULL: they are in the blocks */
    int               there[OPS_LANES]; /* the block whose input is in the lane; -1: none */
    bool              drops, recomputes, parks; /* the settings that memory was allocated for */
    bool              is_plan; /* memory is only counted */
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
extern const struct model_family gpt2_family, bert_family, llama_family;

/* For the list_ functions: adds a parameter to the layer that is being listed, and returns its
 * number in the layer. columns 0: it has one dimension. together: no padding between the
 * previous parameter and this one. */
int model_add_param(struct model *model, const char *name, size_t rows, size_t columns,
                    enum model_init init, double deviation, bool together);

/* adapters.c: adds the parameters of a block's adapters to the layer that is being listed. When
 * all layers are, adapters_judge() returns -1 with err if a target is no linear layer of a block,
 * or matches something else, too. */
void model_add_adapters(struct model *model, const struct lora *lora);
int  adapters_judge(const struct model *model, const struct lora *lora, struct error *err);

/* Is it of Llama's family? */
bool model_is_llama(const struct model *model);

/* Return the elements of a row of queries, of keys (or values), and of the inner layer before
 * its activation. */
int model_q_row(const struct model *model);
int model_k_row(const struct model *model);
int model_inner_row(const struct model *model);

/* Return the shapes of a block's norm and attention, for the batch that memory is allocated
 * for. */
struct norm      model_norm(const struct model *model, int rows);
struct attention model_attention(const struct model *model, int layer);

/* Returns where rows that a block's first product wrote have their queries, keys and values. */
struct qkv model_qkv(const struct model *model, void *rows);

/* Where dropout applies: the sum of the embeddings; attention's weights; the output of
 * attention; the output of a block's second half; the input of the adapters of a linear layer,
 * which is DROP_ADAPTERS + its place. */
enum drop_site {
    DROP_EMBEDDED,
    DROP_WEIGHTS,
    DROP_MIXED,
    DROP_DOWN,
    DROP_ADAPTERS,
    DROP_SITES = DROP_ADAPTERS + PLACE_LINEARS
};
struct dropout model_dropout(const struct model *model, int layer, enum drop_site site);
/* Drops from rows of the model's width, or from their gradients. Returns room, which may be x,
 * or x itself if there is no dropout. */
const void *drop_rows(struct model *model, int layer, enum drop_site site, void *room,
                      const void *x);

/* Return a layer's parameter by its number in the layer, and its gradient; NULL for -1. The
 * gradient of a frozen one is NULL. */
const void *layer_param(const struct model *model, int layer, int number);
void       *layer_grad(const struct model *model, int layer, int number);

/* The adapters of a linear layer: which of its parts have one, and the numbers of the first A and
 * of the first B. The others follow, and the A are adjacent in memory, so that one product computes
 * with all of them. */
struct adapters {
    int count, part[PARTS_MAX];
    int rank, a, b;
};

/* A linear layer: its parameters, and its numbers of inputs and outputs. Its weight and its bias
 * may have parts, with numbers that follow each other, and some of the outputs each. */
struct linear {
    int  layer, weight, bias, parts;
    int  in, out;
    bool turned; /* stored as [out][in], as in PyTorch's Linear; otherwise [in][out], one part */
    int  place;  /* PLACE_...; -1: not of a block */
};
/* Parameters by their numbers in the layer; -1: the model has none. The parts of a block's linear
 * layers are queries, keys and values, and, in Llama's family, gate and up. They are adjacent, so
 * that one product computes all of them, unless only some of them are frozen. */
struct model_places {
    int  norm[2], norm_bias[2]; /* of a block */
    int  q_norm, k_norm;
    int  weight[PLACE_LINEARS], bias[PLACE_LINEARS], parts[PLACE_LINEARS];
    struct adapters adapters[PLACE_LINEARS];
    bool turned; /* as in struct linear */
    int  last_norm, last_norm_bias; /* of the head; not BERT */
    int  words;                     /* of the head; -1: it is tied to the embeddings */
};

/* The sizes of a block, and its four linear layers. */
struct block_parts {
    int              rows, width;
    int              inner_width;
    struct norm      norm;
    struct attention heads;
    struct linear    qkv, project, up, down;
};
struct block_parts block_parts(const struct model *model, int layer);

void linear_forward(struct model *model, const struct linear *linear, void *out, const void *x,
                    int rows);
/* add: adds to dx instead of writing it. */
void linear_backward(struct model *model, const struct linear *linear, void *dx, bool add,
                     const void *dout, const void *x, int rows);

/* adapters_forward() adds what the layer's adapters make of x to out; adapters_backward() adds
 * their part of the gradient to dx, and their own. Both do nothing if it has none. */
void adapters_forward(struct model *model, const struct linear *linear, void *out, const void *x,
                      int rows);
void adapters_backward(struct model *model, const struct linear *linear, void *dx,
                       const void *dout, const void *x, int rows);
/* Returns the elements of a row of block_run.low. */
int  adapters_row(const struct model *model, int place);

/* Blocks and heads with a norm before each sublayer: of GPT-2 and of Llama's family. */
void prenorm_block(struct model *model, int layer, struct block_run *run, void *out);
void prenorm_block_backward(struct model *model, int layer, struct block_run *run);
void prenorm_head(struct model *model, int layer, struct head_run *run);
void prenorm_head_backward(struct model *model, int layer, struct head_run *run);

/* words_forward() computes the logits, the product with each token's vector: its embedding,
 * which is the first parameter of layer 0, or a parameter of the head. bias may be NULL.
 * words_backward() writes the gradient of normed to dnormed. */
void words_forward(struct model *model, int layer, struct head_run *head, const void *bias);
void words_backward(struct model *model, int layer, struct head_run *head);

/* Allocates memory for a batch of this size, and keeps it until a batch of another size
 * comes. */
int model_run_fit(struct model *model, int sequences, int length, struct error *err);
/* See model_needs(). */
void model_run_needs(struct model *model, int sequences, int length, size_t *bytes,
                     size_t *parked);
/* With model->parks, the blocks' inputs, counted from 0, take turns in the memory of two. Call
 * park_before() before a block's input is computed, and park_after() when the block has used it.
 * park_back() makes it be there again, and begins to bring that of the block before it. */
void park_before(struct model *model, int block);
void park_after(struct model *model, int block);
void park_back(struct model *model, int block);

/* Allocates memory for the logits of count tokens at a time. */
int head_run_fit(struct model *model, int count, struct error *err);
void model_run_free(struct model *model);

#endif
