/* adapter_config.c - adapter_config.json, see adapter.h
 *
 * The keys are those of LoraConfig in PEFT 0.7 to 0.18.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "file.h"
#include "weights/adapter.h"
#include "xalloc.h"

#define CONFIG_MAX ((size_t)1 << 20) /* bytes */

static int  take_all(struct lora *lora, json_t *root, struct error *err);
static int  take_number(const json_t *root, const char *key, double absent, double *number,
                        struct error *err);
static int  take_flag(const json_t *root, const char *key, bool *flag, struct error *err);
static int  take_targets(struct lora *lora, const json_t *value, struct error *err);
static int  take_names(struct lora *lora, bool is_saved, const json_t *value, const char *key,
                       struct error *err);
static int  check_rest(json_t *root, struct error *err);
static bool is_off(const json_t *value);
static void add_targets(json_t *names, const struct model *model);

/* What code here reads, and what does not change what is computed. */
static const char *const known[] = {
    "peft_type", "r", "lora_alpha", "lora_dropout", "use_rslora", "target_modules",
    "modules_to_save", "bias", "init_lora_weights", "ensure_weight_tying",
    /* Where it comes from, how it is stored and loaded. */
    "auto_mapping", "base_model_name_or_path", "revision", "peft_version", "task_type",
    "inference_mode", "fan_in_fan_out", "runtime_config", "megatron_core",
    /* Numbers of what another key switches off. */
    "qalora_group_size",
};

int adapter_config_read(struct lora *lora, const char *path, struct error *err)
{
    struct stat status;
    const bool  is_dir = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    char       *file = is_dir ? xasprintf("%s/adapter_config.json", path) : xstrdup(path);
    size_t      size;
    char       *text = file_read_at_once(file, CONFIG_MAX, &size, err);
    int         rc = text != NULL ? adapter_config_parse(lora, file, text, size, err) : -1;

    free(text);
    free(file);
    return rc;
}

int adapter_config_parse(struct lora *lora, const char *name, const char *text, size_t size,
                         struct error *err)
{
    json_error_t why;
    struct error reason;
    json_t      *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    int          rc;

    *lora = (struct lora){ 0 };
    if (root == NULL)
        return err_set(err, "%s:%d: %s", name, why.line, why.text);
    rc = take_all(lora, root, &reason);
    json_decref(root);
    if (rc == 0)
        return 0;
    lora_clear(lora);
    return err_set(err, "%s: %s", name, reason.text);
}

/* Without ensure_weight_tying, PEFT trains a copy of the embeddings, and the head keeps the base's:
 * there are two matrices then, where this program has one. */
int adapter_config_fits(const struct lora *lora, const char *path,
                        const struct model_config *shape, struct error *err)
{
    static const char *const both[] = {
        "model.embed_tokens.weight", "lm_head.weight", "transformer.wte.weight",
        "bert.embeddings.word_embeddings.weight", "roberta.embeddings.word_embeddings.weight",
    };
    size_t i;

    for (i = 0; i < sizeof both / sizeof both[0] && !lora_saves(lora, both[i]); i++)
        ;
    if (shape->is_untied || lora->is_tied || i == sizeof both / sizeof both[0])
        return 0;
    return err_set(err, "%s: modules_to_save has the embeddings or the head, which are one in this "
                        "model: that is supported only with \"ensure_weight_tying\": true", path);
}

static int take_all(struct lora *lora, json_t *root, struct error *err)
{
    const char   *type = json_string_value(json_object_get(root, "peft_type"));
    const char   *bias = json_string_value(json_object_get(root, "bias"));
    const json_t *init = json_object_get(root, "init_lora_weights");
    const char   *how = json_string_value(init);
    double        rank;

    if (!json_is_object(root))
        return err_set(err, "it is not a JSON object");
    if (type == NULL || strcmp(type, "LORA") != 0)
        return err_set(err, "peft_type '%.60s' is not LORA", type != NULL ? type : "");
    if (bias != NULL && strcmp(bias, "none") != 0)
        return err_set(err, "bias '%.60s' is not supported: biases are frozen, as with 'none'",
                       bias);
    if (how != NULL && strcmp(how, "gaussian") != 0 && strcmp(how, "orthogonal") != 0)
        return err_set(err, "init_lora_weights '%.60s' is not supported: it changes the base's "
                            "weights, or depends on data", how);
    if (take_number(root, "r", 8, &rank, err) < 0 ||
        take_number(root, "lora_alpha", 8, &lora->alpha, err) < 0 ||
        take_number(root, "lora_dropout", 0, &lora->dropout, err) < 0 ||
        take_flag(root, "use_rslora", &lora->is_rs, err) < 0 ||
        take_flag(root, "ensure_weight_tying", &lora->is_tied, err) < 0)
        return -1;
    if (!(rank >= 1 && rank <= LORA_RANK_MAX) || rank != (int)rank)
        return err_set(err, "r: %.9g is not a whole number from 1 to %d", rank, LORA_RANK_MAX);
    lora->rank = (int)rank;
    if (take_targets(lora, json_object_get(root, "target_modules"), err) < 0 ||
        take_names(lora, true, json_object_get(root, "modules_to_save"), "modules_to_save",
                   err) < 0 ||
        check_rest(root, err) < 0)
        return -1;
    return lora_check(lora, err);
}

static int take_number(const json_t *root, const char *key, double absent, double *number,
                       struct error *err)
{
    const json_t *value = json_object_get(root, key);

    *number = absent;
    if (value == NULL)
        return 0;
    if (!json_is_number(value))
        return err_set(err, "%s is not a number", key);
    *number = json_number_value(value);
    return 0;
}

/* A missing key and null mean false. */
static int take_flag(const json_t *root, const char *key, bool *flag, struct error *err)
{
    const json_t *value = json_object_get(root, key);

    if (value != NULL && !json_is_boolean(value) && !json_is_null(value))
        return err_set(err, "%s is neither true nor false", key);
    *flag = json_is_true(value);
    return 0;
}

static int take_targets(struct lora *lora, const json_t *value, struct error *err)
{
    const char *text = json_string_value(value);

    if (text != NULL && strcmp(text, "all-linear") == 0) {
        lora->is_linear = true;
        return 0;
    }
    if (text != NULL)
        return err_set(err, "target_modules '%.60s': a regular expression is not supported; "
                            "list the names", text);
    return take_names(lora, false, value, "target_modules", err);
}

static int take_names(struct lora *lora, bool is_saved, const json_t *value, const char *key,
                      struct error *err)
{
    size_t  i;
    json_t *name;

    if (value == NULL || json_is_null(value))
        return 0;
    if (!json_is_array(value))
        return err_set(err, "%s is not a list of names", key);
    json_array_foreach((json_t *)value, i, name) {
        if (!json_is_string(name))
            return err_set(err, "%s is not a list of names", key);
        if (lora_add(lora, is_saved, json_string_value(name), err) < 0)
            return -1;
    }
    return 0;
}

static int check_rest(json_t *root, struct error *err)
{
    const char *key;
    json_t     *value;
    size_t      i;

    json_object_foreach(root, key, value) {
        for (i = 0; i < sizeof known / sizeof known[0] && strcmp(known[i], key) != 0; i++)
            ;
        if (i == sizeof known / sizeof known[0] && !is_off(value))
            return err_set(err, "%.60s is not supported, and may change what is computed", key);
    }
    return 0;
}

/* PEFT writes all keys, most of them with what switches them off. */
static bool is_off(const json_t *value)
{
    const char *text = json_string_value(value);

    return json_is_null(value) || json_is_false(value) || (text != NULL && text[0] == '\0') ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

char *adapter_config_text(const struct lora *lora, const struct model *model, const char *base)
{
    json_t *targets = json_array(), *saved = json_array(), *root;
    char   *text, *file;
    int     i;

    for (i = 0; i < lora->targets; i++)
        json_array_append_new(targets, json_string(lora->target[i]));
    if (lora->is_linear)
        add_targets(targets, model);
    for (i = 0; i < lora->saves; i++)
        json_array_append_new(saved, json_string(lora->saved[i]));
    root = json_pack("{s:s, s:s?, s:s?, s:i, s:f, s:f, s:b, s:s, s:b, s:b, s:o, s:o}",
                     "peft_type", "LORA", "task_type",
                     model_is_masked(&model->config) ? NULL : "CAUSAL_LM",
                     "base_model_name_or_path", base, "r", lora->rank, "lora_alpha", lora->alpha,
                     "lora_dropout", lora->dropout, "use_rslora", (int)lora->is_rs, "bias",
                     "none", "fan_in_fan_out", (int)(model->config.kind == MODEL_GPT2),
                     "inference_mode", 1, "target_modules", targets, "modules_to_save",
                     lora->saves > 0 ? json_incref(saved) : json_null());
    json_decref(saved);
    if (lora->saves > 0 && !model->config.is_untied)
        json_object_set_new(root, "ensure_weight_tying", json_true());
    text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    file = xasprintf("%s\n", text);
    json_decref(root);
    free(text);
    return file;
}

/* Adds the last words of the names of all modules that have an adapter, once each. */
static void add_targets(json_t *names, const struct model *model)
{
    char   name[MODEL_NAME_MAX];
    char  *end;
    size_t j;
    int    i;

    for (i = 0; i < model->param_count; i++) {
        snprintf(name, sizeof name, "%s", model->param[i].name);
        end = strstr(name, LORA_A);
        if (end == NULL)
            continue;
        *end = '\0';
        end = strrchr(name, '.') + 1;
        for (j = 0; j < json_array_size(names) &&
                    strcmp(json_string_value(json_array_get(names, j)), end) != 0; j++)
            ;
        if (j == json_array_size(names))
            json_array_append_new(names, json_string(end));
    }
}
