/* yaml.c - see yaml.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "yaml/yaml.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "xalloc.h"

struct reader {
    const char   *name;
    yaml_parser_t parser;
    struct error *err;
    int           depth;
};

static json_t *read_document(struct reader *reader);
static int     next(struct reader *reader, yaml_event_t *event);
static json_t *read_node(struct reader *reader, yaml_event_t *event);
static json_t *read_list(struct reader *reader);
static json_t *read_object(struct reader *reader);
static json_t *read_scalar(struct reader *reader, const yaml_event_t *event);
static json_t *wrong(struct reader *reader, const yaml_event_t *event, const char *why);
static json_t *resolve(const char *text);
static void    emit(yaml_emitter_t *emitter, const json_t *value);
static void    emit_scalar(yaml_emitter_t *emitter, const json_t *value);
static void    emit_text(yaml_emitter_t *emitter, const char *text);

json_t *yaml_parse(const char *name, const char *bytes, size_t size, struct error *err)
{
    struct reader reader = { .name = name, .err = err };
    json_t       *value;

    if (size > YAML_BYTES_MAX) {
        err_set(err, "%s: larger than 1 MiB", name);
        return NULL;
    }
    if (!yaml_parser_initialize(&reader.parser))
        xalloc_die();
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)bytes, size);
    value = read_document(&reader);
    yaml_parser_delete(&reader.parser);
    return value;
}

int yaml_print(const json_t *value, FILE *out)
{
    yaml_emitter_t emitter;
    yaml_event_t   event;
    int            rc;

    if (!yaml_emitter_initialize(&emitter))
        xalloc_die();
    yaml_emitter_set_output_file(&emitter, out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, -1);
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    yaml_emitter_emit(&emitter, &event);
    yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 0);
    yaml_emitter_emit(&emitter, &event);
    emit(&emitter, value);
    yaml_document_end_event_initialize(&event, 1);
    yaml_emitter_emit(&emitter, &event);
    yaml_stream_end_event_initialize(&event);
    rc = yaml_emitter_emit(&emitter, &event) ? 0 : -1;
    yaml_emitter_delete(&emitter);
    return rc;
}

/* Reading */

static json_t *read_document(struct reader *reader)
{
    yaml_event_t event;
    json_t      *value = NULL;

    if (next(reader, &event) < 0 || next(reader, &event) < 0)
        return NULL;
    if (event.type == YAML_STREAM_END_EVENT)
        return wrong(reader, &event, "the document is empty");
    yaml_event_delete(&event);
    if (next(reader, &event) < 0 || (value = read_node(reader, &event)) == NULL)
        return NULL;
    if (next(reader, &event) < 0)
        goto failed;
    yaml_event_delete(&event);
    if (next(reader, &event) < 0)
        goto failed;
    if (event.type != YAML_STREAM_END_EVENT) {
        wrong(reader, &event, "more than one document; put each into a file of its own");
        goto failed;
    }
    return value;
failed:
    json_decref(value);
    return NULL;
}

static int next(struct reader *reader, yaml_event_t *event)
{
    const yaml_parser_t *parser = &reader->parser;

    if (yaml_parser_parse(&reader->parser, event))
        return 0;
    return err_set(reader->err, "%s:%zu: %s%s%s", reader->name,
                   (parser->problem_mark.line > 0 ? parser->problem_mark.line
                                                  : parser->context_mark.line) +
                       1,
                   parser->problem != NULL ? parser->problem : "not YAML",
                   parser->context != NULL ? " " : "",
                   parser->context != NULL ? parser->context : "");
}

/* Takes the event. */
static json_t *read_node(struct reader *reader, yaml_event_t *event)
{
    json_t *value;

    if (reader->depth >= YAML_DEPTH_MAX)
        return wrong(reader, event, "nested too deeply");
    if (event->type == YAML_ALIAS_EVENT)
        return wrong(reader, event, "aliases (*name) are not supported; write the value again");
    reader->depth++;
    if (event->type == YAML_SCALAR_EVENT)
        value = read_scalar(reader, event);
    else {
        value = event->type == YAML_SEQUENCE_START_EVENT ? read_list(reader)
                                                         : read_object(reader);
        yaml_event_delete(event);
    }
    reader->depth--;
    return value;
}

static json_t *read_list(struct reader *reader)
{
    json_t      *list = json_array(), *value;
    yaml_event_t event;

    for (;;) {
        if (next(reader, &event) < 0)
            break;
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            return list;
        }
        value = read_node(reader, &event);
        if (value == NULL)
            break;
        json_array_append_new(list, value);
    }
    json_decref(list);
    return NULL;
}

static json_t *read_object(struct reader *reader)
{
    json_t      *object = json_object(), *value;
    yaml_event_t event, key;

    for (;;) {
        if (next(reader, &key) < 0)
            break;
        if (key.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&key);
            return object;
        }
        if (key.type != YAML_SCALAR_EVENT) {
            wrong(reader, &key, "the name of a field must be a word");
            break;
        }
        if (json_object_get(object, (const char *)key.data.scalar.value) != NULL) {
            wrong(reader, &key, "duplicate field");
            break;
        }
        value = next(reader, &event) < 0 ? NULL : read_node(reader, &event);
        if (value != NULL &&
            json_object_set_new(object, (const char *)key.data.scalar.value, value) < 0)
            value = wrong(reader, &key, "the name of a field is not UTF-8");
        else
            yaml_event_delete(&key);
        if (value == NULL)
            break;
    }
    json_decref(object);
    return NULL;
}

/* Takes the event. */
static json_t *read_scalar(struct reader *reader, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t      size = event->data.scalar.length;
    json_t     *value = NULL;

    if (event->data.scalar.tag != NULL)
        return wrong(reader, event, "tags (!name) are not supported");
    if (strlen(text) != size)
        return wrong(reader, event, "a string must not contain NUL");
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        value = resolve(text);
    if (value == NULL)
        value = json_stringn(text, size);
    if (value == NULL)
        return wrong(reader, event, "a string is not UTF-8");
    yaml_event_delete((yaml_event_t *)event);
    return value;
}

static json_t *wrong(struct reader *reader, const yaml_event_t *event, const char *why)
{
    err_set(reader->err, "%s:%zu: %s", reader->name, event->start_mark.line + 1, why);
    yaml_event_delete((yaml_event_t *)event);
    return NULL;
}

/* Returns the value of an unquoted word; NULL: a string. */
static json_t *resolve(const char *text)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };
    static const char *const bools[] = { "false", "False", "FALSE", "true", "True", "TRUE" };
    const char *digits = text + strspn(text, "+-");
    char       *end;
    long long   number;
    double      real;
    size_t      i;

    for (i = 0; i < sizeof nulls / sizeof nulls[0]; i++)
        if (strcmp(text, nulls[i]) == 0)
            return json_null();
    for (i = 0; i < sizeof bools / sizeof bools[0]; i++)
        if (strcmp(text, bools[i]) == 0)
            return json_boolean(i >= 3);
    if (strpbrk(text, "0123456789") == NULL ||
        strspn(text, strncmp(digits, "0x", 2) == 0 ? "+-x0123456789abcdefABCDEF"
                                                   : "+-.0123456789eE") != strlen(text))
        return NULL;
    errno = 0;
    number = strtoll(text, &end, 0); /* 0644 is octal, as kubectl reads it */
    if (*end == '\0' && errno == 0)
        return json_integer(number);
    errno = 0;
    real = strtod(text, &end);
    return *end == '\0' && errno == 0 && isfinite(real) ? json_real(real) : NULL;
}

/* Writing */

static void emit(yaml_emitter_t *emitter, const json_t *value)
{
    yaml_event_t event;
    const char  *name;
    json_t      *inner;
    size_t       i;

    if (json_is_object(value)) {
        yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_ANY_MAPPING_STYLE);
        yaml_emitter_emit(emitter, &event);
        json_object_foreach((json_t *)value, name, inner) {
            emit_text(emitter, name);
            emit(emitter, inner);
        }
        yaml_mapping_end_event_initialize(&event);
        yaml_emitter_emit(emitter, &event);
    } else if (json_is_array(value)) {
        yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_ANY_SEQUENCE_STYLE);
        yaml_emitter_emit(emitter, &event);
        json_array_foreach((json_t *)value, i, inner)
            emit(emitter, inner);
        yaml_sequence_end_event_initialize(&event);
        yaml_emitter_emit(emitter, &event);
    } else if (json_is_string(value))
        emit_text(emitter, json_string_value(value));
    else
        emit_scalar(emitter, value);
}

static void emit_scalar(yaml_emitter_t *emitter, const json_t *value)
{
    yaml_event_t event;
    char        *text = json_dumps(value, JSON_ENCODE_ANY);

    yaml_scalar_event_initialize(&event, NULL, NULL, (yaml_char_t *)text, (int)strlen(text), 1, 1,
                                 YAML_PLAIN_SCALAR_STYLE);
    yaml_emitter_emit(emitter, &event);
    free(text);
}

/* Quotes a text that a parser, also one of YAML 1.1, would not read as a string. */
static void emit_text(yaml_emitter_t *emitter, const char *text)
{
    static const char *const words[] = { "y", "n", "yes", "no", "on", "off", "true", "false" };
    yaml_scalar_style_t      style = YAML_ANY_SCALAR_STYLE;
    yaml_event_t             event;
    json_t                  *other = resolve(text);
    size_t                   i;

    if (other != NULL || strspn(text, "0123456789") > 0)
        style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    for (i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(text, words[i]) == 0)
            style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    if (strchr(text, '\n') != NULL)
        style = YAML_LITERAL_SCALAR_STYLE;
    json_decref(other);
    yaml_scalar_event_initialize(&event, NULL, NULL, (yaml_char_t *)text, (int)strlen(text), 1, 1,
                                 style);
    yaml_emitter_emit(emitter, &event);
}
