/* model_run.c - the memory of a model's passes, see model_run.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/model_run.h"

#include <stdlib.h>

#include "xalloc.h"

static bool  fits(const struct model *model, int sequences, int length);
static void  make_run(struct model *model, int sequences, int length);
static void  make_blocks(struct model *model);
static void  make_parked(struct model *model);
static size_t in_bytes(const struct model *model);
static void  bring(struct model *model, int block);
static void  make_block(struct model *model, struct block_run *block);
static void  make_gradients(struct model *model);
static void  make_adapters(struct model *model);
static void *angles_of(struct model *model);
static void *rows_of(struct model *model, int width);
static void *stats_of(struct model *model, int each);
static void *attention_of(struct model *model);
static void *room(struct model *model, size_t bytes);
static void  release_run(struct model *model);
static void  release_head(struct model *model);

int model_run_fit(struct model *model, int sequences, int length, struct error *err)
{
    struct model_run *run = model->run;

    if (run != NULL && fits(model, sequences, length))
        return model->ops->check(model->ops, err);
    if (run == NULL)
        run = model->run = xcalloc(1, sizeof *run);
    release_run(model);
    make_run(model, sequences, length);
    if (model->ops->check(model->ops, err) == 0)
        return 0;
    release_run(model);
    run->sequences = 0;
    return -1;
}

void model_run_needs(struct model *model, int sequences, int length, size_t *bytes,
                     size_t *parked)
{
    const size_t      row = (size_t)model->config.vocabulary + 5 * (size_t)model->config.width;
    struct model_run *run = model->run, plan = { .is_plan = true };
    int               rows = sequences * length;

    model->run = &plan;
    make_run(model, sequences, length);
    if (model->family == &bert_family)
        rows /= 8; /* the others have no target */
    if (rows > model->head_rows)
        rows = model->head_rows;
    *bytes = plan.taken + (size_t)rows * row * dtype_size(model->type);
    *parked = plan.parked_bytes;
    release_run(model);
    model->run = run;
}

static void make_run(struct model *model, int sequences, int length)
{
    const int         width = model->config.width;
    struct model_run *run = model->run;

    run->sequences = sequences;
    run->length = length;
    run->rows = sequences * length;
    run->drops = model->drops;
    run->recomputes = model->recomputes;
    run->parks = model->recomputes && model->parks;
    make_blocks(model);
    run->bytes = run->taken;
    run->parked_bytes = run->parks ? (size_t)model->config.blocks * in_bytes(model) : 0;
    if (model->family == &bert_family) {
        run->embedded = rows_of(model, width);
        run->stats = stats_of(model, 1);
    }
    if (model_is_llama(model))
        run->angles = angles_of(model);
    run->out = rows_of(model, width);
    make_gradients(model);
    make_adapters(model);
    if (model->wide_count > 0)
        run->wide = room(model, model_wide_bytes(model));
}

static bool fits(const struct model *model, int sequences, int length)
{
    const struct model_run *run = model->run;

    return run->sequences == sequences && run->length == length && run->drops == model->drops &&
           run->recomputes == model->recomputes &&
           run->parks == (model->recomputes && model->parks);
}

/* With recomputing, all blocks share the memory of one, except for their inputs. */
static void make_blocks(struct model *model)
{
    struct model_run *run = model->run;
    const int         width = model->config.width;
    int               i;

    run->block = xcalloc((size_t)model->config.blocks, sizeof *run->block);
    for (i = 0; i < model->config.blocks; i++) {
        if (i > 0 && model->recomputes)
            run->block[i] = run->block[0];
        else
            make_block(model, &run->block[i]);
        run->block[i].in = run->parks && i >= OPS_LANES ? run->block[i - OPS_LANES].in
                                                        : rows_of(model, width);
    }
    if (model->recomputes)
        run->again = rows_of(model, width);
    if (run->parks && !run->is_plan)
        make_parked(model);
}

static void make_parked(struct model *model)
{
    struct model_run *run = model->run;
    int               i;

    run->parked = xcalloc((size_t)model->config.blocks, sizeof *run->parked);
    for (i = 0; i < model->config.blocks; i++)
        run->parked[i] = model->ops->host_alloc(model->ops, in_bytes(model));
    for (i = 0; i < OPS_LANES; i++)
        run->there[i] = -1;
}

static size_t in_bytes(const struct model *model)
{
    return (size_t)model->run->rows * (size_t)model->config.width * dtype_size(model->type);
}

static void make_block(struct model *model, struct block_run *block)
{
    const int width = model->config.width, q = model_q_row(model), k = model_k_row(model);
    int       i;

    block->normed1 = rows_of(model, width);
    block->stats1 = stats_of(model, 1);
    block->qkv = rows_of(model, q + 2 * k);
    if (model->config.head_norm) {
        block->turned = rows_of(model, q + k);
        block->q_stats = stats_of(model, q / model_head_width(&model->config));
        block->k_stats = stats_of(model, k / model_head_width(&model->config));
    }
    block->kept = attention_of(model);
    block->mixed = rows_of(model, q);
    block->sum1 = rows_of(model, width);
    if (model->family == &bert_family)
        block->sum2 = rows_of(model, width);
    else
        block->normed2 = rows_of(model, width);
    block->stats2 = stats_of(model, 1);
    block->inner = rows_of(model, model_inner_row(model));
    block->active = rows_of(model, model->config.inner);
    for (i = 0; i < PLACE_LINEARS; i++)
        if (adapters_row(model, i) > 0)
            block->low[i] = rows_of(model, adapters_row(model, i));
}

static void make_gradients(struct model *model)
{
    struct model_run *run = model->run;
    const int         width = model->config.width, q = model_q_row(model);
    const int         qkv = q + 2 * model_k_row(model);

    run->d = rows_of(model, width);
    run->row = rows_of(model, width > q ? width : q);
    run->dinner = rows_of(model, model_inner_row(model));
    run->dactive = model_is_llama(model) ? rows_of(model, model->config.inner) : run->dinner;
    run->dqkv = rows_of(model, width > qkv ? width : qkv);
    run->scratch = attention_of(model);
}

/* What adapters use for one linear layer after the other. */
static void make_adapters(struct model *model)
{
    const int inputs[] = { model->config.width, model_q_row(model), model->config.inner };
    int       row = 0, in = 0, i;

    for (i = 0; i < PLACE_LINEARS; i++)
        row = adapters_row(model, i) > row ? adapters_row(model, i) : row;
    for (i = 0; i < 3; i++)
        in = inputs[i] > in ? inputs[i] : in;
    if (row > 0)
        model->run->dlow = rows_of(model, row);
    if (row > 0 && model->lora_dropout > 0)
        model->run->dropped = rows_of(model, in);
}

size_t model_wide_bytes(const struct model *model)
{
    return model->wide_count * dtype_size(model->type);
}

static void *angles_of(struct model *model)
{
    const int    width = model_head_width(&model->config);
    const size_t count = (size_t)model->run->length * (size_t)width;
    void        *angles = room(model, count * model->ops->stat_size);
    double      *table;
    float       *narrow;
    size_t       i;

    if (model->run->is_plan)
        return NULL;
    table = xcalloc(count, sizeof *table);
    narrow = xcalloc(count, sizeof *narrow);
    rope_table(&model->config.rope, width, model->run->length, table);
    for (i = 0; i < count; i++)
        narrow[i] = (float)table[i];
    if (angles != NULL)
        model->ops->write(model->ops, angles,
                          model->ops->stat_size == sizeof *table ? (void *)table : narrow,
                          count * model->ops->stat_size);
    free(table);
    free(narrow);
    return angles;
}

static void *rows_of(struct model *model, int width)
{
    return room(model, (size_t)model->run->rows * (size_t)width * dtype_size(model->type));
}

/* each: vectors in a row that are normed. */
static void *stats_of(struct model *model, int each)
{
    return room(model, (size_t)model->run->rows * 2 * (size_t)each * model->ops->stat_size);
}

static void *attention_of(struct model *model)
{
    const struct attention shape = model_attention(model, 1);

    return room(model, model->ops->attention_bytes(model->ops, &shape));
}

static void *room(struct model *model, size_t bytes)
{
    struct model_run *run = model->run;

    run->taken += bytes;
    if (run->is_plan)
        return NULL;
    if (run->memory_count % 64 == 0)
        run->memory = xreallocarray(run->memory, (size_t)run->memory_count + 64,
                                    sizeof *run->memory);
    return run->memory[run->memory_count++] = model->ops->alloc(model->ops, bytes);
}

/* The number of targets changes with every batch, so the memory grows by at least a quarter. */
int head_run_fit(struct model *model, int count, struct error *err)
{
    struct head_run *head = &model->run->head;
    struct ops      *ops = model->ops;
    size_t           rows, bytes, all;

    if (count <= head->room)
        return 0;
    rows = (size_t)count + (size_t)count / 4;
    if (rows > (size_t)model->run->rows)
        rows = (size_t)model->run->rows;
    if (count <= model->head_rows && rows > (size_t)model->head_rows)
        rows = (size_t)model->head_rows;
    release_head(model);
    bytes = rows * (size_t)model->config.width * dtype_size(model->type);
    all = rows * (size_t)model->config.vocabulary * dtype_size(model->type);
    head->picked = ops->alloc(ops, bytes);
    head->dense = ops->alloc(ops, bytes);
    head->active = ops->alloc(ops, bytes);
    head->normed = ops->alloc(ops, bytes);
    head->dpicked = ops->alloc(ops, bytes);
    head->dnormed = ops->alloc(ops, bytes);
    head->stats = ops->alloc(ops, rows * 2 * ops->stat_size);
    head->losses = ops->alloc(ops, rows * ops->stat_size);
    head->logits = ops->alloc(ops, all);
    if (ops->check(ops, err) < 0)
        return -1;
    head->room = (int)rows;
    return 0;
}

void model_run_free(struct model *model)
{
    if (model->run == NULL)
        return;
    release_run(model);
    release_head(model);
    free(model->run->head.all_index);
    free(model->run->head.all_targets);
    free(model->run);
    model->run = NULL;
}

static void release_run(struct model *model)
{
    struct model_run *run = model->run;
    int               i;

    while (run->memory_count > 0)
        model->ops->release(model->ops, run->memory[--run->memory_count]);
    for (i = 0; run->parked != NULL && i < model->config.blocks; i++)
        model->ops->host_release(model->ops, run->parked[i]);
    free(run->parked);
    free(run->memory);
    free(run->block);
    run->parked = NULL;
    run->memory = NULL;
    run->block = NULL;
    run->taken = 0;
}

static void release_head(struct model *model)
{
    struct head_run *head = &model->run->head;
    struct ops      *ops = model->ops;

    ops->release(ops, head->picked);
    ops->release(ops, head->dense);
    ops->release(ops, head->active);
    ops->release(ops, head->normed);
    ops->release(ops, head->dpicked);
    ops->release(ops, head->dnormed);
    ops->release(ops, head->stats);
    ops->release(ops, head->losses);
    ops->release(ops, head->logits);
    head->room = 0;
}

/* ---- inputs on the host ---- */

void park_before(struct model *model, int block)
{
    const int lane = block % OPS_LANES;

    if (!model->run->parks || block == model->config.blocks)
        return;
    model->ops->settle(model->ops, lane);
    model->run->there[lane] = block;
}

void park_after(struct model *model, int block)
{
    struct model_run *run = model->run;

    if (run->parks)
        model->ops->park(model->ops, block % OPS_LANES, run->parked[block], run->block[block].in,
                         in_bytes(model));
}

void park_back(struct model *model, int block)
{
    if (!model->run->parks)
        return;
    bring(model, block);
    model->ops->settle(model->ops, block % OPS_LANES);
    if (block > 0)
        bring(model, block - 1);
}

static void bring(struct model *model, int block)
{
    struct model_run *run = model->run;
    const int         lane = block % OPS_LANES;

    if (run->there[lane] == block)
        return;
    model->ops->bring(model->ops, lane, run->block[block].in, run->parked[block],
                      in_bytes(model));
    run->there[lane] = block;
}

bool model_is_llama(const struct model *model)
{
    return model_config_is_llama(&model->config);
}

int model_q_row(const struct model *model)
{
    return model->config.heads * model_head_width(&model->config);
}

int model_k_row(const struct model *model)
{
    return model_kv_heads(&model->config) * model_head_width(&model->config);
}

int model_inner_row(const struct model *model)
{
    return model->config.inner * (model_is_llama(model) ? 2 : 1);
}

struct norm model_norm(const struct model *model, int rows)
{
    const int width = model->config.width;

    return (struct norm){ .rows = rows, .width = width, .each = 1, .x_row = width,
                          .out_row = width, .centered = !model_is_llama(model),
                          .epsilon = model->config.norm_epsilon };
}

struct attention model_attention(const struct model *model, int layer)
{
    const struct model_config *c = &model->config;
    const bool                 is_causal = model->family != &bert_family;

    return (struct attention){ .sequences = model->run->sequences,
                               .length = model->run->length,
                               .heads = c->heads,
                               .kv_heads = model_kv_heads(c),
                               .head_width = model_head_width(c),
                               .causal = is_causal,
                               .window = layer > c->full_blocks ? c->window : 0,
                               .begins = is_causal ? model->run->begins : NULL,
                               .drop = model_dropout(model, layer, DROP_WEIGHTS) };
}

struct qkv model_qkv(const struct model *model, void *rows)
{
    const size_t size = dtype_size(model->type);
    const int    q = model_q_row(model), k = model_k_row(model);

    return (struct qkv){ .q = rows, .k = (char *)rows + (size_t)q * size,
                         .v = (char *)rows + (size_t)(q + k) * size,
                         .q_row = q + 2 * k, .k_row = q + 2 * k, .v_row = q + 2 * k };
}
