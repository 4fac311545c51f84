/* hostrange.c - see hostrange.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hostrange.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "xalloc.h"

#define DIGITS "0123456789"

static bool   is_address(const char *word);
static int    read_bracket(const char **at, struct strlist *choices, struct error *err);
static int    read_range(const char *text, size_t size, struct strlist *choices,
                         struct error *err);
static size_t read_digits(const char *text, char number[HOSTRANGE_DIGITS_MAX + 1]);
static int    multiply(struct strlist *names, const struct strlist *choices,
                       struct error *err);

/* A word is a sequence of pieces, each literal text or a bracket. Each piece is a list of
 * choices, and the names are the product of these lists. */
int hostrange_expand(const char *word, struct strlist *names, struct error *err)
{
    struct strlist made = { 0 }, choices = { 0 };
    struct error   why;
    const char    *at = word;
    size_t         literal;
    int            brackets = 0, rc = -1;

    strlist_add(&made, "");
    while (*at != '\0') {
        literal = is_address(word) ? strlen(word) : strcspn(at, "[]");
        strlist_clear(&choices);
        if (literal > 0) {
            strlist_add_bytes(&choices, at, literal);
            at += literal;
        } else if (++brackets > HOSTRANGE_BRACKETS_MAX) {
            err_set(&why, "more than %d brackets", HOSTRANGE_BRACKETS_MAX);
            goto out;
        } else if (read_bracket(&at, &choices, &why) < 0) {
            goto out;
        }
        if (multiply(&made, &choices, &why) < 0)
            goto out;
    }
    strlist_append(names, &made);
    rc = 0;
out:
    strlist_clear(&made);
    strlist_clear(&choices);
    if (rc < 0)
        err_set(err, "'%.64s': %s", word, why.text);
    return rc;
}

size_t hostrange_word(const char *list)
{
    size_t size = strcspn(list, ",[");

    while (list[size] == '[') {
        size += strcspn(list + size, "]");
        size += strcspn(list + size, ",[");
    }
    return size;
}

int hostrange_expand_list(const char *list, struct strlist *names, struct error *err)
{
    size_t size;
    char  *word;
    int    rc = 0;

    while (rc == 0 && *list != '\0') {
        size = hostrange_word(list);
        word = xstrndup(list, size);
        rc = names->count > HOSTRANGE_NAMES_MAX
                 ? err_set(err, "more than %d names", HOSTRANGE_NAMES_MAX)
                 : hostrange_expand(word, names, err);
        free(word);
        list += size + (list[size] == ',');
    }
    return rc;
}

/* Does word begin like "[::1]"? Then all of it is literal. */
static bool is_address(const char *word)
{
    size_t inside = *word == '[' ? strcspn(word, ":]") : 0;

    return inside > 0 && word[inside] == ':';
}

/* Reads "[1-4,7]" at *at, and moves *at past it. */
static int read_bracket(const char **at, struct strlist *choices, struct error *err)
{
    const char *item = *at + 1, *close = strchr(*at, ']');
    size_t      size;

    if (**at == ']')
        return err_set(err, "']' without '['");
    if (close == NULL)
        return err_set(err, "'[' without ']'");
    for (;; item += size + 1) {
        size = strcspn(item, ",]");
        if (read_range(item, size, choices, err) < 0)
            return -1;
        if (item + size == close)
            break;
    }
    *at = close + 1;
    return 0;
}

/* Reads "7", "01-16" or "1-9/2". All numbers have as many digits as the first. */
static int read_range(const char *text, size_t size, struct strlist *choices, struct error *err)
{
    char    low[HOSTRANGE_DIGITS_MAX + 1], high[HOSTRANGE_DIGITS_MAX + 1];
    char    by[HOSTRANGE_DIGITS_MAX + 1] = "1";
    size_t  width = read_digits(text, low), more;
    int     shown = (int)(size < 64 ? size : 64);
    int64_t first, last, step;

    snprintf(high, sizeof high, "%s", low);
    if (width > 0 && text[width] == '-') {
        more = read_digits(text + width + 1, high);
        width += more > 0 ? 1 + more : 0;
        if (more > 0 && text[width] == '/') {
            more = read_digits(text + width + 1, by);
            width += more > 0 ? 1 + more : 0;
        }
    }
    if (width == 0 || width != size)
        return err_set(err, "'%.*s' is not a number or a range such as 01-16", shown, text);
    if (high[0] == '0' && strlen(high) > 1 && strlen(high) != strlen(low))
        return err_set(err, "'%.*s' has a different number of digits at its beginning and end",
                       shown, text);
    if (parse_number(low, 0, INT64_MAX, &first, err) < 0 ||
        parse_number(high, 0, INT64_MAX, &last, err) < 0 ||
        parse_number(by, 1, INT64_MAX, &step, err) < 0)
        return -1;
    if (last < first)
        return err_set(err, "'%.*s' counts down", shown, text);
    if ((last - first) / step >= HOSTRANGE_NAMES_MAX - (int64_t)choices->count)
        return err_set(err, "more than %d names", HOSTRANGE_NAMES_MAX);
    for (last -= (last - first) % step; first <= last; first += step)
        strlist_addf(choices, "%0*lld", (int)strlen(low), (long long)first);
    return 0;
}

/* Copies the leading digits of text. Returns their number; 0 also if there are too many. */
static size_t read_digits(const char *text, char number[HOSTRANGE_DIGITS_MAX + 1])
{
    size_t width = strspn(text, DIGITS);

    if (width > HOSTRANGE_DIGITS_MAX)
        width = 0;
    memcpy(number, text, width);
    number[width] = '\0';
    return width;
}

/* Appends each choice to each name. */
static int multiply(struct strlist *names, const struct strlist *choices, struct error *err)
{
    struct strlist product = { 0 };
    size_t         i, j;

    if (choices->count > HOSTRANGE_NAMES_MAX / names->count)
        return err_set(err, "more than %d names", HOSTRANGE_NAMES_MAX);
    for (i = 0; i < names->count; i++) {
        for (j = 0; j < choices->count; j++) {
            if (strlen(names->item[i]) + strlen(choices->item[j]) > HOSTRANGE_NAME_MAX) {
                strlist_clear(&product);
                return err_set(err, "a name of more than %d characters", HOSTRANGE_NAME_MAX);
            }
            strlist_addf(&product, "%s%s", names->item[i], choices->item[j]);
        }
    }
    strlist_clear(names);
    *names = product;
    return 0;
}

/* A name split at its last number: "rack2-07.lan" is "rack2-", 07, ".lan". */
struct split {
    const char *name, *suffix;
    int         prefix, digits; /* lengths; digits 0: nothing to fold */
    int64_t     number;
};

static struct split split_name(const char *name);
static int          compare_splits(const void *a, const void *b);
static size_t       group_end(const struct split *split, size_t count, size_t first);
static void         write_group(FILE *out, const struct split *split, size_t count);
static bool         continues(const struct split *first, const struct split *last,
                              const struct split *next);

char *hostrange_fold(const struct strlist *names)
{
    struct split *split = xcalloc(names->count, sizeof *split);
    char         *text = NULL;
    size_t        i, size, next, count = 0;
    FILE         *out = open_memstream(&text, &size);

    if (out == NULL)
        xalloc_die();
    for (i = 0; i < names->count; i++)
        split[i] = split_name(names->item[i]);
    qsort(split, names->count, sizeof *split, compare_splits);
    for (i = 0; i < names->count; i++)
        if (count == 0 || strcmp(split[count - 1].name, split[i].name) != 0)
            split[count++] = split[i];
    for (i = 0; i < count; i = next) {
        next = group_end(split, count, i);
        if (i > 0)
            fputc(',', out);
        write_group(out, split + i, next - i);
    }
    if (fclose(out) != 0)
        xalloc_die();
    free(split);
    return text;
}

/* An IPv6 address is not folded: its digits are not decimal. */
static struct split split_name(const char *name)
{
    struct split split = { .name = name, .prefix = (int)strlen(name) };
    char         number[HOSTRANGE_DIGITS_MAX + 1] = "";
    int          end = split.prefix;

    split.suffix = name + end;
    if (strchr(name, ':') != NULL)
        return split;
    while (end > 0 && strchr(DIGITS, name[end - 1]) == NULL)
        end--;
    while (split.digits < end && strchr(DIGITS, name[end - 1 - split.digits]) != NULL)
        split.digits++;
    if (split.digits > HOSTRANGE_DIGITS_MAX)
        split.digits = 0;
    if (split.digits == 0)
        return split;
    split.prefix = end - split.digits;
    split.suffix = name + end;
    memcpy(number, name + split.prefix, (size_t)split.digits);
    parse_number(number, 0, INT64_MAX, &split.number, NULL);
    return split;
}

/* Names that can share a bracket are sorted next to each other, in numerical order. */
static int compare_splits(const void *left, const void *right)
{
    const struct split *a = left, *b = right;
    int                 shared = a->prefix < b->prefix ? a->prefix : b->prefix, order;

    order = memcmp(a->name, b->name, (size_t)shared);
    if (order == 0)
        order = a->prefix - b->prefix;
    if (order == 0)
        order = strcmp(a->suffix, b->suffix);
    if (order == 0)
        order = (a->number > b->number) - (a->number < b->number);
    return order != 0 ? order : a->digits - b->digits;
}

static size_t group_end(const struct split *split, size_t count, size_t first)
{
    const struct split *a = &split[first], *b;
    size_t              i;

    for (i = first + 1; i < count && a->digits > 0; i++) {
        b = &split[i];
        if (b->digits == 0 || b->prefix != a->prefix || strcmp(a->suffix, b->suffix) != 0 ||
            memcmp(a->name, b->name, (size_t)a->prefix) != 0)
            break;
    }
    return i;
}

static void write_group(FILE *out, const struct split *split, size_t count)
{
    size_t      i, end;
    const char *between = "[";

    if (count == 1) {
        fputs(split->name, out);
        return;
    }
    fwrite(split->name, 1, (size_t)split->prefix, out);
    for (i = 0; i < count; i = end) {
        for (end = i + 1; end < count && continues(&split[i], &split[end - 1], &split[end]);)
            end++;
        fprintf(out, "%s%.*s", between, split[i].digits, split[i].name + split[i].prefix);
        if (end - i > 1)
            fprintf(out, "-%.*s", split[end - 1].digits,
                    split[end - 1].name + split[end - 1].prefix);
        between = ",";
    }
    fprintf(out, "]%s", split->suffix);
}

/* A range continues as long as expanding it gives the same digits. */
static bool continues(const struct split *first, const struct split *last,
                      const struct split *next)
{
    int width = snprintf(NULL, 0, "%0*lld", first->digits, (long long)last->number + 1);

    return next->number == last->number + 1 && next->digits == width;
}
