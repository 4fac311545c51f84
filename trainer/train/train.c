/* train.c - see train.h; the loop over steps
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/train.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/progress.h"
#include "train/setup.h"
#include "weights/adapter.h"
#include "weights/weights.h"

/* Requests that this rank has received by signals. */
static volatile sig_atomic_t wants[STEP_WANTS];

static void catch_signals(void);
static int  run_steps(struct train *train, int *status, struct error *err);
static bool is_turn(const struct state *state, int64_t interval);
static int  evaluate(struct train *train, struct progress *progress, bool is_saved,
                     struct error *err);
static void tell_skipped(const struct step *step, const struct step_result *result);
static int  tell_bad(const struct train *train, struct error *err);
static void take_wants(struct train *train);
static int  shards_saved(struct train *train, struct error *err);
static int  shards_done(struct train *train, struct error *err);
static int  save(struct train *train, struct error *err);
static int  export(struct train *train, struct error *err);
static int  print_config(const struct train_options *options);

int train_main(int argc, char **argv)
{
    struct train train = { .saved = -1 };
    struct error err;
    int          status = train_options_parse(&train.options, argc, argv, &err);

    if (status == TRAIN_OPTIONS_HELP) {
        train_options_help(stdout);
        return TRAIN_OK;
    }
    if (status < 0) {
        fprintf(stderr, "muster-train: %s (see muster-train train --help)\n", err.text);
        return TRAIN_USAGE;
    }
    if (train.options.print_config)
        return print_config(&train.options);

    status = TRAIN_OK;
    catch_signals();
    if (setup_open(&train, &err) == 0 && run_steps(&train, &status, &err) == 0 &&
        export(&train, &err) == 0 && setup_close(&train, &err) == 0)
        return status;
    fprintf(stderr, "muster-train: %s: %s\n", world_label(&train.world), err.text);
    world_abort(&train.world);
    return TRAIN_FAILED;
}

static void note_signal(int signal)
{
    wants[signal == SIGTERM ? STEP_WANT_END : STEP_WANT_SAVE] = 1;
}

static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = note_signal, .sa_flags = SA_RESTART };

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a write to a file that is too large then returns an error */
}

/* ---- the loop ---- */

static int run_steps(struct train *train, int *status, struct error *err)
{
    struct state      *state = &train->state;
    struct progress    progress = { .config = train->config, .last = train->last,
                                    .is_silent = train->world.rank != 0,
                                    .length = train->samples.length,
                                    .epoch = train->samples.data->samples };
    struct step_result result;
    bool               is_due, is_regular;
    int                is_saved;

    progress_begin(&progress, state->step);
    while (state->step < train->last && *status == TRAIN_OK) {
        take_wants(train);
        train->step.is_saved = save_is_written(&train->save);
        if (step_run(&train->step, &result, err) < 0)
            return -1;
        if (result.zero.is_skipped && train->world.rank == 0) {
            progress_clear(&progress);
            tell_skipped(&train->step, &result);
        }
        progress_step(&progress, &result.figures);
        monitor_write(train->monitor, &result.figures);
        if (!isfinite(result.figures.loss) &&
            (!result.zero.is_skipped || state->scale.rules.fixed != 0))
            return tell_bad(train, err);
        if (result.wants[STEP_WANT_END])
            *status = TRAIN_TERMINATED;
        is_regular = state->step == train->last || is_turn(state, train->options.save_interval);
        is_due = result.wants[STEP_WANT_SAVE] || result.wants[STEP_WANT_END] || is_regular;
        train->save.is_best = false;
        if (train->options.eval_data != NULL && *status == TRAIN_OK &&
            (is_regular || is_turn(state, train->options.eval_interval)) &&
            evaluate(train, &progress, is_regular, err) < 0)
            return -1;
        if (is_due || save_will_print(&train->save))
            progress_clear(&progress);
        is_saved = save_poll(&train->save, result.is_saved, err);
        if (is_saved < 0 || (is_saved > 0 && shards_done(train, err) < 0) ||
            (is_due && save(train, err) < 0) ||
            (train->save.dir == NULL && shards_saved(train, err) < 0))
            return -1;
    }
    if (save_end(&train->save, err) < 0)
        return -1;
    return shards_done(train, err);
}

static bool is_turn(const struct state *state, int64_t interval)
{
    return interval > 0 && state->step % interval == 0;
}

/* The file best names the checkpoint with the lowest loss, among those that are written with an
 * evaluation. */
static int evaluate(struct train *train, struct progress *progress, bool is_saved,
                    struct error *err)
{
    struct state *state = &train->state;
    double        loss;

    progress_clear(progress);
    if (evaluation_run(&train->evaluation, &loss, err) < 0)
        return -1;
    if (is_saved && isfinite(loss) && (state->best == 0 || loss < state->best)) {
        state->best = loss;
        train->save.is_best = train->save.dir != NULL;
    }
    monitor_write_evaluation(train->monitor, state->samples, loss);
    if (train->world.rank != 0)
        return 0;
    printf("evaluation after step %" PRId64 ": loss %.6f%s\n", state->step, loss,
           train->save.is_best ? ", the lowest so far" : "");
    fflush(stdout);
    return 0;
}

/* Reports all shards taken so far as done: no later save will make them safer. */
static int shards_saved(struct train *train, struct error *err)
{
    if (train->shards != NULL)
        data_shards_mark(train->shards);
    return shards_done(train, err);
}

static int shards_done(struct train *train, struct error *err)
{
    return train->shards != NULL ? data_shards_done(train->shards, err) : 0;
}

static void tell_skipped(const struct step *step, const struct step_result *result)
{
    const struct world       *world = step->world;
    const bool                is_sum = world->size > 1 && result->bad_rank < 0;
    const struct model_param *param = NULL;

    if (result->zero.bad >= 0)
        param = model_param_at(step->model, (size_t)result->zero.bad);
    fprintf(stderr, "muster-train: step %" PRId64 ": the gradient of %s", step->state->step,
            param != NULL ? param->name : "a parameter");
    if (world->size > 1 && !is_sum)
        fprintf(stderr, " on %s", world->roster.label[result->bad_rank]);
    fprintf(stderr, "%s is not finite%s; step skipped", is_sum ? ", finite on each rank," : "",
            is_sum ? " in their sum" : "");
    if (result->figures.scale != step->state->scale.scale)
        fprintf(stderr, ", the loss scale is now %g", step->state->scale.scale);
    fputc('\n', stderr);
}

/* Called if a lower loss scale cannot help. */
static int tell_bad(const struct train *train, struct error *err)
{
    const char *bad = train->step.bad.text;

    if (*bad == '\0')
        return err_set(err, "step %lld: the loss is not finite, although this rank's own loss is",
                       (long long)train->state.step);
    return err_set(err, "step %lld: the loss is not finite; the first output that is not finite "
                        "is that of %s",
                   (long long)train->state.step, bad);
}

static void take_wants(struct train *train)
{
    struct step *step = &train->step;
    int          i;

    for (i = 0; i < STEP_WANTS; i++) {
        step->wants[i] = wants[i] != 0;
        if (step->wants[i])
            wants[i] = 0;
    }
    if (notice_has_come(&train->notice))
        step->wants[STEP_WANT_SAVE] = true;
}

static int save(struct train *train, struct error *err)
{
    if (train->save.dir == NULL || train->saved == train->state.step)
        return 0;
    train->saved = train->state.step;
    /* This checkpoint answers all requests since the step. A request that comes during writing
     * needs a newer checkpoint: it may come after this one has been renamed. */
    wants[STEP_WANT_SAVE] = 0;
    notice_has_come(&train->notice);
    if (train->shards != NULL &&
        (train->state.shards = data_shards_seen(train->shards, train->state.samples, err)) < 0)
        return -1;
    if (save_begin(&train->save, &train->state, err) < 0)
        return -1;
    if (train->shards == NULL || !train->save.in_background)
        return shards_saved(train, err);
    /* The previous checkpoint is on the disk, so its shards are done. Mark those of this
     * one. */
    if (data_shards_done(train->shards, err) < 0)
        return -1;
    data_shards_mark(train->shards);
    return 0;
}

static int export(struct train *train, struct error *err)
{
    const char          *dir = train->options.export;
    const struct weights weights = { train->model, train->zero, train->frozen };

    if (dir == NULL)
        return 0;
    if (train->tuning.lora.rank > 0)
        return adapter_export(dir, train->from, &train->tuning.lora, train->world.rank, &weights,
                              train->base, err);
    return weights_export(dir, train->from, train->world.rank, &weights, err);
}

static int print_config(const struct train_options *options)
{
    const char       *size = getenv("WORLD_SIZE");
    struct error      err;
    struct strlist    problems = { 0 };
    struct ds_config *config =
        ds_config_read_for_run(options->config, &options->given, &problems, &err);
    size_t            i;

    for (i = 0; i < problems.count; i++)
        fprintf(stderr, "muster-train: %s\n", problems.item[i]);
    strlist_clear(&problems);
    if (config == NULL || ds_config_resolve(config, size != NULL ? atoi(size) : 1, &err) < 0) {
        fprintf(stderr, "muster-train: %s\n", err.text);
        ds_config_free(config);
        return TRAIN_USAGE;
    }
    ds_config_print(config, stdout);
    ds_config_free(config);
    return TRAIN_OK;
}
