/* evaluation.c - see evaluation.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/evaluation.h"

#include <stdlib.h>

#include "xalloc.h"

static int  run_all(struct evaluation *evaluation, double sums[2], struct error *err);
static int  take_samples(struct evaluation *evaluation, uint64_t first, struct error *err);
static bool has_dropout(const struct model *model);

int evaluation_open(struct evaluation *evaluation, const char *path, int64_t sequences,
                    int length, uint64_t seed, const struct data_text *text,
                    struct model *model, struct world *world, struct error *err)
{
    const size_t count = (size_t)sequences * (size_t)length;

    *evaluation = (struct evaluation){ .model = model, .world = world, .sequences = sequences };
    evaluation->tokens = xcalloc(count, sizeof *evaluation->tokens);
    evaluation->targets = xcalloc(count, sizeof *evaluation->targets);
    if (samples_open(&evaluation->samples, path, length, model_is_masked(&model->config),
                     model->config.vocabulary, seed, text, err) < 0)
        return -1;
    if (evaluation->samples.data->samples == 0)
        return err_set(err, "--eval-data %s: it has no sample of %d tokens", path, length);
    if (samples_have_documents(&evaluation->samples))
        evaluation->begins = xcalloc(count, sizeof *evaluation->begins);
    return world_agree(world, samples_hash(&evaluation->samples), path, err);
}

void evaluation_close(struct evaluation *evaluation)
{
    if (evaluation->model == NULL)
        return;
    samples_close(&evaluation->samples);
    free(evaluation->tokens);
    free(evaluation->targets);
    free(evaluation->begins);
    evaluation->model = NULL;
}

int evaluation_run(struct evaluation *evaluation, double *loss, struct error *err)
{
    struct model *model = evaluation->model;
    const bool    drops = model->drops;
    double        sums[2] = { 0, 0 }; /* of losses, of targets */
    uint64_t      mark;
    int           rc;

    /* Another setting makes the model allocate its memory again. */
    if (has_dropout(model))
        model->drops = false;
    rc = run_all(evaluation, sums, err);
    model->drops = drops;
    if (rc < 0 || world_sum_begin(evaluation->world, sums, 2, &mark, err) < 0 ||
        world_sum_end(evaluation->world, mark, err) < 0)
        return -1;
    if (sums[1] == 0)
        return err_set(err, "no sample of the evaluation has a target");
    *loss = sums[0] / sums[1];
    return 0;
}

/* All ranks run as many passes, since they gather the parameters together. */
static int run_all(struct evaluation *evaluation, double sums[2], struct error *err)
{
    const struct world *world = evaluation->world;
    const uint64_t      sequences = (uint64_t)evaluation->sequences;
    const uint64_t      each = sequences * (uint64_t)world->size;
    struct model_batch  batch = { .sequences = (int)sequences,
                                  .length = evaluation->samples.length,
                                  .tokens = evaluation->tokens,
                                  .targets = evaluation->targets,
                                  .begins = evaluation->begins };
    double              sum;
    uint64_t            first;
    int                 targets;

    for (first = 0; first < evaluation->samples.data->samples; first += each) {
        batch.sample = first + sequences * (uint64_t)world->rank;
        if (take_samples(evaluation, batch.sample, err) < 0 ||
            model_forward(evaluation->model, &batch, err) < 0 ||
            model_loss(evaluation->model, &sum, &targets, err) < 0)
            return -1;
        sums[0] += sum;
        sums[1] += targets;
    }
    return 0;
}

/* A pass may be larger than what is left: its last sequences have no targets then. */
static int take_samples(struct evaluation *evaluation, uint64_t first, struct error *err)
{
    const int length = evaluation->samples.length;
    int64_t   i;
    int       j;

    for (i = 0; i < evaluation->sequences; i++) {
        int32_t *tokens = evaluation->tokens + i * length;
        int32_t *targets = evaluation->targets + i * length;
        int32_t *begins = evaluation->begins != NULL ? evaluation->begins + i * length : NULL;

        if (first + (uint64_t)i < evaluation->samples.data->samples) {
            if (samples_take(&evaluation->samples, first + (uint64_t)i, tokens, targets,
                             begins, err) < 0)
                return -1;
            continue;
        }
        for (j = 0; j < length; j++) {
            tokens[j] = 0;
            targets[j] = -1;
            if (begins != NULL)
                begins[j] = 0;
        }
    }
    return 0;
}

static bool has_dropout(const struct model *model)
{
    const struct model_config *shape = &model->config;

    return shape->embedding_dropout > 0 || shape->attention_dropout > 0 ||
           shape->hidden_dropout > 0 || model->lora_dropout > 0;
}
