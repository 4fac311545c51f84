/* model_write.c - the shape of a model as config.json; see model_config.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "comm/dtype.h"
#include "model/shape/model_keys.h"
#include "xalloc.h"

static json_t *pack(const struct model_config *config);
static int     number_of(const struct model_config *c, const struct number_key *key);
static void    pack_family(const struct model_config *config, json_t *root);
static char   *text_of(json_t *root);
static json_t *with_type(json_t *root, enum dtype type);
static bool    says(json_t *root, const struct model_config *config);
static void    set_changes(json_t *root, const struct model_config *was,
                           const struct model_config *is);

char *model_config_text(const struct model_config *config)
{
    return text_of(pack(config));
}

static char *text_of(json_t *root)
{
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    char *file = xasprintf("%s\n", text);

    json_decref(root);
    free(text);
    return file;
}

static json_t *pack(const struct model_config *c)
{
    const int bit = 1 << c->kind;
    json_t   *root = json_pack("{s:s, s:[s]}", "model_type", model_kind_names[c->kind].type,
                               "architectures", model_kind_names[c->kind].class);

    json_object_set_new(root, c->kind == MODEL_GPT2 ? "activation_function" : "hidden_act",
                        json_string(c->kind == MODEL_GPT2 ? "gelu_new"
                                    : bit & IN_BERTS ? "gelu" : "silu"));
    if (!(bit & IN_FAMILY))
        json_object_set_new(root, "tie_word_embeddings", json_true());
    for (const struct number_key *key = number_keys; key->key != NULL; key++)
        if (key->kinds & bit && number_of(c, key) > 0)
            json_object_set_new(root, key->key, json_integer(number_of(c, key)));
    for (const struct real_key *key = real_keys; key->key != NULL; key++)
        if (key->kinds & bit)
            json_object_set_new(root, key->key, json_real(*(const double *)(const void *)
                                                              ((const char *)c + key->field)));
    for (const struct flag_key *key = flag_keys; key->key != NULL; key++)
        if (key->kinds & bit)
            json_object_set_new(root, key->key,
                                json_boolean(*(const bool *)((const char *)c + key->field) !=
                                             key->is_not));
    if (bit & IN_FAMILY) {
        pack_family(c, root);
        model_rope_write(c, root);
    }
    return root;
}

/* 0: the key is left out, as other numbers say it. That would not be so for the number of heads
 * of keys, nor for the width of Qwen3's heads, since transformers has defaults for them. */
static int number_of(const struct model_config *c, const struct number_key *key)
{
    if (key->field == offsetof(struct model_config, kv_heads))
        return model_kv_heads(c);
    if (key->field == offsetof(struct model_config, head_width) && c->kind == MODEL_QWEN3)
        return model_head_width(c);
    return *(const int *)((const char *)c + key->field);
}

/* What the tables leave open. */
static void pack_family(const struct model_config *c, json_t *root)
{
    if (c->kind == MODEL_LLAMA)
        return;
    json_object_set_new(root, "sliding_window",
                        c->window > 0 ? json_integer(c->window) : json_null());
    if (c->kind == MODEL_MISTRAL)
        return;
    json_object_set_new(root, "use_sliding_window", json_boolean(c->window > 0));
    json_object_set_new(root, "max_window_layers",
                        json_integer(c->window > 0 ? c->full_blocks : c->blocks));
}

char *model_config_export(const struct model_config *config, enum dtype type, const char *base,
                          size_t size, struct error *err)
{
    struct model_config was;
    json_t             *root;

    if (base == NULL)
        return text_of(with_type(pack(config), type));
    if (model_config_parse(&was, "config.json", base, size, err) < 0)
        return NULL;
    root = json_loadb(base, size, 0, NULL);
    set_changes(root, &was, config);
    if (says(root, config))
        return text_of(with_type(root, type));
    json_decref(root);
    return text_of(with_type(pack(config), type));
}

/* transformers 5 writes dtype, and reads torch_dtype, too. */
static json_t *with_type(json_t *root, enum dtype type)
{
    static const char *const types[] = { [DTYPE_FLOAT] = "float32", [DTYPE_HALF] = "float16",
                                         [DTYPE_BFLOAT16] = "bfloat16" };
    const bool               is_new = json_object_get(root, "dtype") != NULL;

    if (is_new)
        json_object_set_new(root, "dtype", json_string(types[type]));
    if (!is_new || json_object_get(root, "torch_dtype") != NULL)
        json_object_set_new(root, "torch_dtype", json_string(types[type]));
    return root;
}

/* Options of the training may have changed the shape: then the keys follow it. */
static void set_changes(json_t *root, const struct model_config *was,
                        const struct model_config *is)
{
    json_t     *before = pack(was), *after = pack(is), *value;
    const char *key;

    if (was->blocks != is->blocks && json_object_del(root, "layer_types") == 0)
        json_object_foreach(after, key, value)
            if (strstr(key, "window") != NULL)
                json_object_set(root, key, value);
    json_object_foreach(after, key, value)
        if (!json_equal(value, json_object_get(before, key)))
            json_object_set(root, key, value);
    json_decref(before);
    json_decref(after);
}

/* Is this the model that the file describes? Some defaults depend on other keys. */
static bool says(json_t *root, const struct model_config *config)
{
    char               *text = json_dumps(root, JSON_REAL_PRECISION(17));
    json_t             *want = pack(config), *got = NULL;
    struct model_config read;
    bool                is_same;

    if (model_config_parse(&read, "config.json", text, strlen(text), NULL) == 0)
        got = pack(&read);
    is_same = got != NULL && json_equal(got, want);
    json_decref(want);
    json_decref(got);
    free(text);
    return is_same;
}
