/* ds_config.c - see ds_config.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "config/ds_config.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/ds_read.h"
#include "ds/elastic.h"
#include "file.h"
#include "number.h"
#include "xalloc.h"

static void report(const struct ds_read *read, struct strlist *problems, struct error *err);
static void check_all(struct ds_config *config);
static int  check_dtypes(struct ds_config *config, struct error *err);
static int  check_scale(struct ds_config *config, struct error *err);
static int  check_zero(struct ds_config *config, struct error *err);
static int  check_dividing(struct ds_config *config, struct error *err);
static int  check_optimizer_offload(struct ds_config *config, struct error *err);
static int  check_param_offload(struct ds_config *config, struct error *err);
static int  check_queue(struct ds_config *config, struct error *err);
static int  check_block(struct ds_config *config, struct error *err);
static int  check_optimizer(struct ds_config *config, struct error *err);
static int  check_offload(struct ds_config *config, const char *section,
                          struct ds_offload *offload, int64_t stage, struct error *err);
static int  check_most(const struct ds_config *config, const char *path, int64_t value,
                       int64_t most, struct error *err);
static int  check_scheduler(struct ds_config *config, struct error *err);
static int  check_elasticity(struct ds_config *config, struct error *err);
static int  resolve_elastic(struct ds_config *config, int64_t world, struct error *err);
static int  resolve_batch(struct ds_config *config, int64_t world, struct error *err);
static int  complain(const struct ds_config *config, const char *path, struct error *err,
                     const char *text);

struct ds_config *ds_config_parse(const char *name, const char *text, size_t size,
                                  const struct ds_given *given, struct strlist *problems,
                                  struct error *err)
{
    struct ds_config *config = xcalloc(1, sizeof *config);

    config->read = ds_read_new(name);
    if (given != NULL)
        config->given = *given;
    if (ds_read_values(config, text, size, err) == 0) {
        /* With a default instead of a bad value, these could find what is not there. */
        if (!config->read->has_bad_value)
            check_all(config);
        if (config->read->found == 0)
            return config;
        report(config->read, problems, err);
    }
    ds_config_free(config);
    return NULL;
}

static void report(const struct ds_read *read, struct strlist *problems, struct error *err)
{
    if (read->found == 1) {
        err_set(err, "%s", read->problems.item[0]);
    } else if (problems == NULL) {
        err_set(err, "%s (the first of %zu problems)", read->problems.item[0], read->found);
    } else {
        strlist_append(problems, &read->problems);
        if (read->found > DS_PROBLEMS_MAX)
            err_set(err, "%s: %zu problems, of which these are the first %d", read->name,
                    read->found, DS_PROBLEMS_MAX);
        else
            err_set(err, "%s: %zu problems", read->name, read->found);
    }
}

void ds_config_free(struct ds_config *config)
{
    if (config == NULL)
        return;
    free((void *)config->elasticity.micro_batch_sizes);
    strlist_clear(&config->notes);
    ds_read_free(config->read);
    free(config);
}

void ds_config_note(struct ds_config *config, const char *path, const char *text)
{
    ds_read_note(config, path, text);
}

/* Checks what several values must have in common. */
static void check_all(struct ds_config *config)
{
    static int (*const checks[])(struct ds_config *, struct error *) = {
        check_dtypes,        check_scale, check_zero,  check_dividing,  check_optimizer_offload,
        check_param_offload, check_queue, check_block, check_scheduler, check_elasticity,
        check_optimizer,
    };
    struct error err;
    size_t       i;

    for (i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if (checks[i](config, &err) < 0)
            ds_read_add_problem(config->read, err.text);
}

static int check_dtypes(struct ds_config *config, struct error *err)
{
    if (config->fp16.enabled && config->bf16.enabled)
        return complain(config, "bf16.enabled", err, "fp16 is enabled as well: choose one");
    if (config->param_dtype != DS_UNSET &&
        config->param_dtype != (int)ds_config_dtype(config))
        return complain(config, "data_types.param_dtype", err,
                        "contradicts fp16.enabled and bf16.enabled");
    return 0;
}

static int check_scale(struct ds_config *config, struct error *err)
{
    if (config->fp16.enabled && config->fp16.loss_scale == 0 && config->fp16.min_loss_scale == 0)
        return complain(config, "fp16.min_loss_scale", err,
                        "must be more than 0 for a dynamic scale");
    return check_most(config, "fp16.initial_scale_power", config->fp16.initial_scale_power, 126,
                      err);
}

static int check_zero(struct ds_config *config, struct error *err)
{
    const struct ds_zero *zero = &config->zero;

    if (zero->stage > 3)
        return complain(config, "zero_optimization.stage", err, "must be 0 to 3");
    if (zero->allgather_bucket_size % 2 != 0)
        return complain(config, "zero_optimization.allgather_bucket_size", err, "must be even");
    if (config->gradient_allreduce_op == DS_SUM && zero->stage == 3)
        return complain(config, "gradient_allreduce_op", err, "stage 3 does not support sum");
    return 0;
}

static int check_dividing(struct ds_config *config, struct error *err)
{
    if (config->zero.stage == 2 && config->zero.reduce_scatter &&
        (config->prescale_gradients || config->gradient_predivide_factor != 1))
        return complain(config,
                        config->prescale_gradients ? "prescale_gradients"
                                                   : "gradient_predivide_factor",
                        err, "stage 2 with reduce_scatter does not support it");
    if (config->gradient_predivide_factor == 0)
        return complain(config, "gradient_predivide_factor", err, "must not be 0");
    return 0;
}

static int check_optimizer_offload(struct ds_config *config, struct error *err)
{
    return check_offload(config, "zero_optimization.offload_optimizer", &config->zero.optimizer, 1,
                         err);
}

static int check_param_offload(struct ds_config *config, struct error *err)
{
    return check_offload(config, "zero_optimization.offload_param", &config->zero.param, 3, err);
}

static int check_queue(struct ds_config *config, struct error *err)
{
    return check_most(config, "aio.queue_depth", config->aio.queue_depth, DS_QUEUE_DEPTH_MAX, err);
}

static int check_block(struct ds_config *config, struct error *err)
{
    return check_most(config, "aio.block_size", config->aio.block_size, DS_BLOCK_SIZE_MAX, err);
}

/* What the stage cannot offload stays where it is: this changes no result. */
static int check_offload(struct ds_config *config, const char *section,
                         struct ds_offload *offload, int64_t stage, struct error *err)
{
    char path[64];

    snprintf(path, sizeof path, "%s.device", section);
    if (offload->device != DS_DEVICE_NONE && config->zero.stage < stage) {
        ds_read_note(config, path,
                     stage == 3 ? "ignored: parameters can be offloaded only in stage 3"
                                : "ignored: the optimizer can be offloaded only in stages 1 to 3");
        offload->device = DS_DEVICE_NONE;
    }
    if (offload->device == DS_DEVICE_NVME && offload->nvme_path == NULL)
        return complain(config, path, err, "nvme_path is missing");
    snprintf(path, sizeof path, "%s.buffer_count", section);
    return check_most(config, path, offload->buffer_count, DS_BUFFERS_MAX, err);
}

static int check_most(const struct ds_config *config, const char *path, int64_t value,
                      int64_t most, struct error *err)
{
    char text[40];

    if (value <= most)
        return 0;
    snprintf(text, sizeof text, "must be at most %" PRId64, most);
    return complain(config, path, err, text);
}

static int check_scheduler(struct ds_config *config, struct error *err)
{
    static const char *const needed[] = { "total_num_steps", "cycle_min_lr", "cycle_max_lr" };
    struct schedule         *schedule = &config->schedule;
    char                     path[64], text[96];
    size_t                   i;

    if (schedule->type == DS_UNSET) {
        schedule->type = SCHEDULE_CONSTANT;
        if (ds_read_has(config, "scheduler"))
            return complain(config, "scheduler", err, "type is missing");
        return 0;
    }
    if (ds_read_check_scheduler(config, err) < 0)
        return -1;
    for (i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        snprintf(path, sizeof path, "scheduler.params.%s", needed[i]);
        if (!(ds_row_find(path)->schedulers & 1u << schedule->type) || ds_read_has(config, path) ||
            (i == 0 && config->total_is_auto))
            continue;
        snprintf(text, sizeof text, "%s needs %s in its params",
                 schedule_name((enum schedule_type)schedule->type), needed[i]);
        return complain(config, "scheduler.type", err, text);
    }
    return 0;
}

static int check_elasticity(struct ds_config *config, struct error *err)
{
    static const char *const batch[] = { "train_batch_size", "train_micro_batch_size_per_gpu",
                                         "gradient_accumulation_steps" };
    size_t                   i;

    if (!config->elasticity.enabled)
        return 0;
    if (!ds_read_has(config, "elasticity.max_train_batch_size"))
        return complain(config, "elasticity", err, "max_train_batch_size is missing");
    if (!ds_read_has(config, "elasticity.micro_batch_sizes"))
        return complain(config, "elasticity", err, "micro_batch_sizes is missing");
    for (i = 0; i < 3 && !config->elasticity.ignore_non_elastic_batch_info; i++)
        if (ds_read_has(config, batch[i]))
            return complain(config, batch[i], err,
                            "elasticity chooses it: remove one of them, or set "
                            "elasticity.ignore_non_elastic_batch_info");
    return 0;
}

static int check_optimizer(struct ds_config *config, struct error *err)
{
    struct ds_optimizer *optimizer = &config->optimizer;

    optimizer->given = ds_read_has(config, "optimizer");
    optimizer->lr_is_given = ds_read_has(config, "optimizer.params.lr");
    if (optimizer->given && optimizer->type == DS_UNSET)
        return complain(config, "optimizer", err, "type is missing");
    return 0;
}

static int complain(const struct ds_config *config, const char *path, struct error *err,
                    const char *text)
{
    return ds_read_error(config->read, path, err, "%s", text);
}

struct ds_config *ds_config_read_for_run(const char *path, const struct ds_given *given,
                                         struct strlist *problems, struct error *err)
{
    const char       *steps_text = getenv("MUSTER_GRADIENT_ACCUMULATION_STEPS");
    struct ds_config *config;
    struct error      why;
    int64_t           steps = 0;
    size_t            size;
    char             *text = file_read(path, DS_CONFIG_SIZE_MAX, &size, err);

    if (text == NULL)
        return NULL;
    config = ds_config_parse(path, text, size, given, problems, err);
    free(text);
    if (config == NULL || steps_text == NULL)
        return config;
    if (parse_number(steps_text, 1, INT_MAX, &steps, &why) == 0) {
        ds_config_set_steps(config, steps);
        return config;
    }
    ds_config_free(config);
    err_set(err, "MUSTER_GRADIENT_ACCUMULATION_STEPS: %s", why.text);
    return NULL;
}

void ds_config_set_total_steps(struct ds_config *config, int64_t steps)
{
    if (config->total_is_auto)
        config->schedule.total_num_steps = steps;
}

void ds_config_set_steps(struct ds_config *config, int64_t steps)
{
    config->wanted_steps = steps;
}

int ds_config_resolve(struct ds_config *config, int64_t world, struct error *err)
{
    if (world < 1)
        return err_set(err, "%s: invalid number of ranks %lld", ds_read_name(config->read),
                       (long long)world);
    if ((config->elasticity.enabled ? resolve_elastic(config, world, err)
                                    : resolve_batch(config, world, err)) < 0)
        return -1;
    config->world = world;
    return 0;
}

static int resolve_elastic(struct ds_config *config, int64_t world, struct error *err)
{
    const struct ds_elasticity  *e = &config->elasticity;
    const struct elastic_request request = {
        .version = e->version,
        .max_batch = e->max_train_batch_size,
        .micro = e->micro_batch_sizes,
        .micros = e->micro_batches,
        .min_ranks = e->min_gpus,
        .max_ranks = e->max_gpus,
        .prefer_larger = e->prefer_larger_batch,
        .ranks_per_node = e->num_gpus_per_node,
        .model_parallel = e->model_parallel_size,
    };
    struct elastic_plan plan;
    struct error        why;
    int                 rc = elastic_plan(&plan, &request, world, &why);

    if (rc < 0) {
        rc = complain(config, "elasticity", err, why.text);
    } else {
        config->train_batch_size = plan.batch;
        config->micro_batch_size = plan.micro;
        config->accumulation_steps =
            plan.batch / (plan.micro * (world / e->model_parallel_size));
    }
    elastic_plan_clear(&plan);
    return rc;
}

/* Computes the missing numbers from the given ones; the last comparison finds a remainder. */
static int resolve_batch(struct ds_config *config, int64_t world, struct error *err)
{
    const bool  has_steps = ds_read_has(config, "gradient_accumulation_steps");
    int64_t     batch = config->train_batch_size, micro = config->micro_batch_size;
    int64_t     steps = has_steps ? config->accumulation_steps : DS_UNSET, product;
    const char *blamed = "train_batch_size";

    if (!ds_read_has(config, "train_batch_size"))
        batch = DS_UNSET;
    if (!ds_read_has(config, "train_micro_batch_size_per_gpu"))
        micro = DS_UNSET;
    if (batch == DS_UNSET && micro == DS_UNSET)
        return complain(config, has_steps ? "gradient_accumulation_steps" : "", err,
                        "train_batch_size or train_micro_batch_size_per_gpu is missing: write "
                        "one, or give --micro-batch");
    config->own_steps = steps != DS_UNSET ? steps : 1;
    if (config->wanted_steps > 0)
        steps = config->wanted_steps;
    if (batch == DS_UNSET)
        blamed = "train_micro_batch_size_per_gpu";
    if (steps == DS_UNSET)
        steps = batch != DS_UNSET && micro != DS_UNSET ? batch / micro / world : 1;
    if (micro == DS_UNSET)
        micro = batch / world / steps;
    if (__builtin_mul_overflow(micro, steps, &product) ||
        __builtin_mul_overflow(product, world, &product))
        return complain(config, blamed, err, "the batch size is too large");
    if (batch == DS_UNSET)
        batch = product;
    if (batch != product || product == 0)
        return ds_read_error(config->read, blamed, err,
                             "%lld is not micro batch %lld%s x accumulation steps %lld%s "
                             "x ranks %lld",
                             (long long)batch, (long long)micro,
                             config->given.micro_batch > 0 ? " (--micro-batch)" : "",
                             (long long)steps,
                             config->given.accumulation > 0 ? " (--accumulation)" : "",
                             (long long)world);
    config->train_batch_size = batch;
    config->micro_batch_size = micro;
    config->accumulation_steps = steps;
    return 0;
}

int ds_config_lr_scale(const struct ds_config *config, double *scale, struct error *err)
{
    const char *fixed = config->elasticity.enabled ? "elasticity" : "train_batch_size";

    if (ds_read_has(config, fixed))
        return complain(config, fixed, err,
                        "with it the batch stays the same for all numbers of ranks, and so must "
                        "the learning rate; give train_micro_batch_size_per_gpu instead, or leave "
                        "--lr-scale out");
    *scale = (double)config->world * (double)config->accumulation_steps / (double)config->own_steps;
    return 0;
}

enum ds_dtype ds_config_dtype(const struct ds_config *config)
{
    return config->fp16.enabled ? DS_FP16 : config->bf16.enabled ? DS_BF16 : DS_FP32;
}
