/* setup.c - see setup.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fnv.h"
#include "model/ops.h"
#include "report/free_memory.h"
#include "train/fit.h"
#include "train/gpu.h"
#include "train/limits.h"
#include "train/plan.h"
#include "train/start.h"
#include "weights/weights.h"
#include "xalloc.h"

static int  read_config(struct train *train, struct error *err);
static int  make_model(struct train *train, struct error *err);
static int  shape_of(struct train *train, struct model_config *shape, struct error *err);
static int  judge_rate(const struct train *train, struct error *err);
static uint64_t hash_of(const struct train *train);
static int  check_memory(const struct train *train, struct error *err);
static void add_zero(const struct train *train, bool is_frozen, struct fit *fit);
static bool is_host(enum zero_place place, bool on_gpu);
static int  make_zero(struct train *train, struct error *err);
static struct zero *open_zero(const struct train *train, bool is_frozen, struct error *err);
static struct zero_options zero_wanted(const struct train *train, bool is_frozen);
static size_t *counts_of(const struct model *model, bool is_frozen);
static struct zero_offload offload_of(const struct ds_offload *offload);
static int  start_or_go_on(struct train *train, struct error *err);
static const struct loss_scale_rules *scale_rules(const struct ds_config *config,
                                                  struct loss_scale_rules *rules);
static int64_t times_through(uint64_t samples, int64_t epochs);
static int  open_samples(struct train *train, const struct data_text *text, struct error *err);

int setup_open(struct train *train, struct error *err)
{
    const struct data_text text = { text_source_encode, &train->source };

    if (world_open(&train->world, train->options.device, train->options.timeout_s, err) < 0 ||
        read_config(train, err) < 0 ||
        world_agree(&train->world, ds_config_hash(train->config), train->options.config, err) < 0 ||
        make_model(train, err) < 0 || judge_rate(train, err) < 0 ||
        world_agree(&train->world, hash_of(train), train->options.model, err) < 0)
        return -1;
    if (model_activations(train->model, train->config->micro_batch_size, train->options.length,
                          &train->activations, &train->parked, err) < 0 ||
        make_zero(train, err) < 0 || start_or_go_on(train, err) < 0 ||
        open_samples(train, &text, err) < 0 ||
        world_agree(&train->world, samples_hash(&train->samples), train->options.data, err) < 0)
        return -1;
    train->model->drop_seed = train->state.seed;
    train->step = (struct step){
        .config = train->config, .world = &train->world, .model = train->model,
        .zero = train->zero, .frozen = train->frozen, .samples = &train->samples,
        .shards = train->shards, .state = &train->state, .lr_scale = train->step.lr_scale,
    };
    step_init(&train->step);
    if (train->options.eval_data != NULL &&
        evaluation_open(&train->evaluation, train->options.eval_data,
                        train->config->micro_batch_size, (int)train->options.length,
                        train->state.seed, &text, train->model, &train->world, err) < 0)
        return -1;
    train->save = (struct save){ .dir = train->options.checkpoint_dir, .world = &train->world,
                                 .model = train->model, .zero = train->zero,
                                 .in_background = train->options.async_checkpoint,
                                 .keep = train->options.keep };
    if (train->world.rank != 0)
        return 0;
    if (train->options.export != NULL && weights_prepare(train->options.export, err) < 0)
        return -1;
    plan_print(train, stdout);
    return monitor_open(&train->monitor, train->config, train->options.eval_data != NULL, stderr,
                        err);
}

static int read_config(struct train *train, struct error *err)
{
    struct strlist problems = { 0 };
    size_t         i;

    train->step.lr_scale = 1;
    train->config = ds_config_read_for_run(train->options.config, &train->options.given, &problems,
                                           err);
    for (i = 0; i < problems.count && train->world.rank == 0; i++)
        fprintf(stderr, "muster-train: %s\n", problems.item[i]);
    strlist_clear(&problems);
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
    if (train->world.on_gpu && (train->device = gpu_zero(train->world.comm, err)) == NULL)
        return -1;
    return check_memory(train, err);
}

static int shape_of(struct train *train, struct model_config *shape, struct error *err)
{
    const struct train_options *options = &train->options;
    struct stat                 status;

    if (stat(options->model, &status) == 0 && S_ISDIR(status.st_mode))
        train->from = options->model;
    if (train->from != NULL && weights_check_format(train->from, err) < 0)
        return -1;
    train->has_weights = train->from != NULL && weights_are_in(train->from);
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

/* The default is for a new model, and 50 times too large for one that is tuned. */
static int judge_rate(const struct train *train, struct error *err)
{
    const struct ds_optimizer *optimizer = &train->config->optimizer;
    const struct schedule     *schedule = &train->config->schedule;

    if (!train->has_weights)
        return 0;
    switch (schedule->type) {
    case SCHEDULE_RANGE_TEST:
    case SCHEDULE_ONE_CYCLE:
        return 0; /* they have rates of their own */
    case SCHEDULE_WARMUP_DECAY:
        if (isnan(schedule->warmup_max_lr))
            return err_set(err, "no scheduler.params.warmup_max_lr in %s, so WarmupDecayLR rises "
                                "to 1e-3, and weights were loaded from %s: set it",
                           train->options.config, train->from);
        return 0;
    case SCHEDULE_WARMUP:
        if (!isnan(schedule->warmup_max_lr))
            return 0;
        break;
    default:
        break;
    }
    if (optimizer->lr_is_given)
        return 0;
    return err_set(err, "no optimizer.params.lr in %s, and weights were loaded from %s: give --lr, "
                        "as --lr 1e-5 for a full fine-tuning or --lr 2e-4 for LoRA",
                   train->options.config, train->from);
}

/* Returns a hash of the model's shape and the options. */
static uint64_t hash_of(const struct train *train)
{
    char          *text = model_config_text(&train->model->config);
    const uint64_t hash = fnv_add(train_options_hash(&train->options), text, strlen(text));

    free(text);
    return tuning_hash(&train->tuning, hash);
}

/* All ranks see what is free before any of them takes it: world_agree() comes behind. */
static int check_memory(const struct train *train, struct error *err)
{
    const struct free_memory memory = free_memory_read("");
    const struct roster     *roster = &train->world.roster;
    const struct roster_rank *own = &roster->rank[train->world.rank];
    struct fit               fit = { .recomputes = train->model->recomputes };
    size_t                   bytes, parked;
    int                      i;

    if (model_needs(train->model, train->config->micro_batch_size, train->options.length, &bytes,
                    &parked, err) < 0)
        return -1;
    fit.bytes[FIT_ACTIVATIONS] = train->world.on_gpu ? parked : bytes;
    add_zero(train, false, &fit);
    if (train->model->frozen_bytes > 0)
        add_zero(train, true, &fit);
    if (train->options.checkpoint_dir != NULL && train->options.async_checkpoint)
        fit.bytes[FIT_COPY] = 12 * train->model->count / (size_t)train->world.size;
    for (i = 0; i < roster->size; i++) {
        fit.on_machine += strcmp(roster->rank[i].boot_id, own->boot_id) == 0;
        fit.on_node += roster->rank[i].node == own->node;
    }
    return train->options.no_memory_check ? 0 : fit_judge(&fit, &memory, err);
}

/* Adds what zero will have in the host's memory. */
static void add_zero(const struct train *train, bool is_frozen, struct fit *fit)
{
    const struct zero_options options = zero_wanted(train, is_frozen);
    const bool                on_gpu = train->world.on_gpu;
    size_t                   *counts = counts_of(train->model, is_frozen);
    const struct zero_memory  memory = zero_memory_needed(&options, counts, train->model->layers,
                                                          train->world.size);

    free(counts);
    if (is_host(memory.params_place, on_gpu))
        fit->bytes[FIT_PARAMS] += memory.params;
    if (is_host(memory.grads_place, on_gpu))
        fit->bytes[FIT_GRADS] += memory.grads;
    if (is_host(memory.states_place, on_gpu))
        fit->bytes[FIT_STATES] += memory.states;
    fit->bytes[FIT_BUFFERS] += memory.rings + (on_gpu ? 0 : memory.rooms);
}

static bool is_host(enum zero_place place, bool on_gpu)
{
    return place == ZERO_HOST || (place == ZERO_THERE && !on_gpu);
}

static int make_zero(struct train *train, struct error *err)
{
    train->zero = open_zero(train, false, err);
    if (train->zero == NULL || train->model->frozen_bytes == 0)
        return train->zero != NULL ? 0 : -1;
    train->frozen = open_zero(train, true, err);
    return train->frozen != NULL ? 0 : -1;
}

static struct zero *open_zero(const struct train *train, bool is_frozen, struct error *err)
{
    struct zero_options options = zero_wanted(train, is_frozen);
    size_t             *counts = counts_of(train->model, is_frozen);
    struct zero        *zero;

    options.spared = tuning_spared(train->model, &options.spared_count);
    zero = zero_open(train->world.comm, &options, counts, train->model->layers, err);
    free((void *)options.spared);
    free(counts);
    return zero;
}

static struct zero_options zero_wanted(const struct train *train, bool is_frozen)
{
    const struct ds_config *config = train->config;

    return (struct zero_options){
        .stage = (int)config->zero.stage,
        .is_frozen = is_frozen,
        .type = is_frozen ? DTYPE_UINT8 : train->model->type,
        .sums_in_float = !is_frozen && config->accumulation_steps > 1 &&
                         config->grad_accum_dtype != DS_UNSET &&
                         config->grad_accum_dtype != (int)ds_config_dtype(config),
        .bucket_max = (size_t)config->zero.reduce_bucket_size,
        .clip = config->gradient_clipping,
        .device = train->device,
        .params = offload_of(&config->zero.param),
        .states = offload_of(&config->zero.optimizer),
        .io_block = (size_t)config->aio.block_size,
        .io_depth = (int)config->aio.queue_depth,
    };
}

/* Returns what each layer has of one of the two arrays; the caller frees it. */
static size_t *counts_of(const struct model *model, bool is_frozen)
{
    size_t *counts = xcalloc((size_t)model->layers, sizeof *counts);
    int     i;

    for (i = 0; i < model->layers; i++)
        counts[i] = is_frozen ? model->layer[i].frozen_bytes : model->layer[i].count;
    return counts;
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

/* 0 epochs: once. */
static int64_t times_through(uint64_t samples, int64_t epochs)
{
    int64_t all;

    return __builtin_mul_overflow(samples, epochs > 0 ? epochs : 1, &all) ? INT64_MAX : all;
}

/* Uses the seed of the checkpoint, if the training resumes from one. */
static int open_samples(struct train *train, const struct data_text *text, struct error *err)
{
    const struct train_options *options = &train->options;
    const struct model_config  *shape = &train->model->config;
    const int64_t               batch = train->config->train_batch_size;
    const struct data_seen      seen = { train->state.samples, train->state.shards };

    train->source = (struct text_source){
        .option = options->tokenizer, .template = options->chat_template, .model = train->from,
        .is_loaded = train->has_weights,
        .is_masked = model_is_masked(shape), .vocabulary = shape->vocabulary,
        .records = { .learns_all = strcmp(options->learn, "all") == 0,
                     .bad_max = options->bad_lines, .is_quiet = train->world.rank > 0 },
    };
    if (samples_open(&train->samples, options->data, (int)options->length, model_is_masked(shape),
                     shape->vocabulary, train->state.seed, text, err) < 0)
        return -1;
    train->last = options->steps;
    if (train->last == 0)
        train->last = times_through(train->samples.data->samples, options->epochs) / batch;
    if (train->last == 0)
        return err_set(err, "%s: has fewer samples than one step needs, %lld", options->data,
                       (long long)batch);
    ds_config_set_total_steps(train->config, train->last);
    if (options->data_shards &&
        (train->shards = data_shards_open(train->last * batch, train->config->micro_batch_size,
                                          &seen, start_generation() > 0, err)) == NULL)
        return -1;
    return 0;
}

int setup_close(struct train *train, struct error *err)
{
    monitor_close(train->monitor);
    evaluation_close(&train->evaluation);
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
