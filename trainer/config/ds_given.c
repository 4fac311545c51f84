/* ds_given.c - see ds_given.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "config/ds_given.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "config/ds_config.h"
#include "config/ds_read.h"
#include "config/ds_value.h"

#define MICRO "train_micro_batch_size_per_gpu"
#define STEPS "gradient_accumulation_steps"
#define RATE  "optimizer.params.lr"

static void give_sizes(struct ds_config *config, json_t *root);
static void give_rate(struct ds_config *config, json_t *root);
static void fill_rate(struct ds_config *config, json_t *root);
static json_t *params_in(const json_t *root, const char *name);
static void give_warmup(struct ds_config *config, json_t *root);
static void give(struct ds_config *config, const char *path, json_t *values, json_t *value);
static void drop(struct ds_config *config, json_t *root, const char *key, const char *option);
static bool is_auto(const json_t *value);
static const char *scheduler_of(const json_t *root);
static json_t *section(json_t *root, const char *name);
static json_t *params_of(json_t *named, const char *type);
static bool has_own_rates(const char *scheduler);
static bool rises_to_max(const char *scheduler);

void ds_given_apply(struct ds_config *config, json_t *root)
{
    give_sizes(config, root);
    if (config->given.warmup > 0)
        give_warmup(config, root);
    if (config->given.lr > 0)
        give_rate(config, root);
    else
        fill_rate(config, root);
}

const char *ds_given_option(const struct ds_given *given, const char *path)
{
    const struct {
        const char *path, *option;
        bool        is_given;
    } all[] = {
        { MICRO, "--micro-batch", given->micro_batch > 0 },
        { STEPS, "--accumulation", given->accumulation > 0 },
        { RATE, "--lr", given->lr > 0 },
        { DS_WARMUP_MAX, "--lr", given->lr > 0 },
        { "scheduler.params.warmup_num_steps", "--warmup", given->warmup > 0 },
    };
    size_t i;

    for (i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].is_given && strcmp(path, all[i].path) == 0)
            return all[i].option;
    return NULL;
}

static void give_sizes(struct ds_config *config, json_t *root)
{
    const struct ds_given *given = &config->given;
    const json_t          *batch = json_object_get(root, "train_batch_size");
    const bool             stays = batch != NULL && !json_is_null(batch) && !is_auto(batch);

    if (given->micro_batch > 0)
        give(config, MICRO, root, json_integer(given->micro_batch));
    if (given->accumulation > 0)
        give(config, STEPS, root, json_integer(given->accumulation));
    if (stays && given->micro_batch > 0 && given->accumulation <= 0)
        drop(config, root, STEPS, "--micro-batch");
    if (stays && given->accumulation > 0 && given->micro_batch <= 0)
        drop(config, root, MICRO, "--accumulation");
}

/* The rate to which a scheduler rises replaces that of the optimizer. */
static void give_rate(struct ds_config *config, json_t *root)
{
    const char *type = scheduler_of(root);

    if (type != NULL && has_own_rates(type)) {
        ds_read_problem(config->read, "scheduler.type", "%s has rates of its own: leave --lr out",
                        type);
        return;
    }
    give(config, RATE, params_of(section(root, "optimizer"), "AdamW"),
         json_real(config->given.lr));
    if (type != NULL && rises_to_max(type))
        give(config, DS_WARMUP_MAX, params_of(json_object_get(root, "scheduler"), type),
             json_real(config->given.lr));
}

/* Where the rate to which a scheduler rises is "auto", it is that of the optimizer. It is
 * not set to a default: with loaded weights somebody must have given one of the two. */
static void fill_rate(struct ds_config *config, json_t *root)
{
    const struct ds_row *row = ds_row_find(RATE);
    json_t              *params = params_in(root, "scheduler");
    const json_t        *lr = json_object_get(params_in(root, "optimizer"), "lr");
    json_t              *rate = ds_value_unquote(row, lr);
    char                 text[DS_VALUE_TEXT], note[DS_VALUE_TEXT + 60];
    bool                 is_given;

    if (!is_auto(json_object_get(params, "warmup_max_lr"))) {
        json_decref(rate);
        return;
    }
    if (rate == NULL && json_is_number(lr))
        rate = json_copy((json_t *)lr);
    is_given = rate != NULL;
    if (!is_given)
        rate = json_loads(row->value, JSON_DECODE_ANY, NULL);
    ds_value_text(rate, text);
    snprintf(note, sizeof note, "\"auto\" means %s here, as " RATE, text);
    ds_read_note(config, DS_WARMUP_MAX, note);
    if (is_given)
        json_object_set(params, "warmup_max_lr", rate);
    else
        json_object_del(params, "warmup_max_lr");
    json_decref(rate);
}

static json_t *params_in(const json_t *root, const char *name)
{
    return json_object_get(json_object_get(root, name), "params");
}

static void give_warmup(struct ds_config *config, json_t *root)
{
    const bool  is_own = !json_is_object(json_object_get(root, "scheduler"));
    json_t     *params = params_of(section(root, "scheduler"), "WarmupLR");
    const char *type = scheduler_of(root);

    if (type != NULL && !rises_to_max(type) && strcasecmp(type, "WarmupCosineLR") != 0) {
        ds_read_problem(config->read, "scheduler.type", "%s has no warm-up: leave --warmup out",
                        type);
        return;
    }
    if (is_own)
        json_object_set_new(params, "warmup_type", json_string("linear"));
    give(config, "scheduler.params.warmup_num_steps", params, json_integer(config->given.warmup));
}

/* Sets the key at the end of path to a value, which it takes over. */
static void give(struct ds_config *config, const char *path, json_t *values, json_t *value)
{
    const char   *dot = strrchr(path, '.'), *key = dot != NULL ? dot + 1 : path;
    const char   *option = ds_given_option(&config->given, path);
    const json_t *old = json_object_get(values, key);
    char          is[DS_VALUE_TEXT], was[DS_VALUE_TEXT], note[2 * DS_VALUE_TEXT + 60];

    ds_value_text(value, is);
    ds_value_text(old, was);
    if (is_auto(old))
        snprintf(note, sizeof note, "\"auto\" means %s here, from %s", is, option);
    else
        snprintf(note, sizeof note, "%s %s replaces %s", option, is, was);
    if (old != NULL && !json_is_null(old) && !json_equal(old, value))
        ds_read_note(config, path, note);
    json_object_set_new(values, key, value);
}

/* Removes the size that follows from what option gives and from train_batch_size. */
static void drop(struct ds_config *config, json_t *root, const char *key, const char *option)
{
    const json_t *old = json_object_get(root, key);
    char          note[96];

    if (old != NULL && !json_is_null(old) && !is_auto(old)) {
        snprintf(note, sizeof note, "ignored: it follows from %s and train_batch_size", option);
        ds_read_note(config, key, note);
    }
    json_object_del(root, key);
}

static bool is_auto(const json_t *value)
{
    return json_is_string(value) && strcmp(json_string_value(value), "auto") == 0;
}

/* Returns the type of the file's scheduler, or NULL. */
static const char *scheduler_of(const json_t *root)
{
    return json_string_value(json_object_get(json_object_get(root, "scheduler"), "type"));
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

static bool has_own_rates(const char *scheduler)
{
    return strcasecmp(scheduler, "OneCycle") == 0 || strcasecmp(scheduler, "LRRangeTest") == 0;
}

static bool rises_to_max(const char *scheduler)
{
    return strcasecmp(scheduler, "WarmupLR") == 0 ||
           strcasecmp(scheduler, "WarmupDecayLR") == 0;
}
