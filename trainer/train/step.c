/* step.c - see step.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/step.h"

#include <math.h>
#include <stdlib.h>

#include "clock.h"
#include "report/memory.h"
#include "xalloc.h"

static int         take_samples(struct step *step, struct error *err);
static uint64_t    first_sample(const struct step *step, int64_t pass);
static int         run_passes(struct step *step, struct step_result *result,
                              struct error *err);
static struct model_batch begin_pass(struct step *step, int64_t pass);
static void        end_part(const struct step *step, struct step_result *result,
                            enum step_part part, int64_t *since_ns);
static int         go_back(struct step *step, double scale, double *sum, struct error *err);
static double      gradient_scale(const struct step *step, double scale);
static int         find_rank(struct step *step, struct step_result *result, struct error *err);
static struct adam adam_of(const struct step *step);
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
    if (samples_have_documents(step->samples))
        step->begins = xcalloc(count, sizeof *step->begins);
    step->first = xcalloc((size_t)config->accumulation_steps, sizeof *step->first);
    step->model->hooks = (struct model_hooks){ .arg = step, .enter = enter, .leave = leave,
                                               .done = done };
}

void step_clear(struct step *step)
{
    free(step->tokens);
    free(step->targets);
    free(step->begins);
    free(step->first);
    step->tokens = step->targets = step->begins = NULL;
    step->first = NULL;
}

/* The loss is the mean over the targets of all ranks. Their number is not needed until the
 * first backward pass, and the other sums over ranks not until the step is done. Waiting for a
 * sum at once would mean waiting for all pending transfers of parameters. */
int step_run(struct step *step, struct step_result *result, struct error *err)
{
    struct state *state = step->state;
    struct adam   adam = adam_of(step);
    uint64_t      mark;
    int64_t       since_ns;
    int           i;

    *result = (struct step_result){ .figures = { .lr = adam.lr, .scale = state->scale.scale } };
    if (take_samples(step, err) < 0 ||
        world_sum_begin(step->world, &step->target_count, 1, &step->target_mark, err) < 0 ||
        run_passes(step, result, err) < 0)
        return -1;
    since_ns = clock_now_ns();
    step->told[1] = step->is_saved;
    for (i = 0; i < STEP_WANTS; i++)
        step->told[2 + i] = step->wants[i];
    if (world_sum_begin(step->world, step->told, 2 + STEP_WANTS, &mark, err) < 0 ||
        zero_step(step->zero, &adam, result->figures.scale, &result->zero, err) < 0 ||
        world_sum_end(step->world, mark, err) < 0)
        return -1;
    end_part(step, result, STEP_UPDATE, &since_ns);
    result->figures.loss = step->told[0] / step->target_count;
    result->is_saved = (int)step->told[1] == step->world->size;
    for (i = 0; i < STEP_WANTS; i++)
        result->wants[i] = step->told[2 + i] > 0;
    state->step++;
    state->samples += step->config->train_batch_size;
    state->updates = zero_steps(step->zero);
    result->figures.step = state->step;
    result->figures.samples = state->samples;
    result->figures.norm = result->zero.is_skipped ? NAN : result->zero.norm;
    if (loss_scale_update(&state->scale, result->zero.is_skipped, err) == 0)
        return result->zero.is_skipped ? find_rank(step, result, err) : 0;
    if (step->bad.text[0] == '\0')
        return -1;
    return err_set(err, "%s; the first output that is not finite is that of %s", err->text,
                   step->bad.text);
}

static int take_samples(struct step *step, struct error *err)
{
    const struct ds_config *config = step->config;
    const int64_t           micro = config->micro_batch_size, length = step->samples->length;
    int64_t                 pass, i, at = 0;

    for (pass = 0; pass < config->accumulation_steps; pass++) {
        step->first[pass] = first_sample(step, pass);
        if (step->shards != NULL && data_shards_take(step->shards, &step->first[pass], err) < 0)
            return -1;
        for (i = 0; i < micro; i++, at += length)
            if (samples_take(step->samples, step->first[pass] + (uint64_t)i, step->tokens + at,
                             step->targets + at,
                             step->begins != NULL ? step->begins + at : NULL, err) < 0)
                return -1;
    }
    step->target_count = 0;
    for (i = 0; i < at; i++)
        step->target_count += step->targets[i] >= 0;
    return 0;
}

/* In each pass, the ranks' parts of the batch follow each other, so a step has the same samples
 * for any number of ranks. */
static uint64_t first_sample(const struct step *step, int64_t pass)
{
    const int64_t part = pass * step->world->size + step->world->rank;

    return (uint64_t)(step->state->samples + part * step->config->micro_batch_size);
}

static int run_passes(struct step *step, struct step_result *result, struct error *err)
{
    const struct ds_config *config = step->config;
    struct model_batch      batch;
    double                  sum;
    int64_t                 pass, since_ns;

    step->told[0] = 0;
    step->bad.text[0] = '\0';
    for (pass = 0; pass < config->accumulation_steps; pass++) {
        batch = begin_pass(step, pass);
        since_ns = clock_now_ns();
        if (model_forward(step->model, &batch, err) < 0)
            return -1;
        end_part(step, result, STEP_FORWARD, &since_ns);
        if (go_back(step, result->figures.scale, &sum, err) < 0)
            return -1;
        if (!isfinite(sum) && step->bad.text[0] == '\0')
            model_name_bad(step->model, &step->bad);
        end_part(step, result, STEP_BACKWARD, &since_ns);
        step->told[0] += sum;
    }
    return 0;
}

static struct model_batch begin_pass(struct step *step, int64_t pass)
{
    const int64_t passes = step->config->accumulation_steps;
    const int64_t sequences = step->config->micro_batch_size, length = step->samples->length;

    zero_begin(step->zero, pass == 0, pass == passes - 1);
    if (step->frozen != NULL)
        zero_begin(step->frozen, pass == 0, pass == passes - 1);
    return (struct model_batch){
        .sequences = (int)sequences,
        .length = (int)length,
        .sample = step->first[pass],
        .tokens = step->tokens + pass * sequences * length,
        .targets = step->targets + pass * sequences * length,
        .begins = step->begins != NULL ? step->begins + pass * sequences * length : NULL,
    };
}

/* Adds the time since *since_ns to the part, and sets *since_ns to now. */
static void end_part(const struct step *step, struct step_result *result, enum step_part part,
                     int64_t *since_ns)
{
    const int64_t then_ns = *since_ns;

    if (step->config->memory_breakdown)
        result->figures.mib[part] = memory_in_use().now;
    *since_ns = clock_now_ns();
    result->figures.seconds[part] += (double)(*since_ns - then_ns) / NS_PER_S;
}

static int go_back(struct step *step, double scale, double *sum, struct error *err)
{
    if (world_sum_end(step->world, step->target_mark, err) < 0)
        return -1;
    if (step->target_count == 0)
        return err_set(err, "no sample of this step has a target");
    return model_backward(step->model, gradient_scale(step, scale), sum, err);
}

static double gradient_scale(const struct step *step, double scale)
{
    if (step->config->gradient_allreduce_op == DS_SUM)
        scale *= step->world->size;
    return scale / step->target_count;
}

/* Repeats the passes of a skipped step: no parameter has changed, and dropout depends only on
 * the samples. Other steps do not pay for it. */
static int find_rank(struct step *step, struct step_result *result, struct error *err)
{
    const double       scale = gradient_scale(step, result->figures.scale);
    struct model_batch batch;
    double             sum;
    int64_t            pass;

    if (step->world->size == 1)
        return 0;
    zero_search(step->zero, result->zero.bad);
    for (pass = 0; pass < step->config->accumulation_steps; pass++) {
        batch = begin_pass(step, pass);
        if (model_forward(step->model, &batch, err) < 0 ||
            model_backward(step->model, scale, &sum, err) < 0)
            return -1;
    }
    return zero_search_end(step->zero, &result->bad_rank, err);
}

static struct adam adam_of(const struct step *step)
{
    const struct ds_config    *config = step->config;
    const struct ds_optimizer *o = &config->optimizer;
    const int64_t              updates = step->state->updates;
    double                     betas[2] = { o->betas[0], o->betas[1] };

    schedule_betas(&config->schedule, updates, betas);
    return (struct adam){
        .lr = step->lr_scale * schedule_lr(&config->schedule, o->lr, updates),
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
    struct step  *step = arg;
    struct model *model = step->model;
    const bool    is_backward = pass == MODEL_BACKWARD;

    if (step->frozen != NULL &&
        zero_enter(step->frozen, layer, is_backward, &model->frozen[layer], NULL, err) < 0)
        return -1;
    return zero_enter(step->zero, layer, is_backward, &model->params[layer],
                      &model->grads[layer], err);
}

static int leave(void *arg, int layer, enum model_pass pass, struct error *err)
{
    struct step *step = arg;

    (void)pass;
    (void)err;
    zero_leave(step->zero, layer);
    if (step->frozen != NULL)
        zero_leave(step->frozen, layer);
    return 0;
}

static int done(void *arg, int layer, struct error *err)
{
    struct step *step = arg;

    return zero_done(step->zero, layer, err);
}
