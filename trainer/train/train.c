/* train.c - see train.h; the setup and the loop over steps
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/train.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/ds_config.h"
#include "data/samples.h"
#include "data/text_source.h"
#include "fnv.h"
#include "model/model.h"
#include "model/ops.h"
#include "report/monitor.h"
#include "report/progress.h"
#include "train/gpu.h"
#include "train/limits.h"
#include "train/notice.h"
#include "train/save.h"
#include "train/start.h"
#include "train/state.h"
#include "train/step.h"
#include "train/train_options.h"
#include "train/world.h"
#include "weights/adapter.h"
#include "weights/tuning.h"
#include "weights/weights.h"
#include "xalloc.h"

struct train {
    struct train_options options;
    struct ds_config    *config;
    struct world         world;
    struct ops          *ops;
    struct model        *model;
    uint64_t             base;    /* see start_training() */
    struct tuning        tuning;
    const char          *from; /* the model's directory; NULL: its shape has a name */
    size_t               activations, parked; /* bytes, of a pass; parked: on the host */
    struct text_source   source; /* the tokens of text */
    struct samples       samples;
    struct data_shards  *shards; /* NULL: no --data-shards */
    struct zero_device  *device; /* NULL: zero uses the CPU */
    struct zero         *zero, *frozen; /* frozen NULL: no parameter is frozen */
    struct state         state;
    struct step          step;
    struct monitor      *monitor; /* NULL: not configured, or this is not rank 0 */
    int64_t              last; /* the last step */
    struct save          save;
    int64_t              saved; /* the step of the last save; -1: none */
    struct notice        notice;
};

/* Requests that this rank has received by signals. */
static volatile sig_atomic_t wants[STEP_WANTS];

static int  set_up(struct train *train, struct error *err);
static int  read_config(struct train *train, struct error *err);
static int  make_model(struct train *train, struct error *err);
static int  shape_of(struct train *train, struct model_config *shape, struct error *err);
static uint64_t hash_of(const struct train *train);
static int  make_zero(struct train *train, struct error *err);
static struct zero *open_zero(const struct train *train, const struct zero_options *options,
                              struct error *err);
static struct zero_offload offload_of(const struct ds_offload *offload);
static int  start_or_go_on(struct train *train, struct error *err);
static const struct loss_scale_rules *scale_rules(const struct ds_config *config,
                                                  struct loss_scale_rules *rules);
static int  open_samples(struct train *train, struct error *err);
static void catch_signals(void);
static void tell_plan(const struct train *train);
static int  run_steps(struct train *train, int *status, struct error *err);
static void tell_skipped(const struct step *step, const struct step_result *result);
static int  tell_bad(const struct train *train, struct error *err);
static void take_wants(struct train *train);
static int  shards_saved(struct train *train, struct error *err);
static int  shards_done(struct train *train, struct error *err);
static int  save(struct train *train, struct error *err);
static int  export(struct train *train, struct error *err);
static int  leave(struct train *train, struct error *err);
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
    if (set_up(&train, &err) == 0 && run_steps(&train, &status, &err) == 0 &&
        export(&train, &err) == 0 && leave(&train, &err) == 0)
        return status;
    fprintf(stderr, "muster-train: %s: %s\n", world_label(&train.world), err.text);
    world_abort(&train.world);
    return TRAIN_FAILED;
}

/* ---- setting up ---- */

static int set_up(struct train *train, struct error *err)
{
    catch_signals();
    if (world_open(&train->world, train->options.device, train->options.timeout_s, err) < 0 ||
        read_config(train, err) < 0 ||
        world_agree(&train->world, ds_config_hash(train->config), train->options.config, err) < 0 ||
        make_model(train, err) < 0 ||
        world_agree(&train->world, hash_of(train), train->options.model, err) < 0)
        return -1;
    if (make_zero(train, err) < 0 || start_or_go_on(train, err) < 0 ||
        open_samples(train, err) < 0 ||
        world_agree(&train->world, samples_hash(&train->samples), train->options.data, err) < 0)
        return -1;
    train->model->drop_seed = train->state.seed;
    train->step = (struct step){
        .config = train->config, .world = &train->world, .model = train->model,
        .zero = train->zero, .frozen = train->frozen, .samples = &train->samples,
        .shards = train->shards, .state = &train->state, .lr_scale = train->step.lr_scale,
    };
    step_init(&train->step);
    train->save = (struct save){ .dir = train->options.checkpoint_dir, .world = &train->world,
                                 .model = train->model, .zero = train->zero,
                                 .in_background = train->options.async_checkpoint };
    if (train->world.rank != 0)
        return 0;
    if (train->options.export != NULL && weights_prepare(train->options.export, err) < 0)
        return -1;
    tell_plan(train);
    return monitor_open(&train->monitor, train->config, stderr, err);
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

static int read_config(struct train *train, struct error *err)
{
    size_t i;

    train->step.lr_scale = 1;
    train->config = ds_config_read_for_run(train->options.config, err);
    if (train->config == NULL || ds_config_resolve(train->config, train->world.size, err) < 0 ||
        (strcmp(train->options.lr_scale, "ranks") == 0 &&
         ds_config_lr_scale(train->config, &train->step.lr_scale, err) < 0))
        return -1;
    limits_note(train->config, train->world.on_gpu, train->options.activation_checkpointing);
    for (i = 0; i < train->config->notes.count && train->world.rank == 0; i++)
        fprintf(stderr, "muster-train: %s\n", train->config->notes.item[i]);
    return 0;
}

static int make_model(struct train *train, struct error *err)
{
    static const enum dtype types[] = { [DS_FP32] = DTYPE_FLOAT, [DS_FP16] = DTYPE_HALF,
                                        [DS_BF16] = DTYPE_BFLOAT16 };
    const enum ds_dtype     type = ds_config_dtype(train->config);
    struct model_config     shape;

    if (shape_of(train, &shape, err) < 0)
        return -1;
    train->ops = train->world.on_gpu ? gpu_ops(train->world.comm, types[type], err)
                                     : ops_cpu_new(types[type], err);
    if (train->ops == NULL)
        return -1;
    train->model = tuning_model(&train->tuning, &train->options.tuning, &shape, train->ops, err);
    if (train->model == NULL)
        return -1;
    train->model->drops = true;
    train->model->recomputes = train->options.activation_checkpointing;
    train->model->parks = train->config->cpu_checkpointing && train->world.on_gpu;
    return model_activations(train->model, train->config->micro_batch_size,
                             train->options.length, &train->activations, &train->parked, err);
}

static int shape_of(struct train *train, struct model_config *shape, struct error *err)
{
    const struct train_options *options = &train->options;
    struct stat                 status;

    if (stat(options->model, &status) == 0 && S_ISDIR(status.st_mode))
        train->from = options->model;
    if ((train->from != NULL ? weights_shape(train->from, shape, err)
                             : model_config_named(shape, options->model, err)) < 0)
        return -1;
    if (options->vocabulary > 0)
        shape->vocabulary = (int)options->vocabulary;
    if (options->positions > 0)
        shape->positions = (int)options->positions;
    if (options->blocks > 0)
        shape->blocks = (int)options->blocks;
    model_config_resize(shape, (int)options->width, (int)options->heads);
    if (options->dropout >= 0)
        shape->attention_dropout = options->dropout;
    if (options->dropout >= 0 && !model_config_is_llama(shape)) /* its class has no other */
        shape->embedding_dropout = shape->hidden_dropout = options->dropout;
    if (model_config_check(shape, err) < 0)
        return -1;
    if (options->length > model_longest(shape))
        return err_set(err, "--length %lld: the model accepts at most %d tokens",
                       (long long)options->length, model_longest(shape));
    return 0;
}

/* Returns a hash of the model's shape and the options. */
static uint64_t hash_of(const struct train *train)
{
    char          *text = model_config_text(&train->model->config);
    const uint64_t hash = fnv_add(train_options_hash(&train->options), text, strlen(text));

    free(text);
    return tuning_hash(&train->tuning, hash);
}

static int make_zero(struct train *train, struct error *err)
{
    const struct ds_config *config = train->config;
    struct zero_options     options = {
        .stage = (int)config->zero.stage,
        .type = train->model->type,
        .bucket_max = (size_t)config->zero.reduce_bucket_size,
        .clip = config->gradient_clipping,
        .params = offload_of(&config->zero.param),
        .states = offload_of(&config->zero.optimizer),
        .io_block = (size_t)config->aio.block_size,
        .io_depth = (int)config->aio.queue_depth,
    };

    if (train->world.on_gpu &&
        (train->device = options.device = gpu_zero(train->world.comm, err)) == NULL)
        return -1;
    train->zero = open_zero(train, &options, err);
    if (train->zero == NULL || train->model->frozen_bytes == 0)
        return train->zero != NULL ? 0 : -1;
    options.is_frozen = true;
    options.type = DTYPE_UINT8;
    train->frozen = open_zero(train, &options, err);
    return train->frozen != NULL ? 0 : -1;
}

static struct zero *open_zero(const struct train *train, const struct zero_options *options,
                              struct error *err)
{
    const struct model *model = train->model;
    size_t             *counts = xcalloc((size_t)model->layers, sizeof *counts);
    struct zero        *zero;
    int                 i;

    for (i = 0; i < model->layers; i++)
        counts[i] = options->is_frozen ? model->layer[i].frozen_bytes : model->layer[i].count;
    zero = zero_open(train->world.comm, options, counts, model->layers, err);
    free(counts);
    return zero;
}

static struct zero_offload offload_of(const struct ds_offload *offload)
{
    static const enum zero_place places[] = { [DS_DEVICE_NONE] = ZERO_THERE,
                                              [DS_DEVICE_CPU] = ZERO_HOST,
                                              [DS_DEVICE_NVME] = ZERO_FILE };

    return (struct zero_offload){ .place = places[offload->device], .dir = offload->nvme_path,
                                  .buffers = (int)offload->buffer_count,
                                  .is_paged = !offload->pin_memory };
}

static int start_or_go_on(struct train *train, struct error *err)
{
    const struct start start = { .options = &train->options, .adapter = train->tuning.adapter,
                                 .world = &train->world,
                                 .weights = { .model = train->model, .trained = train->zero,
                                              .frozen = train->frozen } };
    struct loss_scale_rules rules;

    train->state = (struct state){ .seed = (uint64_t)train->options.seed };
    loss_scale_init(&train->state.scale, scale_rules(train->config, &rules));
    return start_training(&start, &train->state, &train->base, err);
}

static const struct loss_scale_rules *scale_rules(const struct ds_config *config,
                                                  struct loss_scale_rules *rules)
{
    const struct ds_fp16 *fp16 = &config->fp16;

    if (!fp16->enabled)
        return &loss_scale_none;
    *rules = (struct loss_scale_rules){
        .fixed = fp16->loss_scale,
        .initial_power = (int)fp16->initial_scale_power,
        .window = (int)fp16->loss_scale_window,
        .hysteresis = (int)fp16->hysteresis,
        .is_consecutive = fp16->consecutive_hysteresis,
        .min = fp16->min_loss_scale,
    };
    return rules;
}

/* Uses the seed of the checkpoint, if the training resumes from one. */
static int open_samples(struct train *train, struct error *err)
{
    const struct train_options *options = &train->options;
    const struct model_config  *shape = &train->model->config;
    const int64_t               batch = train->config->train_batch_size;
    const struct data_seen      seen = { train->state.samples, train->state.shards };
    const struct data_text      text = { text_source_encode, &train->source };

    train->source = (struct text_source){
        .option = options->tokenizer, .model = train->from,
        .is_loaded = train->from != NULL && weights_are_in(train->from),
        .is_masked = model_is_masked(shape), .vocabulary = shape->vocabulary,
    };
    if (samples_open(&train->samples, options->data, (int)options->length, model_is_masked(shape),
                     shape->vocabulary, train->state.seed, &text, err) < 0)
        return -1;
    train->last = options->steps;
    if (train->last == 0)
        train->last = (int64_t)train->samples.data->samples / batch;
    if (train->last == 0)
        return err_set(err, "%s: has fewer samples than one step needs, %lld", options->data,
                       (long long)batch);
    if (options->data_shards &&
        (train->shards = data_shards_open(train->last * batch, train->config->micro_batch_size,
                                          &seen, start_generation() > 0, err)) == NULL)
        return -1;
    return 0;
}

static void tell_plan(const struct train *train)
{
    printf("%zu parameters in %s on %s, ZeRO stage %d, %d %s, batch %lld = %lld x %lld x %d\n",
           train->model->count, dtype_name(train->model->type), train->ops->name,
           (int)train->config->zero.stage,
           train->world.size, train->world.size == 1 ? "rank" : "ranks",
           (long long)train->config->train_batch_size,
           (long long)train->config->micro_batch_size,
           (long long)train->config->accumulation_steps, train->world.size);
    tuning_print(&train->tuning, train->model, stdout);
    if (train->source.tokenizer != NULL)
        printf("text becomes tokens by %s\n", train->source.path);
    if (train->step.lr_scale > 1)
        printf("the learning rate is multiplied by %.6g\n", train->step.lr_scale);
    zero_memory_print(train->zero, stdout);
    if (train->frozen != NULL)
        zero_memory_print(train->frozen, stdout);
    printf("%.2f MiB of activations per pass", (double)train->activations / (1 << 20));
    if (train->parked > 0)
        printf(", and %.2f on the host", (double)train->parked / (1 << 20));
    putchar('\n');
    fflush(stdout);
}

/* ---- the loop ---- */

static int run_steps(struct train *train, int *status, struct error *err)
{
    const int64_t      interval = train->options.save_interval;
    struct state      *state = &train->state;
    struct progress    progress = { .config = train->config, .last = train->last,
                                    .is_silent = train->world.rank != 0,
                                    .length = train->samples.length,
                                    .epoch = train->samples.data->samples };
    struct step_result result;
    bool               is_due;
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
        is_due = result.wants[STEP_WANT_SAVE] || result.wants[STEP_WANT_END] ||
                 state->step == train->last || (interval > 0 && state->step % interval == 0);
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

static int leave(struct train *train, struct error *err)
{
    monitor_close(train->monitor);
    step_clear(&train->step);
    zero_close(train->zero);
    zero_close(train->frozen);
    if (train->device != NULL)
        train->device->free(train->device);
    model_free(train->model);
    tuning_clear(&train->tuning);
    train->ops->free(train->ops);
    samples_close(&train->samples);
    text_source_clear(&train->source);
    data_shards_close(train->shards);
    ds_config_free(train->config);
    return world_close(&train->world, err);
}

static int print_config(const struct train_options *options)
{
    const char       *size = getenv("WORLD_SIZE");
    struct error      err;
    struct ds_config *config = ds_config_read_for_run(options->config, &err);

    if (config == NULL || ds_config_resolve(config, size != NULL ? atoi(size) : 1, &err) < 0) {
        fprintf(stderr, "muster-train: %s\n", err.text);
        ds_config_free(config);
        return TRAIN_USAGE;
    }
    ds_config_print(config, stdout);
    ds_config_free(config);
    return TRAIN_OK;
}
