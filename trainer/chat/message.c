/* message.c - see message.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "chat/message.h"

#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "xalloc.h"

#define PATH_SIZE 64 /* of "conversations[9999].content[9999]" */

static int  take_message(struct record *record, const json_t *message, const char *path,
                         bool is_trained, struct error *err);
static int  take_role(const json_t *message, const char *path, enum chat_role *role,
                      struct error *err);
static int  find_role(const char *name, const char *path, enum chat_role *role,
                      struct error *err);
static int  take_content(struct record *record, const json_t *message, const char *path,
                         struct span *text, struct error *err);
static int  take_parts(struct record *record, const json_t *parts, const char *path,
                       struct span *text, struct error *err);
static int  add_part(struct buffer *all, const json_t *part, const char *path,
                     struct error *err);
static int  take_weight(const json_t *message, const char *path, bool *is_trained,
                        struct error *err);
static int  refuse_tools(const json_t *message, const char *path, struct error *err);
static const char *key_of(const json_t *message, const char *name, const char *other);

int messages_take(struct record *record, const json_t *list, const char *name, bool is_trained,
                  struct error *err)
{
    char   path[PATH_SIZE];
    size_t i;

    if (!json_is_array(list))
        return err_set(err, "%s is %s: a list of messages was expected", name,
                       json_type_words(list));
    if (record->turns + json_array_size(list) > RECORD_TURNS_MAX)
        return err_set(err, "%s has %zu messages: %d are the most", name, json_array_size(list),
                       RECORD_TURNS_MAX);
    for (i = 0; i < json_array_size(list); i++) {
        snprintf(path, sizeof path, "%s[%zu]", name, i);
        if (take_message(record, json_array_get(list, i), path, is_trained, err) < 0)
            return -1;
    }
    return 0;
}

static int take_message(struct record *record, const json_t *message, const char *path,
                        bool is_trained, struct error *err)
{
    const json_t  *reasoning;
    enum chat_role role;
    struct span    text;
    struct turn   *turn;
    struct error   why;

    if (!json_is_object(message))
        return err_set(err, "%s is %s: an object was expected", path, json_type_words(message));
    if (refuse_tools(message, path, err) < 0 || take_role(message, path, &role, err) < 0 ||
        take_content(record, message, path, &text, err) < 0 ||
        take_weight(message, path, &is_trained, err) < 0)
        return -1;
    if (string_take(message, "reasoning_content", &reasoning, &why) < 0)
        return err_set(err, "%s.%s", path, why.text);
    turn = record_push(record, role, text);
    turn->is_trained &= is_trained;
    if (reasoning != NULL)
        turn->reasoning = string_span(reasoning);
    return 0;
}

static int take_role(const json_t *message, const char *path, enum chat_role *role,
                     struct error *err)
{
    const char   *key = key_of(message, "role", "from");
    const json_t *value = json_present(message, key);

    if (value == NULL)
        return err_set(err, "%s has no role", path);
    if (!json_is_string(value))
        return err_set(err, "%s.%s is %s: a string was expected", path, key,
                       json_type_words(value));
    return find_role(json_string_value(value), path, role, err);
}

static int find_role(const char *name, const char *path, enum chat_role *role,
                     struct error *err)
{
    static const struct {
        const char    *name;
        enum chat_role role; /* ROLES: of a conversation with tools */
    } known[] = {
        { "system", ROLE_SYSTEM },       { "user", ROLE_USER },  { "human", ROLE_USER },
        { "assistant", ROLE_ASSISTANT }, { "gpt", ROLE_ASSISTANT },
        { "tool", ROLES },               { "function", ROLES },  { "function_call", ROLES },
        { "observation", ROLES },        { "ipython", ROLES },
    };
    size_t i;

    for (i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, name) != 0)
            continue;
        *role = known[i].role;
        return *role != ROLES
                   ? 0
                   : err_set(err, "%s: role '%s': tool calls are not supported", path, name);
    }
    return err_set(err, "%s: role '%.40s' is unknown: system, user (human) or assistant (gpt) "
                        "was expected", path, name);
}

static int take_content(struct record *record, const json_t *message, const char *path,
                        struct span *text, struct error *err)
{
    const char   *key = key_of(message, "content", "value");
    const json_t *value = json_object_get(message, key);
    char          inside[PATH_SIZE];

    if (value == NULL)
        return err_set(err, "%s has no content", path);
    snprintf(inside, sizeof inside, "%s.%s", path, key);
    if (json_is_array(value))
        return take_parts(record, value, inside, text, err);
    if (!json_is_string(value))
        return err_set(err, "%s is %s: a string or a list of text parts was expected", inside,
                       json_type_words(value));
    *text = string_span(value);
    return 0;
}

static int take_parts(struct record *record, const json_t *parts, const char *path,
                      struct span *text, struct error *err)
{
    struct buffer all = { 0 };
    char          inside[PATH_SIZE + 32];
    size_t        i;
    int           rc = 0;

    for (i = 0; rc == 0 && i < json_array_size(parts); i++) {
        snprintf(inside, sizeof inside, "%s[%zu]", path, i);
        rc = add_part(&all, json_array_get(parts, i), inside, err);
    }
    if (rc == 0)
        *text = record_keep(record, all.bytes, all.size);
    buffer_clear(&all);
    return rc;
}

static int add_part(struct buffer *all, const json_t *part, const char *path, struct error *err)
{
    const char   *type = json_string_value(json_present(part, "type"));
    const json_t *text;
    struct error  why;

    if (!json_is_object(part))
        return err_set(err, "%s is %s: {\"type\": \"text\", \"text\": ...} was expected", path,
                       json_type_words(part));
    if (type == NULL || strcmp(type, "text") != 0)
        return err_set(err, "%s is of type '%.40s': only text is supported, no tool calls and no "
                            "images", path, type != NULL ? type : "");
    if (string_take(part, "text", &text, &why) < 0)
        return err_set(err, "%s.%s", path, why.text);
    if (text == NULL)
        return err_set(err, "%s has no text", path);
    buffer_add(all, json_string_value(text), json_string_length(text));
    return 0;
}

static int take_weight(const json_t *message, const char *path, bool *is_trained,
                       struct error *err)
{
    const json_t *weight = json_present(message, "weight");
    const json_t *train = json_present(message, "train");

    if (weight != NULL && !json_is_number(weight))
        return err_set(err, "%s.weight is %s: 0 or 1 was expected", path,
                       json_type_words(weight));
    if (weight != NULL && json_number_value(weight) != 0 && json_number_value(weight) != 1)
        return err_set(err, "%s.weight is %.6g: 0 or 1 was expected", path,
                       json_number_value(weight));
    if (train != NULL && !json_is_boolean(train))
        return err_set(err, "%s.train is %s: true or false was expected", path,
                       json_type_words(train));
    if ((weight != NULL && json_number_value(weight) == 0) || json_is_false(train))
        *is_trained = false;
    return 0;
}

static int refuse_tools(const json_t *message, const char *path, struct error *err)
{
    static const char *const keys[] = { "tool_calls", "function_call" };
    const json_t *value;
    size_t        i;

    for (i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        value = json_present(message, keys[i]);
        if (value != NULL && !json_is_bare(value))
            return err_set(err, "%s.%s: tool calls are not supported", path, keys[i]);
    }
    return 0;
}

static const char *key_of(const json_t *message, const char *name, const char *other)
{
    return json_object_get(message, name) == NULL && json_object_get(message, other) != NULL
               ? other
               : name;
}

struct turn *record_push(struct record *record, enum chat_role role, struct span text)
{
    struct turn *turn;

    if (record->turns == record->room) {
        record->room = record->room > 0 ? 2 * record->room : 8;
        record->turn = xreallocarray(record->turn, record->room, sizeof *record->turn);
    }
    turn = &record->turn[record->turns++];
    *turn = (struct turn){ .role = role, .text = text, .is_trained = role == ROLE_ASSISTANT };
    return turn;
}

struct span record_keep(struct record *record, const char *bytes, size_t size)
{
    json_t *string = json_stringn_nocheck(size > 0 ? bytes : "", size);

    if (record->made == NULL)
        record->made = json_array();
    if (string == NULL || json_array_append_new(record->made, string) < 0)
        xalloc_die();
    return string_span(string);
}

const json_t *json_present(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_null(value) ? NULL : value;
}

int string_take(const json_t *object, const char *key, const json_t **string, struct error *err)
{
    *string = json_present(object, key);
    if (*string != NULL && !json_is_string(*string))
        return err_set(err, "%s is %s: a string was expected", key, json_type_words(*string));
    return 0;
}

struct span string_span(const json_t *string)
{
    return string != NULL
               ? (struct span){ json_string_value(string), json_string_length(string) }
               : (struct span){ "", 0 };
}

const char *json_type_words(const json_t *value)
{
    static const char *const words[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",   [JSON_STRING] = "a string",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number",  [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null",
    };

    return value != NULL ? words[json_typeof(value)] : "missing";
}

bool json_is_bare(const json_t *value)
{
    const char *text = json_string_value(value);

    return (text != NULL && (text[0] == '\0' || strcmp(text, "[]") == 0)) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

const char *chat_role_name(enum chat_role role)
{
    static const char *const names[ROLES] = { "system", "user", "assistant" };

    return names[role];
}
