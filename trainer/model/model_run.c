/* model_run.c - the memory of a model's passes, see model_run.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/model_run.h"

#include <stdlib.h>

#include "xalloc.h"

static bool  fits(const struct model *model, int sequences, int length);
static void  make_blocks(struct model *model);
static void  make_block(struct model *model, struct block_run *block);
static void *rows_of(struct model *model, size_t width);
static void *stats_of(struct model *model);
static void *weights_of(struct model *model);
static void *room(struct model *model, size_t bytes);
static void  release_run(struct model *model);
static void  release_head(struct model *model);

int model_run_fit(struct model *model, int sequences, int length, struct error *err)
{
    const size_t      width = (size_t)model->config.width;
    struct model_run *run = model->run;

    if (run != NULL && fits(model, sequences, length))
        return model->ops->check(model->ops, err);
    if (run == NULL)
        run = model->run = xcalloc(1, sizeof *run);
    release_run(model);
    run->sequences = sequences;
    run->length = length;
    run->rows = sequences * length;
    run->drops = model->drops;
    run->recomputes = model->recomputes;
    make_blocks(model);
    run->bytes = run->taken;
    if (model->config.kind != MODEL_GPT2) {
        run->embedded = rows_of(model, width);
        run->stats = stats_of(model);
    }
    run->out = rows_of(model, width);
    run->d = rows_of(model, width);
    run->row = rows_of(model, width);
    run->dinner = rows_of(model, (size_t)model->config.inner);
    run->dqkv = rows_of(model, 3 * width);
    run->dweights = weights_of(model);
    if (model->ops->check(model->ops, err) == 0)
        return 0;
    release_run(model);
    run->sequences = 0;
    return -1;
}

static bool fits(const struct model *model, int sequences, int length)
{
    const struct model_run *run = model->run;

    return run->sequences == sequences && run->length == length && run->drops == model->drops &&
           run->recomputes == model->recomputes;
}

/* With recomputing, all blocks share the memory of one, except for their inputs. */
static void make_blocks(struct model *model)
{
    struct model_run *run = model->run;
    const size_t      width = (size_t)model->config.width;
    int               i;

    run->block = xcalloc((size_t)model->config.blocks, sizeof *run->block);
    for (i = 0; i < model->config.blocks; i++) {
        if (i > 0 && model->recomputes)
            run->block[i] = run->block[0];
        else
            make_block(model, &run->block[i]);
        run->block[i].in = rows_of(model, width);
    }
    if (model->recomputes)
        run->again = rows_of(model, width);
}

static void make_block(struct model *model, struct block_run *block)
{
    const size_t width = (size_t)model->config.width, inner = (size_t)model->config.inner;

    block->normed1 = rows_of(model, width);
    block->stats1 = stats_of(model);
    block->qkv = rows_of(model, 3 * width);
    block->weights = weights_of(model);
    block->mixed = rows_of(model, width);
    block->sum1 = rows_of(model, width);
    if (model->config.kind == MODEL_GPT2)
        block->normed2 = rows_of(model, width);
    else
        block->sum2 = rows_of(model, width);
    block->stats2 = stats_of(model);
    block->inner = rows_of(model, inner);
    block->active = rows_of(model, inner);
}

static void *rows_of(struct model *model, size_t width)
{
    return room(model, (size_t)model->run->rows * width * dtype_size(model->type));
}

static void *stats_of(struct model *model)
{
    return room(model, (size_t)model->run->rows * 2 * model->ops->stat_size);
}

static void *weights_of(struct model *model)
{
    const struct attention shape = model_attention(model, 1);

    return room(model, model->ops->attention_bytes(model->ops, &shape));
}

static void *room(struct model *model, size_t bytes)
{
    struct model_run *run = model->run;

    if (run->memory_count % 64 == 0)
        run->memory = xreallocarray(run->memory, (size_t)run->memory_count + 64,
                                    sizeof *run->memory);
    run->taken += bytes;
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
    release_head(model);
    bytes = rows * (size_t)model->config.width * dtype_size(model->type);
    all = rows * (size_t)model->config.vocabulary * dtype_size(model->type);
    head->index = xcalloc(rows, sizeof *head->index);
    head->targets = xcalloc(rows, sizeof *head->targets);
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
    free(model->run);
    model->run = NULL;
}

static void release_run(struct model *model)
{
    struct model_run *run = model->run;

    while (run->memory_count > 0)
        model->ops->release(model->ops, run->memory[--run->memory_count]);
    free(run->memory);
    free(run->block);
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
    free(head->index);
    free(head->targets);
    *head = (struct head_run){ 0 };
}

struct norm model_norm(const struct model *model, int rows)
{
    const int width = model->config.width;

    return (struct norm){ .rows = rows, .width = width, .each = 1, .x_row = width,
                          .out_row = width, .centered = true,
                          .epsilon = model->config.norm_epsilon };
}

struct attention model_attention(const struct model *model, int layer)
{
    return (struct attention){ .sequences = model->run->sequences,
                               .length = model->run->length,
                               .heads = model->config.heads,
                               .kv_heads = model->config.heads,
                               .head_width = model->config.width / model->config.heads,
                               .causal = model->config.kind == MODEL_GPT2,
                               .drop = model_dropout(model, layer, DROP_WEIGHTS) };
}

struct qkv model_qkv(const struct model *model, void *rows)
{
    const size_t size = dtype_size(model->type);
    const int    width = model->config.width;

    return (struct qkv){ .q = rows, .k = (char *)rows + (size_t)width * size,
                         .v = (char *)rows + (size_t)(2 * width) * size,
                         .q_row = 3 * width, .k_row = 3 * width, .v_row = 3 * width };
}
