/* ds_print.c - prints the configuration that applies, for --print-config
 *
 * The output is a valid ds_config.json; the origins are comments.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/ds_read.h"
#include "config/ds_value.h"
#include "fnv.h"
#include "xalloc.h"

#define INDENT 4
#define ORIGIN ", // " /* at the end of a line: where its value comes from */

static size_t      length_without_origin(const char *line);
static void        print_section(const struct ds_config *config, const char *section, int depth,
                                 FILE *out);
static bool        is_in(const char *path, const char *section);
static bool        is_shown(const struct ds_config *config, const struct ds_row *row);
static bool        is_derived(const struct ds_config *config, const struct ds_row *row);
static void        print_value(const struct ds_config *config, const struct ds_row *row,
                               FILE *out);
static void        print_whole(const struct ds_config *config, const struct ds_row *row,
                               int64_t value, FILE *out);
static void        print_real(double value, FILE *out);
static void        print_choice(const struct ds_row *row, int number, FILE *out);
static void        print_text(const char *text, FILE *out);
static void        print_counts(const struct ds_elasticity *elasticity, FILE *out);
static void        print_origin(const struct ds_config *config, const struct ds_row *row,
                                FILE *out);

void ds_config_print(const struct ds_config *config, FILE *out)
{
    fprintf(out, "{ // %s", config->read->name);
    if (config->world > 0)
        fprintf(out, ", %" PRId64 " ranks", config->world);
    fputc('\n', out);
    print_section(config, "", 1, out);
    fputs("}\n", out);
}

/* Leaves out comments, which depend on the file's name and layout. */
uint64_t ds_config_hash(const struct ds_config *config)
{
    uint64_t hash = FNV_START;
    char    *text = NULL, *line, *rest;
    size_t   size = 0;
    FILE    *out = open_memstream(&text, &size);

    if (out == NULL)
        xalloc_die();
    print_section(config, "", 1, out);
    fclose(out);
    for (rest = text; (line = strsep(&rest, "\n")) != NULL;)
        hash = fnv_add(hash, line, length_without_origin(line));
    free(text);
    return hash;
}

/* A value may contain "//" itself. */
static size_t length_without_origin(const char *line)
{
    const char *at = line, *last = NULL;

    while ((at = strstr(at, ORIGIN)) != NULL)
        last = at++;
    return last != NULL ? (size_t)(last - line) : strlen(line);
}

static void print_section(const struct ds_config *config, const char *section, int depth,
                          FILE *out)
{
    const struct ds_row *row;

    for (row = ds_table; row < ds_table + ds_rows; row++) {
        if (!is_in(row->path, section) || !is_shown(config, row))
            continue;
        /* A file with elasticity must not set the sizes that elasticity chooses. */
        fprintf(out, "%*s%s\"%s\": ", depth * INDENT, "",
                config->elasticity.enabled && is_derived(config, row) ? "// " : "",
                row->path + strlen(section) + (section[0] != '\0'));
        if (row->kind == DS_SECTION) {
            fputs("{\n", out);
            print_section(config, row->path, depth + 1, out);
            fprintf(out, "%*s},\n", depth * INDENT, "");
        } else {
            print_value(config, row, out);
            print_origin(config, row, out);
        }
    }
}

/* Is path directly in this section? "" is the outermost section. */
static bool is_in(const char *path, const char *section)
{
    const size_t length = strlen(section);

    if (length == 0)
        return strchr(path, '.') == NULL;
    return strncmp(path, section, length) == 0 && path[length] == '.' &&
           strchr(path + length + 1, '.') == NULL;
}

static bool is_shown(const struct ds_config *config, const struct ds_row *row)
{
    static const char *const optional[] = { "optimizer", "scheduler", "elasticity" };
    const struct ds_row     *other;
    size_t                   i;

    if (row->kind != DS_SECTION)
        return row->support == DS_WORKS &&
               (row->schedulers == 0 || row->schedulers & 1u << config->schedule.type);
    for (i = 0; i < sizeof optional / sizeof optional[0]; i++)
        if (strcmp(row->path, optional[i]) == 0)
            return ds_read_has(config, row->path);
    for (other = ds_table; other < ds_table + ds_rows; other++)
        if (is_in(other->path, row->path) && is_shown(config, other))
            return true;
    return false;
}

/* Is it one of the three batch sizes, and computed from the others? */
static bool is_derived(const struct ds_config *config, const struct ds_row *row)
{
    return row < ds_table + 3 && config->world > 0 &&
           (config->elasticity.enabled || !ds_read_has(config, row->path));
}

static void print_value(const struct ds_config *config, const struct ds_row *row, FILE *out)
{
    const void *field = (const char *)config + row->field;

    switch (row->kind) {
    case DS_BOOL:
        fputs(*(const bool *)field ? "true" : "false", out);
        break;
    case DS_COUNT:
    case DS_NATURAL:
    case DS_INTEGER:
        print_whole(config, row, *(const int64_t *)field, out);
        break;
    case DS_REAL:
    case DS_NUMBER:
    case DS_FRACTION:
        print_real(*(const double *)field, out);
        break;
    case DS_TEXT:
        print_text(*(const char *const *)field, out);
        break;
    case DS_CHOICE:
        print_choice(row, *(const int *)field, out);
        break;
    case DS_PAIR:
        fputc('[', out);
        print_real(((const double *)field)[0], out);
        fputs(", ", out);
        print_real(((const double *)field)[1], out);
        fputc(']', out);
        break;
    case DS_COUNTS:
        print_counts(&config->elasticity, out);
        break;
    case DS_SECTION:
    case DS_FOREIGN:
    case DS_ANY:
        break;
    }
}

static void print_whole(const struct ds_config *config, const struct ds_row *row, int64_t value,
                        FILE *out)
{
    if (value != DS_UNSET)
        fprintf(out, "%" PRId64, value);
    else if (config->total_is_auto && strcmp(row->path, DS_TOTAL_STEPS) == 0)
        fputs("\"auto\"", out);
    else
        fputs("null", out);
}

static void print_real(double value, FILE *out)
{
    char    text[DS_VALUE_TEXT];
    json_t *real = json_real(value); /* NULL if it is NAN */

    ds_value_text(real, text);
    fputs(real != NULL ? text : "null", out);
    json_decref(real);
}

static void print_choice(const struct ds_row *row, int number, FILE *out)
{
    const char *word = row->choices;

    if (number == DS_UNSET) {
        fputs("null", out);
        return;
    }
    for (; number > 0; number--)
        word = strchr(word, '|') + 1;
    fprintf(out, "\"%.*s\"", (int)strcspn(word, "|"), word);
}

static void print_text(const char *text, FILE *out)
{
    json_t *string = text != NULL ? json_string(text) : json_null();

    json_dumpf(string, out, JSON_ENCODE_ANY);
    json_decref(string);
}

static void print_counts(const struct ds_elasticity *elasticity, FILE *out)
{
    size_t i;

    for (i = 0; i < elasticity->micro_batches; i++)
        fprintf(out, "%s%" PRId64, i == 0 ? "[" : ", ", elasticity->micro_batch_sizes[i]);
    fputc(']', out);
}

static void print_origin(const struct ds_config *config, const struct ds_row *row, FILE *out)
{
    const char  *option = ds_given_option(&config->given, row->path);
    const bool   filled = config->total_is_auto && strcmp(row->path, DS_TOTAL_STEPS) == 0;
    const size_t number = (size_t)(row - ds_table);

    if (option != NULL)
        fprintf(out, ORIGIN "from %s\n", option);
    else if (filled || is_derived(config, row))
        fputs(ORIGIN "computed\n", out);
    else if (config->read->given[number].value == NULL)
        fputs(ORIGIN "default\n", out);
    else if (config->read->given[number].line == 0)
        fputs(ORIGIN "implied\n", out); /* by an option or an older key */
    else
        fprintf(out, ORIGIN "line %d\n", config->read->given[number].line);
}
