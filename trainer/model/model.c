/* model.c - a model's passes from layer to layer, see model.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_run.h"
#include "xalloc.h"

static int  check_size(const struct model *model, int64_t sequences, int64_t length,
                       struct error *err);
static int  check_batch(const struct model *model, const struct model_batch *batch,
                        struct error *err);
static int  check_tokens(const char *what, const int32_t *tokens, int count, int32_t least,
                         int32_t vocabulary, struct error *err);
static int  pick_rows(struct model *model, const struct model_batch *batch, struct error *err);
static int  forward_layers(struct model *model, const struct model_batch *batch,
                           struct error *err);
static bool has_bad(const struct model *model, const void *rows);
static bool is_finite(enum dtype type, const void *array, size_t i);
static void block_backward(struct model *model, int layer);
static void head_forward(struct model *model, double *loss_sum);
static void head_backward(struct model *model, double scale);
static int  enter(struct model *model, int layer, enum model_pass pass, struct error *err);
static int  enter_one(struct model *model, int layer, enum model_pass pass, struct error *err);
static int  leave(struct model *model, int layer, enum model_pass pass, struct error *err);
static int  leave_one(struct model *model, int layer, enum model_pass pass, struct error *err);
static int  done(struct model *model, int layer, struct error *err);

void model_use_arrays(struct model *model, void *params, void *grads)
{
    const size_t size = dtype_size(model->type);
    int          i;

    for (i = 0; i < model->layers; i++) {
        model->params[i] = (char *)params + model->layer[i].offset * size;
        model->grads[i] = grads != NULL ? (char *)grads + model->layer[i].offset * size : NULL;
    }
}

int model_activations(struct model *model, int64_t sequences, int64_t length, size_t *bytes,
                      struct error *err)
{
    if (check_size(model, sequences, length, err) < 0 ||
        model_run_fit(model, (int)sequences, (int)length, err) < 0)
        return -1;
    *bytes = model->run->bytes;
    return 0;
}

static int check_size(const struct model *model, int64_t sequences, int64_t length,
                      struct error *err)
{
    const int longest = model_longest(&model->config);

    if (sequences < 1 || length < 1)
        return err_set(err, "invalid batch: %lld sequences of %lld tokens",
                       (long long)sequences, (long long)length);
    if (length > longest)
        return err_set(err, "sequences of %lld tokens: the model accepts at most %d",
                       (long long)length, longest);
    if (sequences > MODEL_TOKENS_MAX / length)
        return err_set(err, "%lld sequences of %lld tokens are more than %d tokens",
                       (long long)sequences, (long long)length, MODEL_TOKENS_MAX);
    return 0;
}

int model_forward(struct model *model, const struct model_batch *batch, double *loss_sum,
                  int *targets, struct error *err)
{
    const int head = model->layers - 1;

    *loss_sum = 0;
    if (check_batch(model, batch, err) < 0 ||
        model_run_fit(model, batch->sequences, batch->length, err) < 0)
        return -1;
    model->run->sample = batch->sample;
    if (pick_rows(model, batch, err) < 0 || forward_layers(model, batch, err) < 0 ||
        enter(model, head, MODEL_FORWARD, err) < 0)
        return -1;
    head_forward(model, loss_sum);
    *targets = model->run->head.count;
    model->run->batch = *batch;
    return leave(model, head, MODEL_FORWARD, err);
}

static int check_batch(const struct model *model, const struct model_batch *batch,
                       struct error *err)
{
    if (check_size(model, batch->sequences, batch->length, err) < 0 ||
        check_tokens("token", batch->tokens, batch->sequences * batch->length, 0,
                     model->config.vocabulary, err) < 0)
        return -1;
    return check_tokens("target", batch->targets, batch->sequences * batch->length, -1,
                        model->config.vocabulary, err);
}

static int check_tokens(const char *what, const int32_t *tokens, int count, int32_t least,
                        int32_t vocabulary, struct error *err)
{
    int i;

    for (i = 0; i < count; i++)
        if (tokens[i] < least || tokens[i] >= vocabulary)
            return err_set(err,
                           "%s %d, number %d of the batch: out of the model's range 0 to %d",
                           what, (int)tokens[i], i, vocabulary - 1);
    return 0;
}

/* Picks the rows that have a target, because the head needs only those: one in seven in a
 * masked model. */
static int pick_rows(struct model *model, const struct model_batch *batch, struct error *err)
{
    struct head_run *head = &model->run->head;
    int              i, count = 0;

    for (i = 0; i < model->run->rows; i++)
        count += batch->targets[i] >= 0;
    if (head_run_fit(model, count, err) < 0)
        return -1;
    head->count = 0;
    for (i = 0; i < model->run->rows; i++) {
        if (batch->targets[i] < 0)
            continue;
        head->index[head->count] = i;
        head->targets[head->count++] = batch->targets[i];
    }
    return 0;
}

static int forward_layers(struct model *model, const struct model_batch *batch,
                          struct error *err)
{
    struct model_run *run = model->run;
    const int         blocks = model->config.blocks;
    int               i;

    if (enter(model, 0, MODEL_FORWARD, err) < 0)
        return -1;
    model->family->embed(model, batch);
    if (leave(model, 0, MODEL_FORWARD, err) < 0)
        return -1;
    for (i = 0; i < blocks; i++) {
        if (enter(model, i + 1, MODEL_FORWARD, err) < 0)
            return -1;
        model->family->block(model, i + 1, &run->block[i],
                             i + 1 < blocks ? run->block[i + 1].in : run->out);
        if (leave(model, i + 1, MODEL_FORWARD, err) < 0)
            return -1;
    }
    return 0;
}

static void head_forward(struct model *model, double *loss_sum)
{
    struct ops      *ops = model->ops;
    struct head_run *head = &model->run->head;

    if (head->count == 0)
        return;
    ops->gather(ops, head->picked, model->run->out, head->index, head->count,
                model->config.width);
    model->family->head(model, model->layers - 1, head);
    *loss_sum = ops->cross_entropy(ops, head->losses, head->logits, head->targets, head->count,
                                   model->config.vocabulary);
}

/* A block's input is the output of the layer before it. */
void model_name_bad(const struct model *model, struct error *where)
{
    const struct model_run *run = model->run;
    const int               blocks = model->config.blocks;
    int                     i;

    for (i = 0; i < blocks && !has_bad(model, run->block[i].in); i++)
        ;
    if (i == blocks && !has_bad(model, run->out))
        err_set(where, "the head");
    else if (i == 0)
        err_set(where, "the embeddings");
    else
        err_set(where, "block %d of %d", i, blocks);
}

static bool has_bad(const struct model *model, const void *rows)
{
    const size_t count = (size_t)model->run->rows * (size_t)model->config.width;
    const size_t bytes = count * dtype_size(model->type);
    void        *host = xmalloc(bytes);
    size_t       i;

    model->ops->read(model->ops, host, rows, bytes);
    for (i = 0; i < count && is_finite(model->type, host, i); i++)
        ;
    free(host);
    return i < count;
}

static bool is_finite(enum dtype type, const void *array, size_t i)
{
    switch (type) {
    case DTYPE_DOUBLE:   return isfinite(((const double *)array)[i]);
    case DTYPE_HALF:     return isfinite(half_to_float(((const uint16_t *)array)[i]));
    case DTYPE_BFLOAT16: return isfinite(bfloat16_to_float(((const uint16_t *)array)[i]));
    default:             return isfinite(((const float *)array)[i]);
    }
}

int model_backward(struct model *model, double scale, struct error *err)
{
    struct model_run *run = model->run;
    int               i;

    if (run == NULL || run->batch.tokens == NULL)
        return err_set(err, "no forward pass precedes this backward pass");
    for (i = model->layers - 1; i >= 0; i--) {
        if (enter(model, i, MODEL_BACKWARD, err) < 0)
            return -1;
        if (i == model->layers - 1)
            head_backward(model, scale);
        else if (i > 0)
            block_backward(model, i);
        else
            model->family->embed_backward(model, &run->batch);
        if (leave(model, i, MODEL_BACKWARD, err) < 0 || done(model, i, err) < 0)
            return -1;
    }
    run->batch.tokens = NULL; /* the backward pass has overwritten the logits */
    return 0;
}

/* Recomputes the block first, unless the shared memory still has its data, as it has for the
 * last block. */
static void block_backward(struct model *model, int layer)
{
    struct model_run *run = model->run;

    if (model->recomputes && layer < model->config.blocks)
        model->family->block(model, layer, &run->block[layer - 1], run->again);
    model->family->block_backward(model, layer, &run->block[layer - 1]);
}

/* Rows without a target get no gradient from the head. */
static void head_backward(struct model *model, double scale)
{
    struct ops       *ops = model->ops;
    struct model_run *run = model->run;
    struct head_run  *head = &run->head;
    const int         width = model->config.width;

    if (head->count < run->rows)
        ops->zero(ops, run->d, (size_t)run->rows * (size_t)width * dtype_size(model->type));
    if (head->count == 0)
        return;
    ops->cross_entropy_backward(ops, head->logits, head->losses, head->targets, scale,
                                head->count, model->config.vocabulary);
    model->family->head_backward(model, model->layers - 1, head);
    ops->scatter(ops, run->d, head->dpicked, head->index, head->count, width);
}

const void *model_logits(const struct model *model)
{
    return model->run != NULL ? model->run->head.logits : NULL;
}

/* Enters the layer and the layer that it is tied to. */
static int enter(struct model *model, int layer, enum model_pass pass, struct error *err)
{
    const int tied = model->layer[layer].tied;

    if (enter_one(model, layer, pass, err) < 0)
        return -1;
    return tied >= 0 ? enter_one(model, tied, pass, err) : 0;
}

static int enter_one(struct model *model, int layer, enum model_pass pass, struct error *err)
{
    const struct model_hooks *hooks = &model->hooks;

    return hooks->enter != NULL ? hooks->enter(hooks->arg, layer, pass, err) : 0;
}

static int leave(struct model *model, int layer, enum model_pass pass, struct error *err)
{
    const int    tied = model->layer[layer].tied;
    struct error why;

    if (model->ops->check(model->ops, &why) < 0)
        return err_set(err, "%s: %s", model->layer[layer].name, why.text);
    if (tied >= 0 && leave_one(model, tied, pass, err) < 0)
        return -1;
    return leave_one(model, layer, pass, err);
}

static int leave_one(struct model *model, int layer, enum model_pass pass, struct error *err)
{
    const struct model_hooks *hooks = &model->hooks;

    return hooks->leave != NULL ? hooks->leave(hooks->arg, layer, pass, err) : 0;
}

static int done(struct model *model, int layer, struct error *err)
{
    const struct model_hooks *hooks = &model->hooks;

    return hooks->done != NULL ? hooks->done(hooks->arg, layer, err) : 0;
}
