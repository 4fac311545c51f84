/* ds_config.h - DeepSpeed's configuration, read strictly
 *
 * Every key that DeepSpeed 0.19 knows works, or is reported as without effect, or is refused;
 * any other is an error with its line and the nearest name. No globals, nothing printed: also
 * what looks at a configuration without training takes this.
 *
 *     ds_config_read -> ds_config_resolve(world size) -> use -> ds_config_free
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DS_CONFIG_H
#define MUSTER_DS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/schedule.h"
#include "err.h"
#include "strlist.h"

#define DS_CONFIG_SIZE_MAX (1 << 20)
#define DS_BUFFERS_MAX     32
#define DS_QUEUE_DEPTH_MAX 64
#define DS_BLOCK_SIZE_MAX  (1 << 30)

/* Numbers that were not given: DS_UNSET, or NAN where they are not whole. */
#define DS_UNSET (-1)

/* As the words of their keys stand in ds_table.c. */
enum ds_optimizer_type { DS_ADAM, DS_ADAMW };
enum ds_device { DS_DEVICE_NONE, DS_DEVICE_CPU, DS_DEVICE_NVME };
enum ds_dtype { DS_FP32, DS_FP16, DS_BF16 };
enum ds_allreduce_op { DS_MEAN, DS_SUM };

struct ds_optimizer {
    bool   given;
    int    type; /* enum ds_optimizer_type */
    double lr, betas[2], eps, weight_decay;
    bool   bias_correction;
    bool   adam_w_mode; /* true also for "Adam", unless adam_w_mode says false */
};

struct ds_fp16 {
    bool    enabled;
    double  loss_scale; /* 0: dynamic, and then */
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
    bool        pin_memory; /* of the optimizer */
};

struct ds_aio {
    int64_t block_size; /* bytes */
    int64_t queue_depth;
};

struct ds_zero {
    int64_t           stage;
    int64_t           reduce_bucket_size; /* elements */
    struct ds_offload optimizer, param;
    int64_t           allgather_bucket_size; /* these two have no effect */
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
    int64_t train_batch_size, micro_batch_size, accumulation_steps; /* DS_UNSET until resolved */
    int64_t steps_per_print;  /* DS_UNSET: never */
    double  gradient_clipping; /* 0: none */
    bool    wall_clock_breakdown, memory_breakdown;
    int     communication_data_type; /* enum ds_dtype; DS_UNSET: the model's */
    int     gradient_allreduce_op;   /* enum ds_allreduce_op */
    int     grad_accum_dtype, param_dtype; /* likewise */
    bool    prescale_gradients; /* these two have no effect */
    double  gradient_predivide_factor;

    struct ds_optimizer  optimizer;
    struct schedule      schedule; /* SCHEDULE_CONSTANT without a scheduler */
    struct ds_fp16       fp16;
    struct ds_bf16       bf16;
    struct ds_zero       zero;
    struct ds_aio        aio;
    struct ds_monitor    tensorboard, csv_monitor;
    struct ds_elasticity elasticity;

    int64_t        world;       /* ranks; 0 until resolved */
    int64_t        wanted_steps; /* 0: none */
    struct strlist notes;       /* what has no effect, for the user: "ds_config.json:7: ..." */
    struct ds_read *read;       /* what was read, for ds_config_print; owns all texts */
};

/* NULL with "FILE:LINE: what is wrong". Free with ds_config_free. */
struct ds_config *ds_config_read(const char *path, struct error *err);
struct ds_config *ds_config_parse(const char *name, const char *text, size_t size,
                                  struct error *err);
void              ds_config_free(struct ds_config *config); /* NULL is fine */

/* Add a note, with the line of that key: for callers that know more than the file. */
void ds_config_note(struct ds_config *config, const char *path, const char *text);

/* These accumulation steps, instead of those that were given or follow; before ds_config_resolve.
 * Elasticity has its own. 0: none. */
void ds_config_set_steps(struct ds_config *config, int64_t steps);

/* Work out the batch sizes for this many ranks, from what was given of the three or from
 * elasticity. */
int ds_config_resolve(struct ds_config *config, int64_t world, struct error *err);

/* The element type that the model computes in. */
enum ds_dtype ds_config_dtype(const struct ds_config *config);

/* Of the values that take effect, wherever they come from. */
uint64_t ds_config_hash(const struct ds_config *config);

/* What takes effect, as a ds_config.json with each value's origin behind it. */
void ds_config_print(const struct ds_config *config, FILE *out);

#endif
