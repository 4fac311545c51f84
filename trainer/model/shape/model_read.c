/* model_read.c - the shape of a model from config.json; see model_config.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "model/shape/model_keys.h"

static int  take_all(struct model_config *config, json_t *root, struct error *err);
static int  take_kind(struct model_config *config, const json_t *root, struct error *err);
static int  take_number(struct model_config *config, const json_t *root,
                        const struct number_key *key, struct error *err);
static int  take_real(struct model_config *config, const json_t *root,
                      const struct real_key *key, struct error *err);
static int  take_flag(struct model_config *config, const json_t *root,
                      const struct flag_key *key, struct error *err);
static int  check_fixed(const struct model_config *config, const json_t *root,
                        struct error *err);
static int  take_window(struct model_config *config, const json_t *root, struct error *err);
static int  take_layer_types(struct model_config *config, const json_t *root,
                             struct error *err);
static int  take_count(const json_t *root, const char *key, int absent, int min, int *value,
                       struct error *err);
static int  check_unknown(const struct model_config *config, json_t *root, struct error *err);
static bool is_known(int kind, const char *key);
static bool matches(const char *pattern, const char *key);

int model_config_parse(struct model_config *config, const char *name, const char *text,
                       size_t size, struct error *err)
{
    json_error_t why;
    struct error reason;
    json_t      *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    int          rc;

    if (root == NULL)
        return err_set(err, "%s:%d: %s", name, why.line, why.text);
    *config = (struct model_config){ 0 };
    rc = take_all(config, root, &reason);
    json_decref(root);
    return rc < 0 ? err_set(err, "%s: %s", name, reason.text) : 0;
}

static int take_all(struct model_config *config, json_t *root, struct error *err)
{
    int bit;

    if (take_kind(config, root, err) < 0)
        return -1;
    bit = 1 << config->kind;
    if (json_is_object(json_object_get(root, "quantization_config")))
        return err_set(err, "quantization_config: this program trains no quantized weights: "
                            "take the model from which they were made");
    for (const struct number_key *key = number_keys; key->key != NULL; key++)
        if (key->kinds & bit && take_number(config, root, key, err) < 0)
            return -1;
    for (const struct real_key *key = real_keys; key->key != NULL; key++)
        if (key->kinds & bit && take_real(config, root, key, err) < 0)
            return -1;
    for (const struct flag_key *key = flag_keys; key->key != NULL; key++)
        if (key->kinds & bit && take_flag(config, root, key, err) < 0)
            return -1;
    if (bit & IN_QWEN2)
        config->qkv_bias = true;
    config->head_norm = bit & IN_QWEN3;
    if (check_fixed(config, root, err) < 0 ||
        (bit & IN_FAMILY &&
         (take_window(config, root, err) < 0 || model_rope_read(config, root, err) < 0)) ||
        check_unknown(config, root, err) < 0)
        return -1;
    return model_config_check(config, err);
}

static int take_kind(struct model_config *config, const json_t *root, struct error *err)
{
    const char *type = json_string_value(json_object_get(root, "model_type"));
    char        names[100] = "";
    size_t      at = 0;
    int         i;

    if (type == NULL)
        return err_set(err, "model_type is missing");
    for (i = 0; i < MODEL_KINDS; i++) {
        if (strcmp(type, model_kind_names[i].type) == 0) {
            config->kind = (enum model_kind)i;
            return 0;
        }
        if (at < sizeof names)
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s",
                                   i == 0 ? "" : i < MODEL_KINDS - 1 ? ", " : " or ",
                                   model_kind_names[i].type);
    }
    return err_set(err, "model_type '%.60s' is not %s", type, names);
}

static int take_number(struct model_config *config, const json_t *root,
                       const struct number_key *key, struct error *err)
{
    int          *field = (int *)((char *)config + key->field);
    const json_t *value = json_object_get(root, key->key);

    if (json_is_null(value) && key->null_is_0)
        return 0;
    if (value != NULL && !json_is_null(value))
        return take_count(root, key->key, 0, 1, field, err);
    if (key->absent == KEY_REQUIRED)
        return err_set(err, "%s is missing", key->key);
    *field = key->absent;
    if (key->absent == KEY_FOUR_WIDTHS)
        *field = config->width <= MODEL_WIDTH_MAX ? 4 * config->width : INT_MAX;
    return 0;
}

/* A missing key and null mean absent. */
static int take_count(const json_t *root, const char *key, int absent, int min, int *value,
                      struct error *err)
{
    const json_t *given = json_object_get(root, key);

    *value = absent;
    if (given == NULL || json_is_null(given))
        return 0;
    if (!json_is_integer(given) || json_integer_value(given) < min ||
        json_integer_value(given) > INT_MAX)
        return err_set(err, "%s is not a %s integer", key, min > 0 ? "positive" : "non-negative");
    *value = (int)json_integer_value(given);
    return 0;
}

static int take_real(struct model_config *config, const json_t *root,
                     const struct real_key *key, struct error *err)
{
    double       *field = (double *)(void *)((char *)config + key->field);
    const json_t *given = json_object_get(root, key->key);

    *field = key->absent;
    if (given == NULL || json_is_null(given))
        return 0;
    *field = json_number_value(given);
    if (!json_is_number(given) || !(*field >= 0 && *field < 1))
        return err_set(err, "%s is not a number of at least 0 and less than 1", key->key);
    return 0;
}

static int take_flag(struct model_config *config, const json_t *root,
                     const struct flag_key *key, struct error *err)
{
    bool         *field = (bool *)((char *)config + key->field);
    const json_t *given = json_object_get(root, key->key);

    if (given != NULL && !json_is_null(given) && !json_is_boolean(given))
        return err_set(err, "%s is not true or false", key->key);
    *field = json_is_true(given) != key->is_not;
    return 0;
}

static int check_fixed(const struct model_config *config, const json_t *root,
                       struct error *err)
{
    for (const struct fixed_key *key = fixed_keys; key->key != NULL; key++) {
        const json_t *given = json_object_get(root, key->key);
        json_t       *want;
        bool          same;

        if (!(key->kinds & 1 << config->kind) || given == NULL)
            continue;
        want = json_loads(key->value, JSON_DECODE_ANY, NULL);
        same = json_equal(given, want);
        json_decref(want);
        if (!same)
            return err_set(err, "%s is not %s: this model is not supported", key->key,
                           key->value);
    }
    return 0;
}

/* Which blocks attend to a window only. Like transformers' classes: Mistral has it in each
 * block; Qwen has it from max_window_layers on, or where layer_types says so. */
static int take_window(struct model_config *config, const json_t *root, struct error *err)
{
    const bool    is_mistral = config->kind == MODEL_MISTRAL;
    const json_t *given = json_object_get(root, "sliding_window");
    const json_t *uses = json_object_get(root, "use_sliding_window");

    if (config->kind == MODEL_LLAMA)
        return take_layer_types(config, root, err);
    if (uses != NULL && !json_is_boolean(uses) && !is_mistral)
        return err_set(err, "use_sliding_window is not true or false");
    if ((is_mistral || json_is_true(uses)) && !json_is_null(given) &&
        take_count(root, "sliding_window", 4096, 1, &config->window, err) < 0)
        return -1;
    if (!is_mistral && config->window > 0 &&
        take_count(root, "max_window_layers", 28, 0, &config->full_blocks, err) < 0)
        return -1;
    if (config->full_blocks >= config->blocks &&
        !json_is_array(json_object_get(root, "layer_types")))
        config->window = config->full_blocks = 0;
    return take_layer_types(config, root, err);
}

static int take_layer_types(struct model_config *config, const json_t *root,
                            struct error *err)
{
    const json_t *list = json_object_get(root, "layer_types");
    const bool    is_qwen = 1 << config->kind & IN_QWENS;
    int           full = 0, i;

    if (list == NULL || json_is_null(list))
        return 0;
    if (json_array_size(list) != (size_t)config->blocks)
        return err_set(err, "layer_types is not a list of %d texts, one for each block",
                       config->blocks);
    for (i = 0; i < config->blocks; i++) {
        const char *type = json_string_value(json_array_get(list, (size_t)i));

        if (type != NULL && strcmp(type, "full_attention") == 0 && full == i)
            full++;
        else if (type == NULL || strcmp(type, "sliding_attention") != 0)
            return err_set(err, type != NULL && strcmp(type, "full_attention") == 0
                                ? "layer_types: '%.60s' comes after sliding_attention: only "
                                  "models whose first blocks have full attention are supported"
                                : "layer_types: '%.60s' is not full_attention or "
                                  "sliding_attention",
                           type != NULL ? type : "");
    }
    if (is_qwen ? config->window == 0 && full < config->blocks
                : full != (config->window > 0 ? 0 : config->blocks))
        return err_set(err, "layer_types and sliding_window contradict each other");
    if (full == config->blocks)
        config->window = 0;
    config->full_blocks = config->window > 0 ? full : 0;
    return 0;
}

/* Refuses what may change the computation: all such keys, so that one look is enough. */
static int check_unknown(const struct model_config *config, json_t *root, struct error *err)
{
    char        names[600] = "";
    size_t      at = 0;
    const char *key;
    json_t     *value;

    json_object_foreach(root, key, value) {
        if (json_is_null(value) || json_is_false(value) || key[0] == '_' ||
            is_known(config->kind, key) || at >= sizeof names)
            continue;
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%.60s", at > 0 ? ", " : "",
                               key);
    }
    if (at > 0)
        return err_set(err, "%s: unknown, and may change what the model computes; remove from "
                            "the file what does not", names);
    return 0;
}

static bool is_known(int kind, const char *key)
{
    const int bit = 1 << kind;

    for (const struct number_key *row = number_keys; row->key != NULL; row++)
        if (row->kinds & bit && strcmp(row->key, key) == 0)
            return true;
    for (const struct real_key *row = real_keys; row->key != NULL; row++)
        if (row->kinds & bit && strcmp(row->key, key) == 0)
            return true;
    for (const struct flag_key *row = flag_keys; row->key != NULL; row++)
        if (row->kinds & bit && strcmp(row->key, key) == 0)
            return true;
    for (const struct fixed_key *row = fixed_keys; row->key != NULL; row++)
        if (row->kinds & bit && strcmp(row->key, key) == 0)
            return true;
    for (const struct other_key *row = other_keys; row->key != NULL; row++)
        if (row->kinds & bit && matches(row->key, key))
            return true;
    return false;
}

/* A * at one end of the pattern stands for any text. */
static bool matches(const char *pattern, const char *key)
{
    const size_t length = strlen(pattern), size = strlen(key);

    if (pattern[0] == '*')
        return size >= length - 1 && strcmp(key + size - (length - 1), pattern + 1) == 0;
    if (pattern[length - 1] == '*')
        return strncmp(key, pattern, length - 1) == 0;
    return strcmp(key, pattern) == 0;
}
