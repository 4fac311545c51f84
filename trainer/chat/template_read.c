/* template_read.c - the chat template of a tokenizer, as its files have it; see template.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "chat/message.h"
#include "chat/template.h"
#include "chat/template_shape.h"
#include "file.h"
#include "xalloc.h"

#define CONFIG_MAX ((size_t)16 << 20) /* bytes: some list all added tokens */
#define JINJA_MAX  ((size_t)1 << 20)

static int read_config(const char *dir, json_t **config, char **path, struct error *err);
static int take_token(const json_t *config, const char *key, const char *path, char **token,
                      struct error *err);
static int find_template(const json_t *config, const char *dir, const char *path,
                         struct chat_template *template, struct error *err);
static int take_file(const char *path, struct chat_template *template, struct error *err);
static int take_value(const json_t *value, const char *path, struct chat_template *template,
                      struct error *err);
static const json_t *default_of(const json_t *list);
static int recognise(const char *jinja, size_t size, const char *path,
                     struct chat_template *template, struct error *err);

int chat_template_named(struct chat_template *template, const char *name, struct error *err)
{
    *template = (struct chat_template){ 0 };
    if (strcmp(name, "none") == 0)
        return 0;
    template->shape = template_shape_named(name);
    if (template->shape == NULL)
        return err_set(err, "chat template '%.60s' is unknown: %s was expected", name,
                       TEMPLATE_NAMES);
    return 0;
}

int chat_template_read(struct chat_template *template, const char *dir, const char *name,
                       struct error *err)
{
    json_t *config;
    char   *path;
    int     rc;

    *template = (struct chat_template){ 0 };
    if (name != NULL && chat_template_named(template, name, err) < 0)
        return -1;
    rc = read_config(dir, &config, &path, err);
    if (rc == 0)
        rc = take_token(config, "bos_token", path, &template->bos, err);
    if (rc == 0)
        rc = take_token(config, "eos_token", path, &template->eos, err);
    if (rc == 0 && name == NULL)
        rc = find_template(config, dir, path, template, err);
    json_decref(config);
    free(path);
    return rc;
}

void chat_template_clear(struct chat_template *template)
{
    free(template->bos);
    free(template->eos);
    free(template->system);
    *template = (struct chat_template){ 0 };
}

const char *chat_template_name(const struct chat_template *template)
{
    return template->shape != NULL ? template->shape->name : "none";
}

/* Sets *config to NULL if the directory has no such file. */
static int read_config(const char *dir, json_t **config, char **path, struct error *err)
{
    json_error_t why;
    size_t       size;
    char        *text;

    *config = NULL;
    *path = xasprintf("%s/tokenizer_config.json", dir);
    if (access(*path, F_OK) < 0 && errno == ENOENT)
        return 0;
    text = file_read_at_once(*path, CONFIG_MAX, &size, err);
    if (text == NULL)
        return -1;
    *config = json_loadb(text, size, MESSAGE_JSON_FLAGS, &why);
    free(text);
    if (*config == NULL)
        return err_set(err, "%s:%d: %s", *path, why.line, why.text);
    return json_is_object(*config) ? 0 : err_set(err, "%s: it is not a JSON object", *path);
}

/* A token is a string, or an object with its content. */
static int take_token(const json_t *config, const char *key, const char *path, char **token,
                      struct error *err)
{
    const json_t *value = json_present(config, key);

    if (json_is_object(value))
        value = json_object_get(value, "content");
    else if (value == NULL)
        return 0;
    if (!json_is_string(value))
        return err_set(err, "%s: %s is neither a string nor an object with content", path, key);
    *token = xstrdup(json_string_value(value));
    return 0;
}

/* As in transformers, the file wins where there are both. */
static int find_template(const json_t *config, const char *dir, const char *path,
                         struct chat_template *template, struct error *err)
{
    const json_t *value = json_present(config, "chat_template");
    char         *jinja = xasprintf("%s/chat_template.jinja", dir);
    int           rc = 0;

    if (access(jinja, F_OK) == 0)
        rc = take_file(jinja, template, err);
    else if (value != NULL)
        rc = take_value(value, path, template, err);
    free(jinja);
    return rc;
}

static int take_file(const char *path, struct chat_template *template, struct error *err)
{
    size_t size;
    char  *text = file_read_at_once(path, JINJA_MAX, &size, err);
    int    rc = text != NULL ? recognise(text, size, path, template, err) : -1;

    free(text);
    return rc;
}

static int take_value(const json_t *value, const char *path, struct chat_template *template,
                      struct error *err)
{
    if (json_is_array(value)) {
        value = default_of(value);
        if (value == NULL)
            return err_set(err, "%s: none of its chat templates has the name default: choose one "
                                "of %s by --chat-template", path, TEMPLATE_NAMES);
    }
    if (!json_is_string(value))
        return err_set(err, "%s: chat_template is %s: a string was expected", path,
                       json_type_words(value));
    return recognise(json_string_value(value), json_string_length(value), path, template, err);
}

/* The list is of {name, template}. */
static const json_t *default_of(const json_t *list)
{
    const char *name;
    size_t      i;

    for (i = 0; i < json_array_size(list); i++) {
        name = json_string_value(json_object_get(json_array_get(list, i), "name"));
        if (name != NULL && strcmp(name, "default") == 0)
            return json_object_get(json_array_get(list, i), "template");
    }
    return NULL;
}

static int recognise(const char *jinja, size_t size, const char *path,
                     struct chat_template *template, struct error *err)
{
    const char *similar;

    template->shape = template_shape_of(jinja, size, &template->system, &similar);
    if (template->shape != NULL)
        return 0;
    return err_set(err, "%s: the chat template is not known%s%s: choose one of %s by "
                        "--chat-template", path, similar != NULL ? ", but looks like " : "",
                   similar != NULL ? similar : "", TEMPLATE_NAMES);
}
