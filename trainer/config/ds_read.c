/* ds_read.c - see ds_read.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "config/ds_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/ds_value.h"
#include "xalloc.h"

#define PATH_MAX_LENGTH 256 /* of a path, and of a note */

static int         take_section(struct ds_config *config, const char *section, const char *shown,
                                const json_t *values, struct error *err);
static int         take(struct ds_config *config, const struct ds_row *row, const char *shown,
                        const json_t *value, struct error *err);
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

    if (json_text_parse(&read->json, read->name, text, size, err) < 0 ||
        (given != NULL && ds_given_apply(given, read->json.root, err) < 0) ||
        take_section(config, "", "", read->json.root, err) < 0)
        return -1;
    store_all(config);
    return 0;
}

/* section: the path with the table's names; shown: the path with the file's names. */
static int take_section(struct ds_config *config, const char *section, const char *shown,
                        const json_t *values, struct error *err)
{
    const struct ds_row *row;
    char                 path[PATH_MAX_LENGTH], said[PATH_MAX_LENGTH];
    const char          *key;
    json_t              *value;

    json_object_foreach((json_t *)values, key, value) {
        join(path, section, key);
        join(said, shown, key);
        row = ds_row_find(path);
        if (row == NULL)
            return unknown(config->read, path, said, err);
        if (take(config, row, said, value, err) < 0)
            return -1;
    }
    return 0;
}

static int take(struct ds_config *config, const struct ds_row *row, const char *shown,
                const json_t *value, struct error *err)
{
    struct ds_read *read = config->read;
    const size_t    number = (size_t)(row - ds_table);
    const char     *word = json_string_value(value);
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
        ds_read_note(config, shown, "\"auto\" means the default here");
        return 0;
    }
    if (row->kind == DS_FOREIGN)
        return is_enabled(value) ? refuse(read, row, shown, err) : 0;
    if (ds_value_check(row, value, &why) < 0)
        return ds_read_error(read, shown, err, "%s", why.text);
    if (json_is_null(value))
        return 0;
    if (row->support != DS_WORKS && !ds_value_is_default(row, value)) {
        if (row->support == DS_REFUSED)
            return refuse(read, row, shown, err);
        snprintf(text, sizeof text, "ignored: %s", row->note);
        ds_read_note(config, shown, text);
    }
    read->given[number].value = value;
    read->given[number].line = json_text_line(&read->json, shown);
    return row->kind == DS_SECTION ? take_section(config, row->path, shown, value, err) : 0;
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
