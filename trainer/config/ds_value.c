/* ds_value.c - see ds_value.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "config/ds_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "xalloc.h"

static bool   is_kind(const struct ds_row *row, const json_t *value);
static bool   is_whole(const json_t *value, int64_t min);
static bool   is_number(const json_t *value, double min, double max);
static bool   are_counts(const json_t *value);
static int    choice_of(const struct ds_row *row, const json_t *value);
static int    say_what_it_should_be(const struct ds_row *row, const json_t *value,
                                    struct error *err);
static void   store_null(const struct ds_row *row, void *field);
static void   store_counts(const json_t *value, struct ds_config *config);
static int64_t whole(const json_t *value);

int ds_value_check(const struct ds_row *row, const json_t *value, struct error *err)
{
    if (json_is_null(value) && strcmp(row->value, "null") == 0)
        return 0;
    return is_kind(row, value) ? 0 : say_what_it_should_be(row, value, err);
}

static bool is_kind(const struct ds_row *row, const json_t *value)
{
    switch (row->kind) {
    case DS_SECTION:
        return json_is_object(value);
    case DS_FOREIGN:
    case DS_ANY:
        return true;
    case DS_BOOL:
        return json_is_boolean(value);
    case DS_COUNT:
        return is_whole(value, 1);
    case DS_NATURAL:
        return is_whole(value, 0);
    case DS_INTEGER:
        return is_whole(value, INT64_MIN);
    case DS_REAL:
        return is_number(value, 0, INFINITY);
    case DS_NUMBER:
        return is_number(value, -INFINITY, INFINITY);
    case DS_FRACTION:
        return is_number(value, 0, 1);
    case DS_TEXT:
        return json_is_string(value);
    case DS_CHOICE:
        return choice_of(row, value) >= 0;
    case DS_PAIR:
        return json_array_size(value) == 2 && is_number(json_array_get(value, 0), 0, 1) &&
               is_number(json_array_get(value, 1), 0, 1);
    case DS_COUNTS:
        return are_counts(value);
    }
    return false;
}

/* Accepts 5e8 as an integer, too, if a double represents the integer exactly. */
static bool is_whole(const json_t *value, int64_t min)
{
    double real;

    if (json_is_integer(value))
        return json_integer_value(value) >= min;
    if (!json_is_real(value))
        return false;
    real = json_real_value(value);
    return real == floor(real) && fabs(real) <= 0x1p53 && (int64_t)real >= min;
}

static bool is_number(const json_t *value, double min, double max)
{
    return json_is_number(value) && isfinite(json_number_value(value)) &&
           json_number_value(value) >= min && json_number_value(value) <= max;
}

static bool are_counts(const json_t *value)
{
    size_t i;

    if (json_array_size(value) == 0)
        return false;
    for (i = 0; i < json_array_size(value); i++)
        if (!is_whole(json_array_get(value, i), 1))
            return false;
    return true;
}

/* Returns the word's number among the row's choices, or -1. */
static int choice_of(const struct ds_row *row, const json_t *value)
{
    const char *word = json_string_value(value), *choice = row->choices;
    size_t      length;
    int         number = 0;

    if (word == NULL)
        return -1;
    for (;; number++) {
        length = strcspn(choice, "|");
        if (strlen(word) == length && strncasecmp(word, choice, length) == 0)
            return number;
        if (choice[length] == '\0')
            return -1;
        choice += length + 1;
    }
}

static int say_what_it_should_be(const struct ds_row *row, const json_t *value,
                                 struct error *err)
{
    static const char *const wants[] = {
        [DS_SECTION] = "an object",
        [DS_BOOL] = "true or false",
        [DS_COUNT] = "an integer of at least 1",
        [DS_NATURAL] = "an integer of at least 0",
        [DS_INTEGER] = "a whole number",
        [DS_REAL] = "a number of at least 0",
        [DS_NUMBER] = "a number",
        [DS_FRACTION] = "a number from 0 to 1",
        [DS_TEXT] = "a string",
        [DS_PAIR] = "a list of two numbers from 0 to 1",
        [DS_COUNTS] = "a list of integers of at least 1",
    };
    const char *want = row->kind == DS_CHOICE ? row->choices : wants[row->kind];
    char        text[DS_VALUE_TEXT];

    ds_value_text(value, text);
    return err_set(err, "%s is not %s%s", text, row->kind == DS_CHOICE ? "one of " : "", want);
}

void ds_value_text(const json_t *value, char text[DS_VALUE_TEXT])
{
    char *whole_text;
    int   digits;

    if (json_is_real(value)) {
        for (digits = 6; digits <= 17; digits++) {
            snprintf(text, DS_VALUE_TEXT, "%.*g", digits, json_real_value(value));
            if (strtod(text, NULL) == json_real_value(value))
                return;
        }
        return;
    }
    whole_text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    snprintf(text, DS_VALUE_TEXT, "%s", whole_text != NULL ? whole_text : "this");
    free(whole_text);
}

void ds_value_store(const struct ds_row *row, const json_t *value, struct ds_config *config)
{
    void *field = (char *)config + row->field;

    if (json_is_null(value)) {
        store_null(row, field);
        return;
    }
    switch (row->kind) {
    case DS_BOOL:
        *(bool *)field = json_is_true(value);
        break;
    case DS_COUNT:
    case DS_NATURAL:
    case DS_INTEGER:
        *(int64_t *)field = whole(value);
        break;
    case DS_REAL:
    case DS_NUMBER:
    case DS_FRACTION:
        *(double *)field = json_number_value(value);
        break;
    case DS_TEXT:
        *(const char **)field = json_string_value(value);
        break;
    case DS_CHOICE:
        *(int *)field = choice_of(row, value);
        break;
    case DS_PAIR:
        ((double *)field)[0] = json_number_value(json_array_get(value, 0));
        ((double *)field)[1] = json_number_value(json_array_get(value, 1));
        break;
    case DS_COUNTS:
        store_counts(value, config);
        break;
    case DS_SECTION:
    case DS_FOREIGN:
    case DS_ANY:
        break;
    }
}

static void store_null(const struct ds_row *row, void *field)
{
    switch (row->kind) {
    case DS_COUNT:
    case DS_NATURAL:
    case DS_INTEGER:
        *(int64_t *)field = DS_UNSET;
        break;
    case DS_REAL:
    case DS_NUMBER:
    case DS_FRACTION:
        *(double *)field = NAN;
        break;
    case DS_CHOICE:
        *(int *)field = DS_UNSET;
        break;
    default: /* false or NULL */
        break;
    }
}

/* Only elasticity has a row of this kind. */
static void store_counts(const json_t *value, struct ds_config *config)
{
    const size_t count = json_array_size(value);
    int64_t     *sizes = xcalloc(count, sizeof *sizes);
    size_t       i;

    for (i = 0; i < count; i++)
        sizes[i] = whole(json_array_get(value, i));
    config->elasticity.micro_batch_sizes = sizes;
    config->elasticity.micro_batches = count;
}

static int64_t whole(const json_t *value)
{
    return json_is_integer(value) ? json_integer_value(value) : (int64_t)json_real_value(value);
}

bool ds_value_is_default(const struct ds_row *row, const json_t *value)
{
    json_t    *standard = json_loads(row->value, JSON_DECODE_ANY, NULL);
    const bool number = json_is_number(value) && json_is_number(standard);
    const bool same = number ? json_number_value(value) == json_number_value(standard)
                             : json_equal(value, standard) != 0;

    json_decref(standard);
    return same;
}

bool ds_value_is_nothing(const struct ds_row *row, const json_t *value)
{
    json_t *all = row->nothing != NULL ? json_loads(row->nothing, 0, NULL) : NULL;
    bool    is = false;
    size_t  i;

    for (i = 0; i < json_array_size(all) && !is; i++)
        is = json_equal(json_array_get(all, i), value) != 0;
    json_decref(all);
    return is;
}

json_t *ds_value_unquote(const struct ds_row *row, const json_t *value)
{
    const char *word = json_string_value(value);
    json_t     *number = NULL;

    if (word != NULL && ds_value_is_numeric(row))
        number = json_loads(word, JSON_DECODE_ANY, NULL);
    if (json_is_number(number))
        return number;
    json_decref(number);
    return NULL;
}

bool ds_value_is_numeric(const struct ds_row *row)
{
    return row->kind >= DS_COUNT && row->kind <= DS_FRACTION;
}
