/* ds_read.c - see ds_read.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "config/ds_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/ds_given.h"
#include "config/ds_old.h"
#include "config/ds_value.h"
#include "xalloc.h"

#define PATH_MAX_LENGTH 256 /* of a path, and of a note */
#define TEXT_MAX_LENGTH 512 /* of a problem */

static void take_section(struct ds_config *config, const char *section, const char *shown,
                         json_t *values);
static void take(struct ds_config *config, const struct ds_row *row, const char *shown,
                 json_t *values, const char *key);
static void take_value(struct ds_config *config, const struct ds_row *row, const char *shown,
                       json_t *value, bool is_off);
static bool is_never_used(const struct ds_row *row, const json_t *value);
static void join(char path[PATH_MAX_LENGTH], const char *section, const char *key);
static void unknown(struct ds_read *read, const char *path, const char *shown);
static void note_default(struct ds_config *config, const struct ds_row *row, const char *shown,
                         const json_t *value);
static bool is_enabled(const json_t *section);
static bool has_foreign_type(const struct ds_row *row, const json_t *values);
static bool is_in_disabled_section(const struct ds_row *row, const json_t *values);
static void refuse(struct ds_read *read, const struct ds_row *row, const char *shown);
static void ignore(struct ds_config *config, const char *shown, const char *why);
static void store_all(struct ds_config *config);
static int  line_of(const struct ds_read *read, const char *path);
static void place(const struct ds_read *read, const char *path, const char *option,
                  const char *text, struct error *err);

struct ds_read *ds_read_new(const char *name)
{
    struct ds_read *read = xcalloc(1, sizeof *read);

    read->name = xstrdup(name);
    return read;
}

void ds_read_free(struct ds_read *read)
{
    size_t i;

    if (read == NULL)
        return;
    for (i = 0; i < ds_rows; i++)
        json_decref(read->standard[i]);
    json_text_clear(&read->json);
    strlist_clear(&read->problems);
    free(read->name);
    free(read);
}

int ds_read_values(struct ds_config *config, const char *text, size_t size, struct error *err)
{
    struct ds_read *read = config->read;

    if (json_text_parse(&read->json, read->name, text, size, err) < 0)
        return -1;
    read->given_by_options = &config->given;
    ds_old_forms(config, read->json.root);
    ds_given_apply(config, read->json.root);
    take_section(config, "", "", read->json.root);
    store_all(config);
    return 0;
}

/* section: the path with the table's names; shown: the path with the file's names. Names that
 * begin with '_' are comments. */
static void take_section(struct ds_config *config, const char *section, const char *shown,
                         json_t *values)
{
    const struct ds_row *row;
    char                 path[PATH_MAX_LENGTH], said[PATH_MAX_LENGTH];
    const char          *key;
    json_t              *value;

    json_object_foreach(values, key, value) {
        if (key[0] == '_')
            continue;
        join(path, section, key);
        join(said, shown, key);
        row = ds_row_find(path);
        if (row == NULL)
            unknown(config->read, path, said);
        else
            take(config, row, said, values, key);
    }
}

/* Takes the value of this key in the section with these values. */
static void take(struct ds_config *config, const struct ds_row *row, const char *shown,
                 json_t *values, const char *key)
{
    json_t     *value = json_object_get(values, key), *number;
    const char *word = json_string_value(value);

    if (config->read->given[row - ds_table].value != NULL) {
        ds_read_problem(config->read, shown, "given twice, also under another name");
    } else if (word != NULL && strcmp(word, "auto") == 0) {
        if (strcmp(row->path, DS_TOTAL_STEPS) == 0)
            config->total_is_auto = true;
        else
            note_default(config, row, shown, value);
    } else if (ds_value_is_nothing(row, value)) {
        if (row->support == DS_WORKS && strcmp(row->value, "null") != 0)
            note_default(config, row, shown, value);
    } else if (!has_foreign_type(row, values)) {
        number = ds_value_unquote(row, value);
        if (number != NULL) {
            ds_read_note(config, shown, "the string is taken as a number");
            json_object_set_new(values, key, number);
            value = number;
        }
        take_value(config, row, shown, value, is_in_disabled_section(row, values));
    }
}

/* is_off: its section is not enabled. */
static void take_value(struct ds_config *config, const struct ds_row *row, const char *shown,
                       json_t *value, bool is_off)
{
    struct ds_read *read = config->read;
    const size_t    number = (size_t)(row - ds_table);
    const bool      foreign = row->kind == DS_FOREIGN;
    struct error    why;

    if (!is_never_used(row, value) && ds_value_check(row, value, &why) < 0) {
        ds_read_problem(read, shown, "%s", why.text);
        read->has_bad_value = true;
        return;
    }
    if (json_is_null(value) || (foreign && !is_enabled(value)))
        return;
    if (row->support != DS_WORKS && (foreign || !ds_value_is_default(row, value))) {
        if (row->support == DS_REFUSED && !is_off) {
            refuse(read, row, shown);
            return;
        }
        ignore(config, shown, is_off ? "its section is not enabled" : row->note);
    }
    read->given[number].value = value;
    read->given[number].line = line_of(read, shown);
    if (row->kind == DS_SECTION)
        take_section(config, row->path, shown, value);
}

/* Is it a number that makes no difference? Files of older versions have some, such as -1, that are
 * no longer in DeepSpeed's range. */
static bool is_never_used(const struct ds_row *row, const json_t *value)
{
    return row->support == DS_NO_EFFECT && row->field == 0 && ds_value_is_numeric(row) &&
           json_is_number(value);
}

/* May truncate, but the names of known sections are short, and a truncated key is still
 * unknown. */
static void join(char path[PATH_MAX_LENGTH], const char *section, const char *key)
{
    snprintf(path, PATH_MAX_LENGTH, "%.120s%s%.128s", section, section[0] != '\0' ? "." : "",
             key);
}

static void unknown(struct ds_read *read, const char *path, const char *shown)
{
    char suggestion[PATH_MAX_LENGTH] = "";

    if (read->problems.count < DS_PROBLEMS_MAX) /* the search takes long */
        ds_suggest(path, suggestion, sizeof suggestion);
    ds_read_problem(read, shown, "unknown key%s", suggestion);
}

/* For "auto" and other values that mean the default. */
static void note_default(struct ds_config *config, const struct ds_row *row, const char *shown,
                         const json_t *value)
{
    char text[PATH_MAX_LENGTH], is[DS_VALUE_TEXT];

    ds_value_text(value, is);
    if (row < ds_table + DS_BATCH_ROWS)
        snprintf(text, sizeof text, "%s means that it follows from the other sizes", is);
    else if (strcmp(row->value, "null") == 0)
        snprintf(text, sizeof text, "%s means that it is not given", is);
    else
        snprintf(text, sizeof text, "%s means %s here, the default", is, row->value);
    ds_read_note(config, shown, text);
}

/* Is the section enabled, or one of those in it? A disabled one is harmless. What
 * compression_training does is enabled in shared_parameters. */
static bool is_enabled(const json_t *section)
{
    const json_t *enabled = json_object_get(section, "enabled");
    const json_t *shared = json_object_get(section, "shared_parameters");
    const char   *key;
    json_t       *value;

    if (!json_is_object(section))
        return !json_is_null(section) && !json_is_false(section);
    if (enabled != NULL)
        return !json_is_false(enabled);
    if (shared != NULL)
        return is_enabled(shared);
    json_object_foreach((json_t *)section, key, value) {
        if (is_enabled(value))
            return true;
    }
    return false;
}

/* Are these the params of an optimizer or scheduler that is refused? They would be, too. */
static bool has_foreign_type(const struct ds_row *row, const json_t *values)
{
    const char  *dot = strrchr(row->path, '.');
    char         path[PATH_MAX_LENGTH];
    struct error why;

    if (dot == NULL || strcmp(dot, ".params") != 0 || json_object_get(values, "type") == NULL)
        return false;
    snprintf(path, sizeof path, "%.*s.type", (int)(dot - row->path), row->path);
    return ds_value_check(ds_row_find(path), json_object_get(values, "type"), &why) < 0;
}

/* Is the row in a section such as fp16 that does nothing, since it is not enabled? */
static bool is_in_disabled_section(const struct ds_row *row, const json_t *values)
{
    const char *dot = strrchr(row->path, '.');
    char        path[PATH_MAX_LENGTH];

    if (dot == NULL)
        return false;
    snprintf(path, sizeof path, "%.*s.enabled", (int)(dot - row->path), row->path);
    return ds_row_find(path) != NULL && !json_is_true(json_object_get(values, "enabled"));
}

static void refuse(struct ds_read *read, const struct ds_row *row, const char *shown)
{
    if (row->note != NULL)
        ds_read_problem(read, shown, "not supported: %s", row->note);
    else if (row->kind == DS_FOREIGN || strcmp(row->value, "null") == 0)
        ds_read_problem(read, shown, "not supported: remove it");
    else
        ds_read_problem(read, shown, "only %s is supported", row->value);
}

static void ignore(struct ds_config *config, const char *shown, const char *why)
{
    char text[PATH_MAX_LENGTH];

    snprintf(text, sizeof text, "ignored: %s", why);
    ds_read_note(config, shown, text);
}

void ds_read_note(struct ds_config *config, const char *path, const char *text)
{
    struct error line;

    place(config->read, path, NULL, text, &line);
    strlist_add(&config->notes, line.text);
}

void ds_read_problem(struct ds_read *read, const char *path, const char *format, ...)
{
    struct error line = { "" };
    char         text[TEXT_MAX_LENGTH];
    va_list      ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (read->problems.count < DS_PROBLEMS_MAX) /* to find the line takes long in a long file */
        place(read, path, ds_given_option(read->given_by_options, path), text, &line);
    ds_read_add_problem(read, line.text);
}

void ds_read_add_problem(struct ds_read *read, const char *line)
{
    read->found++;
    if (read->problems.count < DS_PROBLEMS_MAX)
        strlist_add(&read->problems, line);
}

static void store_all(struct ds_config *config)
{
    struct ds_read *read = config->read;
    size_t          i;

    for (i = 0; i < ds_rows; i++) {
        const struct ds_row *row = &ds_table[i];

        if (row->kind == DS_SECTION || (row->support != DS_WORKS && row->field == 0))
            continue;
        read->standard[i] = json_loads(row->value, JSON_DECODE_ANY, NULL);
        ds_value_store(row, read->given[i].value != NULL ? read->given[i].value
                                                         : read->standard[i], config);
    }
}

const char *ds_read_name(const struct ds_read *read)
{
    return read->name;
}

bool ds_read_has(const struct ds_config *config, const char *path)
{
    return config->read->given[ds_row_find(path) - ds_table].value != NULL;
}

int ds_read_check_scheduler(const struct ds_config *config, struct error *err)
{
    const struct ds_read *read = config->read;
    size_t                i;

    for (i = 0; i < ds_rows; i++)
        if (read->given[i].value != NULL && ds_table[i].schedulers != 0 &&
            !(ds_table[i].schedulers & 1u << config->schedule.type))
            return ds_read_error(read, ds_table[i].path, err, "%s has no such parameter",
                                 schedule_name((enum schedule_type)config->schedule.type));
    return 0;
}

int ds_read_error(const struct ds_read *read, const char *path, struct error *err,
                  const char *format, ...)
{
    char    text[TEXT_MAX_LENGTH];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    place(read, path, ds_given_option(read->given_by_options, path), text, err);
    return -1;
}

/* Puts the name of the file, the line and the key before a text. option: what gave the value, if
 * this was not the file. */
static void place(const struct ds_read *read, const char *path, const char *option,
                  const char *text, struct error *err)
{
    const int line = line_of(read, path);
    char      shown[PATH_MAX_LENGTH];

    path = ds_old_path(&read->json, path);
    snprintf(shown, sizeof shown, "%.220s%s%s%s", path, option != NULL ? " (from " : "",
             option != NULL ? option : "", option != NULL ? ")" : "");
    if (path[0] == '\0')
        err_set(err, "%s: %s", read->name, text);
    else if (line == 0)
        err_set(err, "%s: %s: %s", read->name, shown, text);
    else
        err_set(err, "%s:%d: %s: %s", read->name, line, shown, text);
}

/* 0: the file does not have the key. */
static int line_of(const struct ds_read *read, const char *path)
{
    const struct ds_row *row = ds_row_find(path);
    const int            line = json_text_line(&read->json, ds_old_path(&read->json, path));

    return line == 0 && row != NULL ? read->given[row - ds_table].line : line; /* an alias */
}
