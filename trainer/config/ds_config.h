/* ds_config.h - DeepSpeed's configuration, read strictly
 *
 * Every key that DeepSpeed 0.19 knows is supported, reported as ignored, or refused. Any other
 * key is an error with its line and the nearest known name. The code has no globals and prints
 * nothing, so programs that only examine a configuration can use it, too.
 *
 *     ds_config_read_for_run -> ds_config_resolve(world size) -> use -> ds_config_free
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DS_CONFIG_H
#define MUSTER_DS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/ds_given.h"
#include "config/schedule.h"
#include "err.h"
#include "strlist.h"

#define DS_CONFIG_SIZE_MAX (1 << 20)
#define DS_BUFFERS_MAX     32
#define DS_QUEUE_DEPTH_MAX 64
#define DS_BLOCK_SIZE_MAX  (1 << 30)
#define DS_PROBLEMS_MAX    64

/* The value of integers that were not given; real numbers are then NAN. */
#define DS_UNSET (-1)

/* In the order of the words in ds_table.c. */
enum ds_optimizer_type { DS_ADAM, DS_ADAMW };
enum ds_device { DS_DEVICE_NONE, DS_DEVICE_CPU, DS_DEVICE_NVME };
enum ds_dtype { DS_FP32, DS_FP16, DS_BF16 };
enum ds_allreduce_op { DS_MEAN, DS_SUM };

struct ds_optimizer {
    bool   given;
    int    type; /* enum ds_optimizer_type */
    double lr, betas[2], eps, weight_decay;
    bool   lr_is_given;
    bool   bias_correction;
    bool   adam_w_mode; /* true also for "Adam", unless adam_w_mode says false */
};

struct ds_fp16 {
    bool    enabled;
    double  loss_scale; /* 0: dynamic, with the settings below */
    int64_t initial_scale_power, loss_scale_window, hysteresis;
    bool    consecutive_hysteresis;
    double  min_loss_scale;
};

struct ds_bf16 {
    bool enabled;
};

struct ds_offload {
    int         device; /* enum ds_device */
    const char *nvme_path; /* a directory */
    int64_t     buffer_count;
    bool        pin_memory; /* only for the optimizer */
};

struct ds_aio {
    int64_t block_size; /* bytes */
    int64_t queue_depth;
};

struct ds_zero {
    int64_t           stage;
    int64_t           reduce_bucket_size; /* elements */
    struct ds_offload optimizer, param;
    int64_t           allgather_bucket_size; /* this and reduce_scatter are ignored */
    bool              reduce_scatter;
};

struct ds_monitor {
    bool        enabled;
    const char *output_path, *job_name;
};

struct ds_elasticity {
    bool           enabled;
    int64_t        max_train_batch_size;
    const int64_t *micro_batch_sizes;
    size_t         micro_batches;
    int64_t        min_gpus, max_gpus, num_gpus_per_node, model_parallel_size;
    bool           prefer_larger_batch, ignore_non_elastic_batch_info;
    double         version;
};

struct ds_config {
    int64_t train_batch_size, micro_batch_size, accumulation_steps; /* DS_UNSET: unresolved */
    int64_t steps_per_print;  /* DS_UNSET: never */
    double  gradient_clipping; /* 0: none */
    bool    wall_clock_breakdown, memory_breakdown;
    bool    cpu_checkpointing;
    int     communication_data_type; /* enum ds_dtype; DS_UNSET: the model's */
    int     gradient_allreduce_op;   /* enum ds_allreduce_op */
    int     grad_accum_dtype, param_dtype; /* enum ds_dtype; DS_UNSET: the model's */
    bool    prescale_gradients; /* this and gradient_predivide_factor are ignored */
    double  gradient_predivide_factor;

    struct ds_optimizer  optimizer;
    struct schedule      schedule; /* SCHEDULE_CONSTANT without a scheduler */
    struct ds_fp16       fp16;
    struct ds_bf16       bf16;
    struct ds_zero       zero;
    struct ds_aio        aio;
    struct ds_monitor    tensorboard, csv_monitor;
    struct ds_elasticity elasticity;

    struct ds_given given;        /* by a command line; its values apply already */
    bool           total_is_auto; /* schedule.total_num_steps */
    int64_t        world;       /* ranks; 0 until resolved */
    int64_t        wanted_steps; /* see ds_config_set_steps(); 0: not set */
    int64_t        own_steps; /* the accumulation steps without them; once resolved */
    struct strlist notes;       /* for the user, on ignored settings: "ds_config.json:7: ..." */
    struct ds_read *read;       /* the parsed file, for ds_config_print; owns all texts */
};

/* NULL with "FILE:LINE: KEY: reason" in err if one thing is wrong. If more are, each is added to
 * problems (at most DS_PROBLEMS_MAX; NULL: to nothing), and err has their number. Free with
 * ds_config_free(). */
struct ds_config *ds_config_parse(const char *name, const char *text, size_t size,
                                  const struct ds_given *given, struct strlist *problems,
                                  struct error *err);
void              ds_config_free(struct ds_config *config); /* NULL is fine */

/* The same from a file, for a run with what its command line gives (NULL: nothing). muster keeps
 * the batch of an elastic one by the accumulation steps in MUSTER_GRADIENT_ACCUMULATION_STEPS. */
struct ds_config *ds_config_read_for_run(const char *path, const struct ds_given *given,
                                         struct strlist *problems, struct error *err);

/* Sets scheduler.params.total_num_steps if the file says "auto". A caller who uses the schedule
 * does so before. */
void ds_config_set_total_steps(struct ds_config *config, int64_t steps);

/* Adds a note with the line of that key, for callers that know more than the file. */
void ds_config_note(struct ds_config *config, const char *path, const char *text);

/* Replaces the accumulation steps that the file gives or implies. Call it before
 * ds_config_resolve(). Elasticity ignores it. 0: keep the file's. */
void ds_config_set_steps(struct ds_config *config, int64_t steps);

/* Computes the batch sizes for this number of ranks, from the given ones of the three or from
 * elasticity. */
int ds_config_resolve(struct ds_config *config, int64_t world, struct error *err);

/* Sets by how much a learning rate grows with the ranks, as in scripts for Horovod, once the
 * configuration is resolved. This is the number of ranks, or the number for which muster keeps the
 * batch by other accumulation steps. -1 with err if the file fixes the batch. */
int ds_config_lr_scale(const struct ds_config *config, double *scale, struct error *err);

/* Returns the element type that the model computes in. */
enum ds_dtype ds_config_dtype(const struct ds_config *config);

/* Returns a hash of the values that apply, whatever their origin. */
uint64_t ds_config_hash(const struct ds_config *config);

/* Prints the values that apply as a ds_config.json, each followed by its origin. */
void ds_config_print(const struct ds_config *config, FILE *out);

#endif
