/* step.c - see step.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/step.h"

#include <stdlib.h>

#include "xalloc.h"

static int         take_samples(struct step *step, double *targets, struct error *err);
static int         run_passes(struct step *step, double scale, double *loss, struct error *err);
static struct adam adam_of(const struct ds_config *config, int64_t updates);
static int         enter(void *arg, int layer, enum model_pass pass, struct error *err);
static int         leave(void *arg, int layer, enum model_pass pass, struct error *err);
static int         done(void *arg, int layer, struct error *err);

void step_init(struct step *step)
{
    const struct ds_config *config = step->config;
    const size_t samples = (size_t)(config->micro_batch_size * config->accumulation_steps);
    const size_t count = samples * (size_t)step->samples->length;

    step->tokens = xcalloc(count, sizeof *step->tokens);
    step->targets = xcalloc(count, sizeof *step->targets);
    step->model->hooks = (struct model_hooks){ .arg = step, .enter = enter, .leave = leave,
                                               .done = done };
}

void step_clear(struct step *step)
{
    free(step->tokens);
    free(step->targets);
    step->tokens = step->targets = NULL;
}

/* The loss is the mean over the targets of all ranks: for this, their number comes first. */
int step_run(struct step *step, struct step_result *result, struct error *err)
{
    struct state *state = step->state;
    struct adam   adam = adam_of(step->config, state->updates);
    double        targets, loss;

    *result = (struct step_result){ .lr = adam.lr, .scale = state->scale.scale };
    if (take_samples(step, &targets, err) < 0 || world_sum(step->world, &targets, 1, err) < 0)
        return -1;
    if (targets == 0)
        return err_set(err, "no sample of this step has a target");
    if (run_passes(step, result->scale / targets, &loss, err) < 0 ||
        zero_step(step->zero, &adam, result->scale, &result->zero, err) < 0 ||
        world_sum(step->world, &loss, 1, err) < 0)
        return -1;
    result->loss = loss / targets;
    state->step++;
    state->samples += step->config->train_batch_size;
    state->updates = zero_steps(step->zero);
    return loss_scale_update(&state->scale, result->zero.is_skipped, err);
}

/* Pass by pass, the ranks' parts of the batch lie one behind the other: so the same samples
 * make up a step, however many ranks there are. */
static int take_samples(struct step *step, double *targets, struct error *err)
{
    const struct ds_config *config = step->config;
    const int64_t           micro = config->micro_batch_size, length = step->samples->length;
    int64_t                 pass, i, number, at = 0;

    for (pass = 0; pass < config->accumulation_steps; pass++) {
        number = (pass * step->world->size + step->world->rank) * micro;
        for (i = 0; i < micro; i++, at += length)
            if (samples_take(step->samples, (uint64_t)(step->state->samples + number + i),
                             step->tokens + at, step->targets + at, err) < 0)
                return -1;
    }
    *targets = 0;
    for (i = 0; i < at; i++)
        *targets += step->targets[i] >= 0;
    return 0;
}

static int run_passes(struct step *step, double scale, double *loss, struct error *err)
{
    const struct ds_config *config = step->config;
    const int64_t           passes = config->accumulation_steps;
    struct model_batch      batch = { .sequences = (int)config->micro_batch_size,
                                      .length = step->samples->length };
    double                  sum;
    int64_t                 pass, at;
    int                     targets;

    if (config->gradient_allreduce_op == DS_SUM)
        scale *= step->world->size;
    *loss = 0;
    for (pass = 0; pass < passes; pass++) {
        at = pass * batch.sequences * batch.length;
        batch.tokens = step->tokens + at;
        batch.targets = step->targets + at;
        zero_begin(step->zero, pass == 0, pass == passes - 1);
        if (model_forward(step->model, &batch, &sum, &targets, err) < 0 ||
            model_backward(step->model, scale, err) < 0)
            return -1;
        *loss += sum;
    }
    return 0;
}

static struct adam adam_of(const struct ds_config *config, int64_t updates)
{
    const struct ds_optimizer *o = &config->optimizer;
    double                     betas[2] = { o->betas[0], o->betas[1] };

    schedule_betas(&config->schedule, updates, betas);
    return (struct adam){
        .lr = schedule_lr(&config->schedule, o->lr, updates),
        .beta1 = betas[0],
        .beta2 = betas[1],
        .eps = o->eps,
        .weight_decay = o->weight_decay,
        .decoupled = o->adam_w_mode,
        .bias_correction = o->bias_correction,
    };
}

/* ---- hooks: the model's layers take their parameters from zero ---- */

static int enter(void *arg, int layer, enum model_pass pass, struct error *err)
{
    struct step *step = arg;

    return zero_enter(step->zero, layer, pass == MODEL_BACKWARD, &step->model->params[layer],
                      &step->model->grads[layer], err);
}

static int leave(void *arg, int layer, enum model_pass pass, struct error *err)
{
    struct step *step = arg;

    (void)pass;
    (void)err;
    zero_leave(step->zero, layer);
    return 0;
}

static int done(void *arg, int layer, struct error *err)
{
    struct step *step = arg;

    return zero_done(step->zero, layer, err);
}
