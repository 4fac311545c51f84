/* ds_table.c - see ds_table.h
 *
 * Keys and defaults are those of DeepSpeed 0.19. A section comes before its keys.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "config/ds_table.h"

#include <stdio.h>
#include <string.h>

#include "config/ds_config.h"

#define WORKS(PATH, KIND, VALUE, FIELD) \
    { .path = PATH, .kind = KIND, .value = VALUE, .field = offsetof(struct ds_config, FIELD) }
#define CHOICE(PATH, CHOICES, VALUE, FIELD)                             \
    { .path = PATH, .kind = DS_CHOICE, .value = VALUE, .choices = CHOICES, \
      .field = offsetof(struct ds_config, FIELD) }
#define OF(SCHEDULERS, KEY, KIND, VALUE, FIELD)                       \
    { .path = "scheduler.params." KEY, .kind = KIND, .value = VALUE, \
      .field = offsetof(struct ds_config, schedule.FIELD), .schedulers = SCHEDULERS }
#define NO_EFFECT(PATH, KIND, VALUE, NOTE) \
    { .path = PATH, .kind = KIND, .support = DS_NO_EFFECT, .value = VALUE, .note = NOTE }
/* Ignored, but stored, because ds_config.c refuses the values that DeepSpeed refuses. */
#define IDLE(PATH, KIND, VALUE, FIELD, NOTE)                                                \
    { .path = PATH, .kind = KIND, .support = DS_NO_EFFECT, .value = VALUE, .note = NOTE, \
      .field = offsetof(struct ds_config, FIELD) }
#define STAGE3(KEY, KIND, VALUE, NOTE)                                                    \
    { .path = "zero_optimization.stage3_" KEY, .alias = KEY, .kind = KIND,             \
      .support = DS_NO_EFFECT, .value = VALUE, .note = NOTE }
#define REFUSED(PATH, KIND, VALUE, NOTE) \
    { .path = PATH, .kind = KIND, .support = DS_REFUSED, .value = VALUE, .note = NOTE }
#define SECTION(PATH) { .path = PATH, .kind = DS_SECTION, .value = "null" }
/* A number for which some of DeepSpeed's files have a special value. */
#define WORKS_BUT(PATH, KIND, VALUE, NOTHING, FIELD)         \
    { .path = PATH, .kind = KIND, .value = VALUE, .nothing = NOTHING, \
      .field = offsetof(struct ds_config, FIELD) }
#define FOREIGN(PATH, NOTE) \
    { .path = PATH, .kind = DS_FOREIGN, .support = DS_REFUSED, .value = "null", .note = NOTE }
#define REPORTS(PATH, NOTE) \
    { .path = PATH, .kind = DS_FOREIGN, .support = DS_NO_EFFECT, .value = "null", .note = NOTE }

/* Files of older versions have these of fp16 here. */
#define BF16_SCALE(KEY, VALUE) \
    NO_EFFECT("bf16." KEY, DS_NUMBER, VALUE, "bfloat16 needs no loss scale")

#define BIT(TYPE) (1u << (TYPE))
#define WARMUP    BIT(SCHEDULE_WARMUP)
#define DECAY     BIT(SCHEDULE_WARMUP_DECAY)
#define COSINE    BIT(SCHEDULE_WARMUP_COSINE)
#define RANGE     BIT(SCHEDULE_RANGE_TEST)
#define CYCLE     BIT(SCHEDULE_ONE_CYCLE)

#define PYTORCH "it is about PyTorch"
#define ALWAYS "it always applies"
#define LAYERS  "layers are gathered and released whole"
#define DIVIDED_BY_ALL "parameters are divided among all ranks"
#define INTEGERS "tokens are integers"
#define DIVIDED "gradients are divided before they are summed"

const struct ds_row ds_table[] = {
    WORKS("train_batch_size", DS_COUNT, "null", train_batch_size),
    WORKS("train_micro_batch_size_per_gpu", DS_COUNT, "null", micro_batch_size),
    WORKS("gradient_accumulation_steps", DS_COUNT, "null", accumulation_steps),
    REFUSED("managed_gradient_accumulation", DS_BOOL, "true", NULL),
    WORKS_BUT("steps_per_print", DS_COUNT, "null", "[0]", steps_per_print),
    WORKS("gradient_clipping", DS_REAL, "1.0", gradient_clipping),
    WORKS("wall_clock_breakdown", DS_BOOL, "false", wall_clock_breakdown),
    WORKS("memory_breakdown", DS_BOOL, "false", memory_breakdown),
    NO_EFFECT("dump_state", DS_BOOL, "false", "--print-config prints the configuration"),
    CHOICE("communication_data_type", "fp32|fp16|bf16", "null", communication_data_type),
    CHOICE("gradient_allreduce_op", "mean|sum", "\"mean\"", gradient_allreduce_op),
    IDLE("prescale_gradients", DS_BOOL, "false", prescale_gradients, DIVIDED),
    IDLE("gradient_predivide_factor", DS_REAL, "1.0", gradient_predivide_factor, DIVIDED),
    NO_EFFECT("sparse_gradients", DS_BOOL, "false", "gradients are reduced whole: the same sum"),
    NO_EFFECT("disable_allgather", DS_BOOL, "false", "DeepSpeed does not use it, either"),
    NO_EFFECT("graph_harvesting", DS_BOOL, "false", PYTORCH),
    NO_EFFECT("zero_allow_untested_optimizer", DS_BOOL, "false",
              "muster-train has its own optimizers"),
    NO_EFFECT("zero_force_ds_cpu_optimizer", DS_BOOL, "true",
              "muster-train has its own optimizers"),
    NO_EFFECT("dataloader_drop_last", DS_BOOL, "false",
              "every batch is full: the last one of an epoch continues in the next epoch"),
    NO_EFFECT("vocabulary_size", DS_COUNT, "null", "the model's config.json has it"),
    NO_EFFECT("seq_parallel_communication_data_type", DS_TEXT, "\"fp32\"",
              "sequences are not divided between ranks"),
    NO_EFFECT("cuda_visible_devices", DS_ANY, "null", "the launcher chooses the GPUs"),
    NO_EFFECT("log_level", DS_TEXT, "null", "it applies only to DeepSpeed's own log"),
    { .path = "sequence_parallel_size", .kind = DS_COUNT, .support = DS_REFUSED, .value = "1",
      .nothing = "[0, false]" },
    { .path = "sequence_parallel", .kind = DS_FOREIGN, .support = DS_REFUSED, .value = "null",
      .nothing = "[0, 1]" },
    NO_EFFECT("max_grad_norm", DS_REAL, "null",
              "DeepSpeed does not know it here; gradient_clipping clips"),

    SECTION("data_types"),
    CHOICE("data_types.grad_accum_dtype", "fp32|fp16|bf16", "null", grad_accum_dtype),
    CHOICE("data_types.param_dtype", "fp32|fp16|bf16", "null", param_dtype),
    NO_EFFECT("data_types.buffer_dtype", DS_TEXT, "null", "models have no buffers"),
    SECTION("timers"),
    SECTION("timers.throughput"),
    NO_EFFECT("timers.throughput.enabled", DS_BOOL, "true", "it is always on"),
    NO_EFFECT("timers.throughput.synchronized", DS_BOOL, "true", "it is always on"),

    SECTION("optimizer"),
    CHOICE("optimizer.type", "Adam|AdamW", "null", optimizer.type),
    NO_EFFECT("optimizer.legacy_fusion", DS_BOOL, "false", "muster-train has its own Adam"),
    SECTION("optimizer.params"),
    WORKS("optimizer.params.lr", DS_REAL, "1e-3", optimizer.lr),
    WORKS("optimizer.params.betas", DS_PAIR, "[0.9, 0.999]", optimizer.betas),
    WORKS("optimizer.params.eps", DS_REAL, "1e-8", optimizer.eps),
    WORKS("optimizer.params.weight_decay", DS_REAL, "0.0", optimizer.weight_decay),
    WORKS("optimizer.params.bias_correction", DS_BOOL, "true", optimizer.bias_correction),
    WORKS("optimizer.params.adam_w_mode", DS_BOOL, "true", optimizer.adam_w_mode),
    REFUSED("optimizer.params.amsgrad", DS_BOOL, "false", NULL),
    NO_EFFECT("optimizer.params.torch_adam", DS_BOOL, "false", "muster-train has its own Adam"),
    REFUSED("optimizer.params.fp32_optimizer_states", DS_BOOL, "true", NULL),
    REFUSED("optimizer.params.max_grad_norm", DS_REAL, "null", "use gradient_clipping"),

    SECTION("scheduler"),
    CHOICE("scheduler.type", "WarmupLR|WarmupDecayLR|WarmupCosineLR|LRRangeTest|OneCycle",
           "null", schedule.type),
    SECTION("scheduler.params"),
    OF(WARMUP | DECAY, "warmup_min_lr", DS_REAL, "0.0", warmup_min_lr),
    OF(WARMUP | DECAY, "warmup_max_lr", DS_REAL, "null", warmup_max_lr),
    OF(WARMUP | DECAY | COSINE, "warmup_num_steps", DS_COUNT, "1000", warmup_num_steps),
    { .path = "scheduler.params.warmup_type",
      .kind = DS_CHOICE,
      .value = "\"log\"",
      .choices = "log|linear",
      .field = offsetof(struct ds_config, schedule.warmup_type),
      .schedulers = WARMUP | DECAY | COSINE },
    OF(DECAY | COSINE, "total_num_steps", DS_COUNT, "null", total_num_steps),
    OF(COSINE, "warmup_min_ratio", DS_FRACTION, "0.0", warmup_min_ratio),
    OF(COSINE, "cos_min_ratio", DS_FRACTION, "0.0001", cos_min_ratio),
    OF(RANGE, "lr_range_test_min_lr", DS_REAL, "1e-3", range_min_lr),
    OF(RANGE, "lr_range_test_step_size", DS_COUNT, "2000", range_step_size),
    OF(RANGE, "lr_range_test_step_rate", DS_NUMBER, "1.0", range_step_rate),
    OF(RANGE, "lr_range_test_staircase", DS_BOOL, "false", range_staircase),
    OF(CYCLE, "cycle_min_lr", DS_REAL, "null", cycle_min_lr),
    OF(CYCLE, "cycle_max_lr", DS_REAL, "null", cycle_max_lr),
    OF(CYCLE, "decay_lr_rate", DS_REAL, "0.0", decay_lr_rate),
    OF(CYCLE, "cycle_first_step_size", DS_COUNT, "2000", first_step_size),
    OF(CYCLE, "cycle_second_step_size", DS_COUNT, "null", second_step_size),
    OF(CYCLE, "cycle_first_stair_count", DS_NATURAL, "0", first_stair_count),
    OF(CYCLE, "cycle_second_stair_count", DS_NATURAL, "null", second_stair_count),
    OF(CYCLE, "decay_step_size", DS_NATURAL, "0", decay_step_size),
    OF(CYCLE, "cycle_momentum", DS_BOOL, "true", cycle_momentum),
    OF(CYCLE, "cycle_min_mom", DS_FRACTION, "0.8", cycle_min_mom),
    OF(CYCLE, "cycle_max_mom", DS_FRACTION, "0.9", cycle_max_mom),
    OF(CYCLE, "decay_mom_rate", DS_REAL, "0.0", decay_mom_rate),
    NO_EFFECT("scheduler.params.last_batch_iteration", DS_INTEGER, "-1",
              "the checkpoint says where to continue"),

    SECTION("fp16"),
    WORKS("fp16.enabled", DS_BOOL, "false", fp16.enabled),
    NO_EFFECT("fp16.auto_cast", DS_BOOL, "false", INTEGERS),
    WORKS("fp16.loss_scale", DS_REAL, "0.0", fp16.loss_scale),
    WORKS("fp16.initial_scale_power", DS_NATURAL, "16", fp16.initial_scale_power),
    WORKS("fp16.loss_scale_window", DS_COUNT, "1000", fp16.loss_scale_window),
    WORKS("fp16.hysteresis", DS_COUNT, "2", fp16.hysteresis),
    WORKS("fp16.consecutive_hysteresis", DS_BOOL, "false", fp16.consecutive_hysteresis),
    WORKS("fp16.min_loss_scale", DS_REAL, "1.0", fp16.min_loss_scale),
    REFUSED("fp16.fp16_master_weights_and_grads", DS_BOOL, "false", NULL),
    { .path = "bf16", .alias = "bfloat16", .kind = DS_SECTION, .value = "null" },
    WORKS("bf16.enabled", DS_BOOL, "false", bf16.enabled),
    NO_EFFECT("bf16.immediate_grad_update", DS_BOOL, "false",
              "gradients are reduced as soon as they are ready"),
    NO_EFFECT("bf16.check_grad_overflow", DS_BOOL, "true",
              "a step whose gradient is not finite is always skipped"),
    REFUSED("bf16.bf16_master_weights_and_grads", DS_BOOL, "false", NULL),
    REFUSED("bf16.bf16_optimizer_states", DS_BOOL, "false", NULL),
    BF16_SCALE("loss_scale", "0"),
    BF16_SCALE("initial_scale_power", "16"),
    BF16_SCALE("loss_scale_window", "1000"),
    BF16_SCALE("hysteresis", "2"),
    BF16_SCALE("min_loss_scale", "1"),
    NO_EFFECT("bf16.auto_cast", DS_BOOL, "false", INTEGERS),
    FOREIGN("amp", "write \"fp16\": {\"enabled\": true}"),
    FOREIGN("torch_autocast", "write \"bf16\": {\"enabled\": true}"),
    FOREIGN("fp8", "write \"bf16\": {\"enabled\": true}"),

    SECTION("zero_optimization"),
    WORKS("zero_optimization.stage", DS_NATURAL, "0", zero.stage),
    NO_EFFECT("zero_optimization.contiguous_gradients", DS_BOOL, "true", ALWAYS),
    IDLE("zero_optimization.reduce_scatter", DS_BOOL, "true", zero.reduce_scatter,
         "gradients are always reduced by a reduce-scatter"),
    WORKS_BUT("zero_optimization.reduce_bucket_size", DS_COUNT, "5e8", "[0]",
              zero.reduce_bucket_size),
    NO_EFFECT("zero_optimization.use_multi_rank_bucket_allreduce", DS_BOOL, "true",
              "gradients are always reduced by a reduce-scatter"),
    NO_EFFECT("zero_optimization.allgather_partitions", DS_BOOL, "true", ALWAYS),
    IDLE("zero_optimization.allgather_bucket_size", DS_COUNT, "5e8", zero.allgather_bucket_size,
         "parameters are gathered in the buckets of reduce_bucket_size"),
    NO_EFFECT("zero_optimization.overlap_comm", DS_BOOL, "true",
              "communication always overlaps with the backward pass"),
    NO_EFFECT("zero_optimization.load_from_fp32_weights", DS_BOOL, "true", ALWAYS),
    NO_EFFECT("zero_optimization.elastic_checkpoint", DS_BOOL, "false",
              "every checkpoint loads at any world size"),
    SECTION("zero_optimization.offload_param"),
    CHOICE("zero_optimization.offload_param.device", "none|cpu|nvme", "\"none\"",
           zero.param.device),
    WORKS("zero_optimization.offload_param.nvme_path", DS_TEXT, "null", zero.param.nvme_path),
    WORKS_BUT("zero_optimization.offload_param.buffer_count", DS_COUNT, "5", "[0]",
              zero.param.buffer_count),
    NO_EFFECT("zero_optimization.offload_param.buffer_size", DS_COUNT, "1e8",
              "a buffer is as large as the largest layer"),
    NO_EFFECT("zero_optimization.offload_param.max_in_cpu", DS_NATURAL, "1e9",
              "buffer_count layers are in memory"),
    NO_EFFECT("zero_optimization.offload_param.pin_memory", DS_BOOL, "true", ALWAYS),
    SECTION("zero_optimization.offload_optimizer"),
    CHOICE("zero_optimization.offload_optimizer.device", "none|cpu|nvme", "\"none\"",
           zero.optimizer.device),
    WORKS("zero_optimization.offload_optimizer.nvme_path", DS_TEXT, "null",
          zero.optimizer.nvme_path),
    WORKS_BUT("zero_optimization.offload_optimizer.buffer_count", DS_COUNT, "4", "[0]",
              zero.optimizer.buffer_count),
    WORKS("zero_optimization.offload_optimizer.pin_memory", DS_BOOL, "true",
          zero.optimizer.pin_memory),
    NO_EFFECT("zero_optimization.offload_optimizer.pipeline_read", DS_BOOL, "false",
              "reads always overlap"),
    NO_EFFECT("zero_optimization.offload_optimizer.pipeline_write", DS_BOOL, "false",
              "writes always overlap"),
    NO_EFFECT("zero_optimization.offload_optimizer.fast_init", DS_BOOL, "false",
              "it is always fast"),
    NO_EFFECT("zero_optimization.offload_optimizer.ratio", DS_FRACTION, "1.0",
              "the whole state is offloaded"),
    NO_EFFECT("zero_optimization.offload_optimizer.super_offload", DS_BOOL, "false",
              "buckets go to the CPU as soon as they are reduced"),
    NO_EFFECT("zero_optimization.offload_optimizer.cpuadam_cores_perc", DS_FRACTION, "0.8",
              "OMP_NUM_THREADS sets how many cores Adam uses"),
    NO_EFFECT("zero_optimization.sub_group_size", DS_NATURAL, "1e9",
              "the optimizer handles one bucket at a time"),
    STAGE3("prefetch_bucket_size", DS_NATURAL, "5e7", "one layer is gathered ahead"),
    STAGE3("param_persistence_threshold", DS_NATURAL, "1e5", LAYERS),
    STAGE3("model_persistence_threshold", DS_NATURAL, "9223372036854775807", LAYERS),
    STAGE3("max_live_parameters", DS_NATURAL, "1e9", "memory holds two layers of each size"),
    STAGE3("max_reuse_distance", DS_NATURAL, "1e9", LAYERS),
    STAGE3("gather_16bit_weights_on_model_save", DS_BOOL, "false",
           "--export writes the whole weights"),
    NO_EFFECT("zero_optimization.stage3_gather_fp16_weights_on_model_save", DS_BOOL, "false",
              "--export writes the whole weights"),
    STAGE3("module_granularity_threshold", DS_NATURAL, "0", LAYERS),
    STAGE3("use_all_reduce_for_fetch_params", DS_BOOL, "false",
           "parameters are fetched by all-gather"),
    STAGE3("allgather_sequential", DS_BOOL, "false", LAYERS),
    NO_EFFECT("zero_optimization.ignore_unused_parameters", DS_BOOL, "true",
              "all parameters are used"),
    NO_EFFECT("zero_optimization.legacy_stage1", DS_BOOL, "false", "there is only one stage 1"),
    NO_EFFECT("zero_optimization.round_robin_gradients", DS_BOOL, "false",
              "partitions are contiguous"),
    { .path = "zero_optimization.zero_hpz_partition_size", .kind = DS_COUNT,
      .support = DS_NO_EFFECT, .value = "1", .note = DIVIDED_BY_ALL, .nothing = "[-1, 0]" },
    REFUSED("zero_optimization.zero_quantized_weights", DS_BOOL, "false", NULL),
    REFUSED("zero_optimization.zero_quantized_nontrainable_weights", DS_BOOL, "false", NULL),
    REFUSED("zero_optimization.zero_quantized_gradients", DS_BOOL, "false", NULL),
    FOREIGN("zero_optimization.zeropp_loco_param", NULL),
    FOREIGN("zero_optimization.zenflow", "offload_optimizer alone offloads without delay"),
    { .path = "zero_optimization.mics_shard_size", .kind = DS_INTEGER, .support = DS_NO_EFFECT,
      .value = "-1", .note = DIVIDED_BY_ALL, .nothing = "[0, 1]" },
    NO_EFFECT("zero_optimization.mics_hierarchical_params_gather", DS_BOOL, "false",
              DIVIDED_BY_ALL),
    NO_EFFECT("zero_optimization.memory_efficient_linear", DS_BOOL, "true", ALWAYS),
    NO_EFFECT("zero_optimization.pipeline_loading_checkpoint", DS_BOOL, "false",
              "each rank reads its own share"),
    NO_EFFECT("zero_optimization.override_module_apply", DS_BOOL, "true", PYTORCH),
    NO_EFFECT("zero_optimization.log_trace_cache_warnings", DS_BOOL, "false",
              "there is no trace"),
    NO_EFFECT("zero_optimization.enable_sanity_checks", DS_BOOL, "false", "they are always on"),
    NO_EFFECT("zero_optimization.save_muon_momentum_buffer_in_memory", DS_BOOL, "false",
              "there is no Muon"),
    NO_EFFECT("zero_optimization.leaf_module", DS_ANY, "null", LAYERS),
    /* ds_old.c replaces the first two. */
    REFUSED("zero_optimization.cpu_offload", DS_BOOL, "null", NULL),
    { .path = "zero_optimization.cpu_offload_param", .alias = "cpu_offload_params",
      .kind = DS_BOOL, .support = DS_REFUSED, .value = "null" },
    NO_EFFECT("zero_optimization.cpu_offload_use_pin_memory", DS_BOOL, "false",
              "pin_memory in offload_optimizer counts"),
    SECTION("aio"),
    WORKS("aio.block_size", DS_COUNT, "1048576", aio.block_size),
    WORKS("aio.queue_depth", DS_COUNT, "8", aio.queue_depth),
    NO_EFFECT("aio.thread_count", DS_COUNT, "1", "queue_depth threads read and write"),
    NO_EFFECT("aio.single_submit", DS_BOOL, "false", "requests are submitted together"),
    NO_EFFECT("aio.overlap_events", DS_BOOL, "true", ALWAYS),
    NO_EFFECT("aio.intra_op_parallelism", DS_COUNT, "1", "one is enough"),
    NO_EFFECT("aio.use_gds", DS_BOOL, "false", "files are read to host memory"),

    SECTION("tensorboard"),
    WORKS("tensorboard.enabled", DS_BOOL, "false", tensorboard.enabled),
    WORKS("tensorboard.output_path", DS_TEXT, "\"\"", tensorboard.output_path),
    WORKS("tensorboard.job_name", DS_TEXT, "\"DeepSpeedJobName\"", tensorboard.job_name),
    SECTION("csv_monitor"),
    WORKS("csv_monitor.enabled", DS_BOOL, "false", csv_monitor.enabled),
    WORKS("csv_monitor.output_path", DS_TEXT, "\"\"", csv_monitor.output_path),
    WORKS("csv_monitor.job_name", DS_TEXT, "\"DeepSpeedJobName\"", csv_monitor.job_name),
    REPORTS("wandb", "csv_monitor and tensorboard write files"),
    REPORTS("comet", "csv_monitor and tensorboard write files"),
    REPORTS("flops_profiler", "muster-train has no profiler"),
    REPORTS("comms_logger", "communication is not logged"),
    REPORTS("comms_config", "communication is not logged"),
    NO_EFFECT("monitor_config", DS_ANY, "null", "DeepSpeed derives it from the sections above"),

    SECTION("activation_checkpointing"),
    /* As in DeepSpeed, the program and not this section enables activation checkpointing. */
    NO_EFFECT("activation_checkpointing.partition_activations", DS_BOOL, "false",
              "each rank has a whole model"),
    NO_EFFECT("activation_checkpointing.contiguous_memory_optimization", DS_BOOL, "false",
              "memory is allocated only once"),
    WORKS("activation_checkpointing.cpu_checkpointing", DS_BOOL, "false", cpu_checkpointing),
    NO_EFFECT("activation_checkpointing.number_checkpoints", DS_COUNT, "null",
              "--activation_checkpointing keeps the input of every block"),
    NO_EFFECT("activation_checkpointing.synchronize_checkpoint_boundary", DS_BOOL, "false",
              "steps are not timed in parts"),
    NO_EFFECT("activation_checkpointing.profile", DS_BOOL, "false",
              "steps are not timed in parts"),

    SECTION("checkpoint"),
    NO_EFFECT("checkpoint.tag_validation", DS_TEXT, "\"Warn\"", "all ranks get rank 0's tag"),
    NO_EFFECT("checkpoint.load_universal", DS_BOOL, "false",
              "every checkpoint loads at any world size"),
    REFUSED("checkpoint.use_node_local_storage", DS_BOOL, "false", NULL),
    SECTION("checkpoint.parallel_write"),
    NO_EFFECT("checkpoint.parallel_write.pipeline_stage", DS_BOOL, "false",
              "every rank writes its own share"),
    NO_EFFECT("checkpoint.checkpoint_serialization", DS_BOOL, "true", PYTORCH),
    NO_EFFECT("checkpoint.writer", DS_ANY, "null", "there is only one way to write files"),

    SECTION("elasticity"),
    WORKS("elasticity.enabled", DS_BOOL, "false", elasticity.enabled),
    WORKS("elasticity.max_train_batch_size", DS_COUNT, "2000", elasticity.max_train_batch_size),
    WORKS("elasticity.micro_batch_sizes", DS_COUNTS, "[2, 4, 6]", elasticity.micro_batch_sizes),
    WORKS("elasticity.min_gpus", DS_COUNT, "1", elasticity.min_gpus),
    WORKS("elasticity.max_gpus", DS_COUNT, "10000", elasticity.max_gpus),
    NO_EFFECT("elasticity.min_time", DS_NATURAL, "0",
              "the number of ranks does not change during a run"),
    WORKS("elasticity.prefer_larger_batch", DS_BOOL, "true", elasticity.prefer_larger_batch),
    WORKS("elasticity.ignore_non_elastic_batch_info", DS_BOOL, "false",
          elasticity.ignore_non_elastic_batch_info),
    WORKS("elasticity.version", DS_NUMBER, "0.2", elasticity.version),
    WORKS("elasticity.num_gpus_per_node", DS_COUNT, "1", elasticity.num_gpus_per_node),
    WORKS("elasticity.model_parallel_size", DS_COUNT, "1", elasticity.model_parallel_size),

    FOREIGN("autotuning", NULL),
    REPORTS("compile", PYTORCH),
    FOREIGN("compression_training", NULL),
    FOREIGN("curriculum_learning", NULL),
    FOREIGN("data_efficiency", NULL),
    REPORTS("eigenvalue", "only quantize_training uses it"),
    REPORTS("hybrid_engine", "a training generates no text"),
    REPORTS("nebula", "checkpoints are in --checkpoint_dir"),
    REPORTS("pipeline", "each rank computes all layers"),
    FOREIGN("progressive_layer_drop", NULL),
    FOREIGN("quantize_training", NULL),
    FOREIGN("sparse_attention", NULL),
    { .path = "tensor_parallel", .kind = DS_FOREIGN, .support = DS_REFUSED, .value = "null",
      .nothing = "[{\"autotp_size\": 0}, {\"autotp_size\": 1}]" },
    FOREIGN("weight_quantization", NULL),
};
const size_t ds_rows = sizeof ds_table / sizeof ds_table[0];
_Static_assert(sizeof ds_table / sizeof ds_table[0] <= DS_ROWS_MAX, "too many rows for ds_read.h");

#define NAME_LENGTH_MAX 64

static size_t section_length(const char *path);
static size_t edit_distance(const char *name, size_t length, const char *known);

const struct ds_row *ds_row_find(const char *path)
{
    const size_t section = section_length(path);
    size_t       i;

    for (i = 0; i < ds_rows; i++) {
        const struct ds_row *row = &ds_table[i];

        if (strcmp(row->path, path) == 0)
            return row;
        if (row->alias != NULL && section_length(row->path) == section &&
            strncmp(row->path, path, section) == 0 && strcmp(row->alias, path + section) == 0)
            return row;
    }
    return NULL;
}

void ds_suggest(const char *path, char *text, size_t size)
{
    const size_t section = section_length(path), length = strlen(path + section);
    const char  *nearest = NULL, *known, *elsewhere = NULL;
    size_t       i, distance, least = length / 3 + 2;

    text[0] = '\0';
    if (length > NAME_LENGTH_MAX)
        return;
    for (i = 0; i < ds_rows; i++) {
        known = ds_table[i].path + section_length(ds_table[i].path);
        if (strcmp(known, path + section) == 0 && elsewhere == NULL)
            elsewhere = ds_table[i].path;
        if ((size_t)(known - ds_table[i].path) != section ||
            strncmp(path, ds_table[i].path, section) != 0)
            continue;
        distance = edit_distance(path + section, length, known);
        if (distance < least) {
            least = distance;
            nearest = known;
        }
    }
    if (nearest != NULL)
        snprintf(text, size, " (did you mean \"%s\"?)", nearest);
    else if (elsewhere != NULL)
        snprintf(text, size, " (it is known as %s)", elsewhere);
}

/* Returns the length of the section with its dot: for "fp16.enabled" that of "fp16.". */
static size_t section_length(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot == NULL ? 0 : (size_t)(dot + 1 - path);
}

/* Computes the Levenshtein distance with one row of memory. */
static size_t edit_distance(const char *name, size_t length, const char *known)
{
    size_t cost[NAME_LENGTH_MAX + 1], i, j, diagonal, best;

    for (i = 0; i <= length; i++)
        cost[i] = i;
    for (j = 0; known[j] != '\0'; j++) {
        diagonal = cost[0];
        cost[0] = j + 1;
        for (i = 0; i < length; i++) {
            best = diagonal + (name[i] != known[j]);
            diagonal = cost[i + 1];
            if (cost[i] + 1 < best)
                best = cost[i] + 1;
            if (diagonal + 1 < best)
                best = diagonal + 1;
            cost[i + 1] = best;
        }
    }
    return cost[length];
}
