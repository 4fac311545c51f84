/* ds_read.c - see ds_read.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "config/ds_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/ds_old.h"
#include "config/ds_value.h"
#include "xalloc.h"

#define PATH_MAX_LENGTH 256 /* of a path, and of a note */

static void        note_given(struct ds_config *config, const struct ds_given *given,
                              const json_t *file);
static char       *value_at(const json_t *root, const char *path);
static void        take_section(struct ds_config *config, const char *section, const char *shown,
                                json_t *values);
static int         take(struct ds_config *config, const struct ds_row *row, const char *shown,
                        json_t *value, struct error *err);
static bool        is_off(const struct ds_config *config, const struct ds_row *row);
static void        join(char path[PATH_MAX_LENGTH], const char *section, const char *key);
static int         unknown(struct ds_read *read, const char *path, const char *shown,
                           struct error *err);
static bool        is_enabled(const json_t *section);
static int         refuse(struct ds_read *read, const struct ds_row *row, const char *shown,
                          struct error *err);
static void        store_all(struct ds_config *config);

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
    free(read->name);
    free(read);
}

int ds_read_values(struct ds_config *config, const char *text, size_t size,
                   const struct ds_given *given, struct error *err)
{
    struct ds_read *read = config->read;
    json_t         *file;

    if (json_text_parse(&read->json, read->name, text, size, err) < 0)
        return -1;
    if (given != NULL) {
        file = json_deep_copy(read->json.root);
        if (ds_given_apply(given, read->json.root, err) < 0) {
            json_decref(file);
            return -1;
        }
        note_given(config, given, file);
        json_decref(file);
    }
    ds_old_replace(config, read->json.root);
    take_section(config, "", "", read->json.root);
    store_all(config);
    return 0;
}

/* Notes what the file said where the command line says something else. */
static void note_given(struct ds_config *config, const struct ds_given *given, const json_t *file)
{
    const char *option;
    char        text[PATH_MAX_LENGTH];
    char       *was, *is;
    size_t      i;

    for (i = 0; i < ds_rows; i++) {
        option = ds_given_option(given, ds_table[i].path);
        was = option != NULL ? value_at(file, ds_table[i].path) : NULL;
        is = value_at(config->read->json.root, ds_table[i].path);
        if (was != NULL && is != NULL && strcmp(was, is) != 0) {
            snprintf(text, sizeof text, "%s %s replaces %.80s", option, is, was);
            ds_read_note(config, ds_table[i].path, text);
        }
        free(was);
        free(is);
    }
}

/* Returns the value of a path as JSON; the caller frees it. NULL: there is none. */
static char *value_at(const json_t *root, const char *path)
{
    char  key[PATH_MAX_LENGTH];
    size_t length;

    for (; root != NULL; path += length + 1) {
        length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        root = json_object_get(root, key);
        if (path[length] == '\0')
            break;
    }
    return root != NULL ? json_dumps(root, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9)) : NULL;
}

/* section: the path with the table's names; shown: the path with the file's names. What is wrong is
 * added to the problems, and the next key is read. */
static void take_section(struct ds_config *config, const char *section, const char *shown,
                         json_t *values)
{
    const struct ds_row *row;
    char                 path[PATH_MAX_LENGTH], said[PATH_MAX_LENGTH];
    const char          *key;
    json_t              *value;
    struct error         why;

    json_object_foreach(values, key, value) {
        if (key[0] == '_') /* people write comments so */
            continue;
        join(path, section, key);
        join(said, shown, key);
        row = ds_row_find(path);
        if (row != NULL)
            value = ds_old_number(row, values, key, value);
        if ((row == NULL ? unknown(config->read, path, said, &why)
                         : take(config, row, said, value, &why)) < 0)
            strlist_add(&config->problems, why.text);
    }
}

static int take(struct ds_config *config, const struct ds_row *row, const char *shown,
                json_t *value, struct error *err)
{
    struct ds_read *read = config->read;
    const size_t    number = (size_t)(row - ds_table);
    const char     *word = json_string_value(value), *note;
    char            text[PATH_MAX_LENGTH];
    struct error    why;

    if (read->given[number].value != NULL)
        return ds_read_error(read, shown, err, "given twice, also under another name");
    if (word != NULL && strcmp(word, "auto") == 0 &&
        strcmp(row->path, "scheduler.params.total_num_steps") == 0) {
        config->total_is_auto = true;
        return 0;
    }
    if (word != NULL && strcmp(word, "auto") == 0) {
        snprintf(text, sizeof text, "\"auto\" means the default here%s%.80s",
                 strcmp(row->value, "null") == 0 ? "" : ", ",
                 strcmp(row->value, "null") == 0 ? "" : row->value);
        ds_read_note(config, shown, text);
        return 0;
    }
    if (ds_asks_nothing(row, value, &note)) {
        if (note != NULL)
            ds_read_note(config, shown, note);
        return 0;
    }
    if (row->kind == DS_FOREIGN && !is_enabled(value))
        return 0;
    if (row->kind == DS_FOREIGN && row->support == DS_REFUSED)
        return refuse(read, row, shown, err);
    if (ds_value_check(row, value, &why) < 0)
        return ds_read_error(read, shown, err, "%s", why.text);
    if (json_is_null(value))
        return 0;
    if (row->support != DS_WORKS && !ds_value_is_default(row, value)) {
        if (row->support == DS_REFUSED)
            return is_off(config, row) ? 0 : refuse(read, row, shown, err);
        snprintf(text, sizeof text, "ignored: %s", row->note);
        ds_read_note(config, shown, text);
    }
    read->given[number].value = value;
    read->given[number].line = json_text_line(&read->json, shown);
    if (row->kind == DS_SECTION)
        take_section(config, row->path, shown, value);
    return 0;
}

/* Is the key of a precision that is not used? */
static bool is_off(const struct ds_config *config, const struct ds_row *row)
{
    const json_t *root = config->read->json.root, *section = NULL;

    if (strncmp(row->path, "fp16.", 5) == 0)
        section = json_object_get(root, "fp16");
    else if (strncmp(row->path, "bf16.", 5) == 0)
        section = json_object_get(root, json_object_get(root, "bf16") != NULL ? "bf16"
                                                                              : "bfloat16");
    return section != NULL && !json_is_true(json_object_get(section, "enabled"));
}

/* May truncate, but the names of known sections are short, and a truncated key is still
 * unknown. */
static void join(char path[PATH_MAX_LENGTH], const char *section, const char *key)
{
    snprintf(path, PATH_MAX_LENGTH, "%.120s%s%.128s", section, section[0] != '\0' ? "." : "",
             key);
}

static int unknown(struct ds_read *read, const char *path, const char *shown,
                   struct error *err)
{
    char suggestion[PATH_MAX_LENGTH];

    ds_suggest(path, suggestion, sizeof suggestion);
    return ds_read_error(read, shown, err, "unknown key%s", suggestion);
}

/* Is the section enabled? A disabled one is harmless. */
static bool is_enabled(const json_t *section)
{
    const json_t *enabled = json_object_get(section, "enabled");

    if (json_is_object(section))
        return enabled == NULL ? json_object_size(section) > 0 : !json_is_false(enabled);
    return !json_is_null(section) && !json_is_false(section);
}

static int refuse(struct ds_read *read, const struct ds_row *row, const char *shown,
                  struct error *err)
{
    if (row->note != NULL)
        return ds_read_error(read, shown, err, "not supported: %s", row->note);
    if (row->kind == DS_FOREIGN || strcmp(row->value, "null") == 0)
        return ds_read_error(read, shown, err, "not supported");
    return ds_read_error(read, shown, err, "only %s is supported", row->value);
}

void ds_read_note(struct ds_config *config, const char *path, const char *text)
{
    struct error line;

    ds_read_error(config->read, path, &line, "%s", text);
    strlist_add(&config->notes, line.text);
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
    const struct ds_row *row = ds_row_find(path);
    int                  line = json_text_line(&read->json, path);
    char                 text[512];
    va_list              ap;

    if (line == 0 && row != NULL) /* the file may use an alias */
        line = read->given[row - ds_table].line;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (path[0] == '\0')
        return err_set(err, "%s: %s", read->name, text);
    if (line == 0)
        return err_set(err, "%s: %s: %s", read->name, path, text);
    return err_set(err, "%s:%d: %s: %s", read->name, line, path, text);
}
