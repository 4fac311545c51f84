/* llama.c - Llama's family: Llama, Mistral, Qwen2, Qwen3; prenorm.c has its blocks
 *
 * Weights are stored as [out][in], as in PyTorch's Linear. Those of query, key and value are
 * adjacent, and so are those of gate and up, so that one product computes all of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>

#include "model/model_run.h"

static int add_linear(struct model *model, int block, const char *name, int out, int in,
                      bool together);
static int add_bias(struct model *model, int block, const char *name, int out, bool together);
static int add_norm(struct model *model, int block, const char *name, int width);
static int add(struct model *model, int block, const char *name, const char *end, size_t rows,
               size_t columns, enum model_init init, bool together);

static void list_embeddings(struct model *model)
{
    const struct model_config *c = &model->config;

    model_add_param(model, "model.embed_tokens.weight", (size_t)c->vocabulary, (size_t)c->width,
                    MODEL_INIT_NORMAL, c->deviation, false);
}

static void list_block(struct model *model, int block)
{
    const struct model_config *c = &model->config;
    struct model_places       *p = model->places;
    const int                  q = model_q_row(model), k = model_k_row(model);

    p->turned = true;
    p->parts[PLACE_QKV] = 3;
    p->parts[PLACE_UP] = 2;
    p->norm[0] = add_norm(model, block, "input_layernorm", c->width);
    p->weight[PLACE_QKV] = add_linear(model, block, "self_attn.q_proj", q, c->width, false);
    add_linear(model, block, "self_attn.k_proj", k, c->width, true);
    add_linear(model, block, "self_attn.v_proj", k, c->width, true);
    if (c->qkv_bias) {
        p->bias[PLACE_QKV] = add_bias(model, block, "self_attn.q_proj", q, false);
        add_bias(model, block, "self_attn.k_proj", k, true);
        add_bias(model, block, "self_attn.v_proj", k, true);
    }
    if (c->head_norm) {
        p->q_norm = add_norm(model, block, "self_attn.q_norm", model_head_width(c));
        p->k_norm = add_norm(model, block, "self_attn.k_norm", model_head_width(c));
    }
    p->weight[PLACE_PROJECT] = add_linear(model, block, "self_attn.o_proj", c->width, q, false);
    if (c->project_bias)
        p->bias[PLACE_PROJECT] = add_bias(model, block, "self_attn.o_proj", c->width, false);
    p->norm[1] = add_norm(model, block, "post_attention_layernorm", c->width);
    p->weight[PLACE_UP] = add_linear(model, block, "mlp.gate_proj", c->inner, c->width, false);
    add_linear(model, block, "mlp.up_proj", c->inner, c->width, true);
    p->weight[PLACE_DOWN] = add_linear(model, block, "mlp.down_proj", c->width, c->inner, false);
    if (c->inner_bias) {
        p->bias[PLACE_UP] = add_bias(model, block, "mlp.gate_proj", c->inner, false);
        add_bias(model, block, "mlp.up_proj", c->inner, true);
        p->bias[PLACE_DOWN] = add_bias(model, block, "mlp.down_proj", c->width, false);
    }
}

static void list_head(struct model *model)
{
    const struct model_config *c = &model->config;

    model->places->last_norm = model_add_param(model, "model.norm.weight", (size_t)c->width, 0,
                                               MODEL_INIT_ONE, 0, false);
    if (c->is_untied)
        model->places->words = model_add_param(model, "lm_head.weight", (size_t)c->vocabulary,
                                               (size_t)c->width, MODEL_INIT_NORMAL, c->deviation,
                                               false);
}

static int add_linear(struct model *model, int block, const char *name, int out, int in,
                      bool together)
{
    return add(model, block, name, "weight", (size_t)out, (size_t)in, MODEL_INIT_NORMAL,
               together);
}

static int add_bias(struct model *model, int block, const char *name, int out, bool together)
{
    return add(model, block, name, "bias", (size_t)out, 0, MODEL_INIT_ZERO, together);
}

static int add_norm(struct model *model, int block, const char *name, int width)
{
    return add(model, block, name, "weight", (size_t)width, 0, MODEL_INIT_ONE, false);
}

static int add(struct model *model, int block, const char *name, const char *end, size_t rows,
               size_t columns, enum model_init init, bool together)
{
    char whole[MODEL_NAME_MAX];

    snprintf(whole, sizeof whole, "model.layers.%d.%s.%s", block, name, end);
    return model_add_param(model, whole, rows, columns, init, model->config.deviation, together);
}

static void embed(struct model *model, const struct model_batch *batch)
{
    model->ops->embed(model->ops, model->run->block[0].in, batch->tokens,
                      layer_param(model, 0, 0), NULL, NULL, model->run->rows,
                      model->run->length, model->config.width);
    drop_rows(model, 0, DROP_EMBEDDED, model->run->block[0].in, model->run->block[0].in);
}

static void embed_backward(struct model *model, const struct model_batch *batch)
{
    drop_rows(model, 0, DROP_EMBEDDED, model->run->d, model->run->d);
    model->ops->embed_backward(model->ops, layer_grad(model, 0, 0), NULL, model->run->d,
                               batch->tokens, model->run->rows, model->run->length,
                               model->config.width);
}

const struct model_family llama_family = {
    .list_embeddings = list_embeddings,
    .list_block = list_block,
    .list_head = list_head,
    .embed = embed,
    .embed_backward = embed_backward,
    .block = prenorm_block,
    .block_backward = prenorm_block_backward,
    .head = prenorm_head,
    .head_backward = prenorm_head_backward,
};
