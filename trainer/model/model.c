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
static int  check_begins(const struct model *model, const struct model_batch *batch,
                         struct error *err);
static void pick_rows(struct model *model, const struct model_batch *batch);
static int  forward_layers(struct model *model, const struct model_batch *batch,
                           struct error *err);
static bool has_bad(const struct model *model, const void *rows);
static bool is_finite(enum dtype type, const void *array, size_t i);
static int  check_forward(const struct model *model, struct error *err);
static int  run_head(struct model *model, const double *scale, double *loss_sum,
                     struct error *err);
static void head_forward(struct model *model, int first, int count);
static void head_backward(struct model *model, double scale);
static int  whole_head(struct model *model, double scale, double *loss_sum, struct error *err);
static void block_backward(struct model *model, int layer);
static int  enter(struct model *model, int layer, enum model_pass pass, struct error *err);
static int  enter_one(struct model *model, int layer, enum model_pass pass, struct error *err);
static void decode(struct model *model, int layer);
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

void model_use_frozen(struct model *model, void *frozen)
{
    int i;

    for (i = 0; i < model->layers; i++)
        model->frozen[i] = (char *)frozen + model->layer[i].frozen_offset;
}

int model_activations(struct model *model, int64_t sequences, int64_t length, size_t *bytes,
                      size_t *parked, struct error *err)
{
    if (check_size(model, sequences, length, err) < 0 ||
        model_run_fit(model, (int)sequences, (int)length, err) < 0)
        return -1;
    *bytes = model->run->bytes;
    *parked = model->run->parked_bytes;
    return 0;
}

int model_needs(struct model *model, int64_t sequences, int64_t length, size_t *bytes,
                size_t *parked, struct error *err)
{
    if (check_size(model, sequences, length, err) < 0)
        return -1;
    model_run_needs(model, (int)sequences, (int)length, bytes, parked);
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

int model_forward(struct model *model, const struct model_batch *batch, struct error *err)
{
    if (check_batch(model, batch, err) < 0 ||
        model_run_fit(model, batch->sequences, batch->length, err) < 0)
        return -1;
    model->run->sample = batch->sample;
    model->run->begins = batch->begins;
    pick_rows(model, batch);
    if (forward_layers(model, batch, err) < 0)
        return -1;
    model->run->batch = *batch;
    return 0;
}

static int check_batch(const struct model *model, const struct model_batch *batch,
                       struct error *err)
{
    if (check_size(model, batch->sequences, batch->length, err) < 0 ||
        check_tokens("token", batch->tokens, batch->sequences * batch->length, 0,
                     model->config.vocabulary, err) < 0)
        return -1;
    if (check_tokens("target", batch->targets, batch->sequences * batch->length, -1,
                     model->config.vocabulary, err) < 0)
        return -1;
    return batch->begins != NULL ? check_begins(model, batch, err) : 0;
}

static int check_begins(const struct model *model, const struct model_batch *batch,
                        struct error *err)
{
    const int count = batch->sequences * batch->length;
    int       i, at;

    if (model->family == &bert_family)
        return err_set(err, "BERT cannot train on several documents in a sequence");
    for (i = 0; i < count; i++) {
        at = i % batch->length;
        if (batch->begins[i] != at &&
            (at == 0 || batch->begins[i] != batch->begins[i - 1]))
            return err_set(err, "token %d of the batch: its document cannot begin at %d", i,
                           (int)batch->begins[i]);
    }
    return 0;
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
static void pick_rows(struct model *model, const struct model_batch *batch)
{
    struct head_run *head = &model->run->head;
    const int        rows = model->run->rows;
    int              i;

    if (head->all_room < rows) {
        head->all_index = xreallocarray(head->all_index, (size_t)rows, sizeof(int32_t));
        head->all_targets = xreallocarray(head->all_targets, (size_t)rows, sizeof(int32_t));
        head->all_room = rows;
    }
    head->all = 0;
    for (i = 0; i < rows; i++) {
        if (batch->targets[i] < 0)
            continue;
        head->all_index[head->all] = i;
        head->all_targets[head->all++] = batch->targets[i];
    }
}

static int forward_layers(struct model *model, const struct model_batch *batch,
                          struct error *err)
{
    struct model_run *run = model->run;
    const int         blocks = model->config.blocks;
    int               i;

    if (enter(model, 0, MODEL_FORWARD, err) < 0)
        return -1;
    park_before(model, 0);
    model->family->embed(model, batch);
    if (leave(model, 0, MODEL_FORWARD, err) < 0)
        return -1;
    for (i = 0; i < blocks; i++) {
        if (enter(model, i + 1, MODEL_FORWARD, err) < 0)
            return -1;
        park_before(model, i + 1);
        model->family->block(model, i + 1, &run->block[i],
                             i + 1 < blocks ? run->block[i + 1].in : run->out);
        park_after(model, i);
        if (leave(model, i + 1, MODEL_FORWARD, err) < 0)
            return -1;
    }
    return 0;
}

int model_loss(struct model *model, double *loss_sum, int *targets, struct error *err)
{
    const int head = model->layers - 1;

    *loss_sum = 0;
    if (check_forward(model, err) < 0 || enter(model, head, MODEL_FORWARD, err) < 0)
        return -1;
    *targets = model->run->head.all;
    if (run_head(model, NULL, loss_sum, err) < 0)
        return -1;
    return leave(model, head, MODEL_FORWARD, err);
}

const void *model_logits(struct model *model, struct error *err)
{
    const int head = model->layers - 1;

    if (check_forward(model, err) < 0)
        return NULL;
    if (model->run->head.all == 0) {
        err_set(err, "no token of the batch has a target");
        return NULL;
    }
    if (enter(model, head, MODEL_FORWARD, err) < 0 ||
        head_run_fit(model, model->run->head.all, err) < 0)
        return NULL;
    head_forward(model, 0, model->run->head.all);
    if (leave(model, head, MODEL_FORWARD, err) < 0)
        return NULL;
    return model->run->head.logits;
}

static int check_forward(const struct model *model, struct error *err)
{
    if (model->run == NULL || model->run->batch.tokens == NULL)
        return err_set(err, "there was no forward pass");
    return 0;
}

/* Computes the losses, head_rows at a time, and, if scale is not NULL, their gradients. */
static int run_head(struct model *model, const double *scale, double *loss_sum,
                    struct error *err)
{
    struct head_run *head = &model->run->head;
    struct ops      *ops = model->ops;
    const int        most = head->all < model->head_rows ? head->all : model->head_rows;
    int              first, count;

    if (head_run_fit(model, most, err) < 0)
        return -1;
    for (first = 0; first < head->all; first += count) {
        count = head->all - first < most ? head->all - first : most;
        head_forward(model, first, count);
        *loss_sum += ops->cross_entropy(ops, head->losses, head->logits, head->targets, count,
                                        model->config.vocabulary);
        if (scale != NULL)
            head_backward(model, *scale);
    }
    return 0;
}

/* Computes the logits of count rows that have a target, from number first on. */
static void head_forward(struct model *model, int first, int count)
{
    struct head_run *head = &model->run->head;

    head->count = count;
    head->index = head->all_index + first;
    head->targets = head->all_targets + first;
    model->ops->gather(model->ops, head->picked, model->run->out, head->index, count,
                       model->config.width);
    model->family->head(model, model->layers - 1, head);
}

/* A block's input is the output of the layer before it. */
void model_name_bad(struct model *model, struct error *where)
{
    const struct model_run *run = model->run;
    const int               blocks = model->config.blocks;
    int                     i;

    for (i = 0; i < blocks; i++) {
        park_back(model, i);
        if (has_bad(model, run->block[i].in))
            break;
    }
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

int model_backward(struct model *model, double scale, double *loss_sum, struct error *err)
{
    struct model_run *run = model->run;
    int               i;

    *loss_sum = 0;
    if (check_forward(model, err) < 0)
        return -1;
    for (i = model->layers - 1; i >= model->first_trained; i--) {
        if (enter(model, i, MODEL_BACKWARD, err) < 0)
            return -1;
        if (i > 0 && i < model->layers - 1)
            block_backward(model, i);
        else if (i == 0)
            model->family->embed_backward(model, &run->batch);
        else if (whole_head(model, scale, loss_sum, err) < 0)
            return -1;
        if (leave(model, i, MODEL_BACKWARD, err) < 0 || done(model, i, err) < 0)
            return -1;
    }
    run->batch.tokens = NULL; /* with recomputing, the blocks' data is gone */
    return 0;
}

/* Rows without a target get no gradient from the head. */
static int whole_head(struct model *model, double scale, double *loss_sum, struct error *err)
{
    struct model_run *run = model->run;
    const size_t      size = (size_t)model->config.width * dtype_size(model->type);

    if (run->head.all < run->rows)
        model->ops->zero(model->ops, run->d, (size_t)run->rows * size);
    return run_head(model, &scale, loss_sum, err);
}

/* Recomputes the block first, unless the shared memory still has its data, as it has for the
 * last block. */
static void block_backward(struct model *model, int layer)
{
    struct model_run *run = model->run;

    park_back(model, layer - 1);
    if (model->recomputes && layer < model->config.blocks)
        model->family->block(model, layer, &run->block[layer - 1], run->again);
    model->family->block_backward(model, layer, &run->block[layer - 1]);
}

/* Takes the rows that head_forward() had last. */
static void head_backward(struct model *model, double scale)
{
    struct ops      *ops = model->ops;
    struct head_run *head = &model->run->head;

    ops->cross_entropy_backward(ops, head->logits, head->losses, head->targets, scale,
                                head->count, model->config.vocabulary);
    model->family->head_backward(model, model->layers - 1, head);
    ops->scatter(ops, model->run->d, head->dpicked, head->index, head->count,
                 model->config.width);
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

    if (hooks->enter != NULL && hooks->enter(hooks->arg, layer, pass, err) < 0)
        return -1;
    decode(model, layer);
    return 0;
}

/* Decodes the layer's quantized weights, which its products take until another layer comes. */
static void decode(struct model *model, int layer)
{
    const struct model_layer *l = &model->layer[layer];
    struct ops               *ops = model->ops;
    const char               *frozen = model->frozen[layer];
    char                     *wide = model->run->wide;
    int                       i;

    for (i = l->first_param; i < l->first_param + l->param_count; i++) {
        const struct model_param *param = &model->param[i];

        if (param->is_quantized)
            ops->dequantize(ops, model->quantize, wide + param->wide_offset * dtype_size(ops->type),
                            frozen + (param->offset - l->frozen_offset), param->count);
    }
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
