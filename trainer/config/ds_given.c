/* ds_given.c - see ds_given.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "config/ds_given.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static int     give_rate(double lr, json_t *root, struct error *err);
static int     give_warmup(int64_t steps, json_t *root, struct error *err);
static json_t *section(json_t *root, const char *name);
static json_t *params_of(json_t *named, const char *type);
static bool    rises_to_max(const char *scheduler);

int ds_given_apply(const struct ds_given *given, json_t *root, struct error *err)
{
    if (given->micro_batch > 0)
        json_object_set_new(root, "train_micro_batch_size_per_gpu",
                            json_integer(given->micro_batch));
    if (given->accumulation > 0)
        json_object_set_new(root, "gradient_accumulation_steps",
                            json_integer(given->accumulation));
    if (given->warmup > 0 && give_warmup(given->warmup, root, err) < 0)
        return -1;
    return given->lr > 0 ? give_rate(given->lr, root, err) : 0;
}

const char *ds_given_option(const struct ds_given *given, const char *path)
{
    const struct {
        const char *path, *option;
        bool        is_given;
    } all[] = {
        { "train_micro_batch_size_per_gpu", "--micro-batch", given->micro_batch > 0 },
        { "gradient_accumulation_steps", "--accumulation", given->accumulation > 0 },
        { "optimizer.params.lr", "--lr", given->lr > 0 },
        { "scheduler.params.warmup_max_lr", "--lr", given->lr > 0 },
        { "scheduler.params.warmup_num_steps", "--warmup", given->warmup > 0 },
    };
    size_t i;

    for (i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].is_given && strcmp(path, all[i].path) == 0)
            return all[i].option;
    return NULL;
}

/* The rate to which a scheduler rises replaces that of the optimizer. */
static int give_rate(double lr, json_t *root, struct error *err)
{
    json_t     *scheduler = json_object_get(root, "scheduler");
    const char *type = json_string_value(json_object_get(scheduler, "type"));

    if (type != NULL && (strcmp(type, "OneCycle") == 0 || strcmp(type, "LRRangeTest") == 0))
        return err_set(err, "--lr: the scheduler %s has rates of its own", type);
    json_object_set_new(params_of(section(root, "optimizer"), "AdamW"), "lr", json_real(lr));
    if (type != NULL && rises_to_max(type))
        json_object_set_new(params_of(scheduler, type), "warmup_max_lr", json_real(lr));
    return 0;
}

static int give_warmup(int64_t steps, json_t *root, struct error *err)
{
    const bool  is_own = !json_is_object(json_object_get(root, "scheduler"));
    json_t     *params = params_of(section(root, "scheduler"), "WarmupLR");
    const char *type = json_string_value(
        json_object_get(json_object_get(root, "scheduler"), "type"));

    if (type != NULL && !rises_to_max(type) && strcmp(type, "WarmupCosineLR") != 0)
        return err_set(err, "--warmup: the scheduler %s has no warm-up", type);
    if (is_own)
        json_object_set_new(params, "warmup_type", json_string("linear"));
    json_object_set_new(params, "warmup_num_steps", json_integer(steps));
    return 0;
}

/* Returns the object of this name, which is made if there is none; NULL: it is something else. */
static json_t *section(json_t *root, const char *name)
{
    json_t *is = json_object_get(root, name);

    if (is == NULL || json_is_null(is)) {
        json_object_set_new(root, name, json_object());
        is = json_object_get(root, name);
    }
    return json_is_object(is) ? is : NULL;
}

/* type: that of a section without type. */
static json_t *params_of(json_t *named, const char *type)
{
    if (json_object_get(named, "type") == NULL)
        json_object_set_new(named, "type", json_string(type));
    return section(named, "params");
}

static bool rises_to_max(const char *scheduler)
{
    return strcmp(scheduler, "WarmupLR") == 0 || strcmp(scheduler, "WarmupDecayLR") == 0;
}
