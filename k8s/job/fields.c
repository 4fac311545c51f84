/* fields.c - see fields.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/fields.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "nearby.h"

static const json_t *look_up(struct fields *fields, const char *name);
static const char   *type_of(const json_t *value);

void fields_begin(struct fields *fields, const json_t *object, struct error *err)
{
    *fields = (struct fields){ .object = object, .err = err };
    if (!json_is_object(object)) {
        fields->object = NULL;
        if (err->text[0] == '\0')
            err_set(err, "a job is an object with apiVersion, kind, metadata and spec, not %s",
                    type_of(object));
    }
}

void fields_object(struct fields *fields, const char *name, struct fields *inner)
{
    const json_t *value = look_up(fields, name);

    *inner = (struct fields){ .err = fields->err };
    snprintf(inner->path, sizeof inner->path, "%.80s%s%.70s", fields->path,
             fields->path[0] != '\0' ? "." : "", name);
    if (value == NULL || json_is_null(value))
        return;
    if (json_is_object(value))
        inner->object = value;
    else
        fields_wrong(fields, name, "must be an object, not %s", type_of(value));
}

const json_t *fields_any(struct fields *fields, const char *name)
{
    return look_up(fields, name);
}

const char *fields_text(struct fields *fields, const char *name)
{
    const json_t *value = look_up(fields, name);

    if (value != NULL && !json_is_string(value))
        fields_wrong(fields, name, "must be a string, not %s; put it in quotes", type_of(value));
    return json_string_value(value);
}

const json_t *fields_list(struct fields *fields, const char *name)
{
    const json_t *value = look_up(fields, name);
    size_t        i;

    if (value == NULL)
        return NULL;
    for (i = 0; i < json_array_size(value); i++)
        if (!json_is_string(json_array_get(value, i)))
            break;
    if (json_is_array(value) && i == json_array_size(value))
        return value;
    fields_wrong(fields, name, "must be a list of strings, such as [\"train.py\", \"--epochs=3\"]");
    return NULL;
}

int64_t fields_number(struct fields *fields, const char *name, int64_t min, int64_t max,
                      int64_t fallback)
{
    const json_t *value = look_up(fields, name);

    if (value == NULL || json_is_null(value))
        return fallback;
    if (json_is_integer(value) && json_integer_value(value) >= min &&
        json_integer_value(value) <= max)
        return json_integer_value(value);
    fields_wrong(fields, name, "must be a number from %" PRId64 " to %" PRId64, min, max);
    return fallback;
}

bool fields_bool(struct fields *fields, const char *name, bool fallback)
{
    const json_t *value = look_up(fields, name);

    if (value == NULL || json_is_null(value))
        return fallback;
    if (!json_is_boolean(value))
        fields_wrong(fields, name, "must be true or false");
    return json_is_true(value);
}

int fields_choice(struct fields *fields, const char *name, const char *const *choices)
{
    const char   *text = fields_text(fields, name);
    struct buffer all = { 0 };
    int           i;

    for (i = 0; text != NULL && choices[i] != NULL; i++)
        if (strcmp(choices[i], text) == 0)
            return i;
    if (text == NULL)
        return 0;
    for (i = 0; choices[i] != NULL; i++) {
        buffer_add_text(&all, i > 0 ? ", " : "");
        buffer_add_text(&all, choices[i]);
    }
    buffer_add(&all, "", 1);
    fields_wrong(fields, name, "must be one of %s, not '%.60s'", all.bytes, text);
    buffer_clear(&all);
    return 0;
}

bool fields_has(const struct fields *fields, const char *name)
{
    return json_object_get(fields->object, name) != NULL;
}

void fields_wrong(struct fields *fields, const char *name, const char *format, ...)
{
    char    why[512];
    va_list args;

    if (fields->err->text[0] != '\0')
        return;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    err_set(fields->err, "%s%s%s: %s", fields->path, fields->path[0] != '\0' ? "." : "", name, why);
}

void fields_end(struct fields *fields)
{
    const char *name, *best;
    json_t     *value;
    size_t      i, distance, least;

    if (fields->object == NULL)
        return;
    json_object_foreach((json_t *)fields->object, name, value) {
        best = NULL;
        least = SIZE_MAX;
        for (i = 0; i < fields->known_count; i++) {
            distance = nearby(name, strlen(name), fields->known[i]);
            if (distance < least) {
                least = distance;
                best = fields->known[i];
            }
        }
        if (best == NULL)
            fields_wrong(fields, name, "there is no such field");
        else if (least > 0 || strcmp(best, name) != 0)
            fields_wrong(fields, name, "there is no such field; did you mean %s?", best);
    }
}

static const json_t *look_up(struct fields *fields, const char *name)
{
    assert(fields->known_count < FIELDS_MAX);
    fields->known[fields->known_count++] = name;
    return json_object_get(fields->object, name);
}

static const char *type_of(const json_t *value)
{
    return json_is_object(value)    ? "an object"
           : json_is_array(value)   ? "a list"
           : json_is_string(value)  ? "a string"
           : json_is_number(value)  ? "a number"
           : json_is_boolean(value) ? "true or false"
                                    : "nothing";
}
