/* number.c - see number.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "number.h"

#include <stdio.h>
#include <string.h>

static int         parse_integer(const char *text, int64_t *number);
static const char *parse_decimal(const char *text, long double *value);

int parse_number(const char *text, int64_t min, int64_t max, int64_t *number, struct error *err)
{
    int64_t value;

    if (parse_integer(text, &value) < 0 || value < min || value > max)
        return err_set(err, "'%.64s' is not a number from %lld to %lld", text, (long long)min,
                       (long long)max);
    *number = value;
    return 0;
}

/* The sign is applied to each digit, because INT64_MIN has no positive counterpart. */
static int parse_integer(const char *text, int64_t *number)
{
    int     sign = *text == '-' ? -1 : 1;
    int64_t value = 0;

    if (sign < 0)
        text++;
    if (*text == '\0')
        return -1;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, sign * (*text - '0'), &value))
            return -1;
    }
    *number = value;
    return 0;
}

int parse_seconds(const char *text, double min, double max, double *seconds, struct error *err)
{
    static const struct {
        const char *name;
        int         seconds;
    } units[] = { { "", 1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 } };
    long double value;
    const char *unit = parse_decimal(text, &value);
    size_t      i;

    for (i = 0; unit != NULL && i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(unit, units[i].name) != 0)
            continue;
        value *= units[i].seconds;
        if (value < min || value > max)
            break;
        *seconds = (double)value;
        return 0;
    }
    return err_set(err, "'%.64s' is not a time from %g to %g seconds (90, 1.5, 30s, 10m, 2h)",
                   text, min, max);
}

int parse_bytes(const char *text, int64_t min, int64_t max, int64_t *bytes, struct error *err)
{
    static const char units[] = "KMGT";
    long double       value;
    const char       *unit = parse_decimal(text, &value), *found;

    if (unit != NULL && *unit != '\0') {
        found = strchr(units, *unit & ~0x20); /* k is K */
        if (found == NULL || unit[1] != '\0')
            unit = NULL;
        else
            value *= (long double)(INT64_C(1024) << 10 * (found - units));
    } else if (unit != NULL && strchr(text, '.') != NULL) {
        unit = NULL; /* half a byte */
    }
    if (unit == NULL || value < min || value > max)
        return err_set(err, "'%.64s' is not a size from %lld to %lld bytes (4096, 8K, 1.5G)",
                       text, (long long)min, (long long)max);
    *bytes = (int64_t)value;
    return 0;
}

/* Parses digits, and a point with more digits if there is one. Returns the rest of text; NULL
 * if text does not begin with a number. Not strtold(), which accepts blanks, signs, hex, "inf"
 * and the comma of the locale. */
static const char *parse_decimal(const char *text, long double *value)
{
    const char *start = text;
    long double scale = 1;

    for (*value = 0; *text >= '0' && *text <= '9'; text++)
        *value = *value * 10 + (*text - '0');
    if (text == start)
        return NULL;
    if (*text != '.')
        return text;
    for (start = ++text; *text >= '0' && *text <= '9'; text++) {
        scale /= 10;
        *value += scale * (*text - '0');
    }
    return text == start ? NULL : text;
}

void number_add_ranges(struct buffer *text, const int *number, size_t count, int base)
{
    char   part[48];
    size_t i, last;

    for (i = 0; i < count; i = last + 1) {
        for (last = i; last + 1 < count; last++)
            if (number[last + 1] != number[last] + 1)
                break;
        snprintf(part, sizeof part, "%s%d", i > 0 ? "," : "", number[i] - base);
        buffer_add_text(text, part);
        if (last > i) {
            snprintf(part, sizeof part, "-%d", number[last] - base);
            buffer_add_text(text, part);
        }
    }
}
