/* metrics_text.c - see metrics_text.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "metrics/metrics_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize.h"

#define VALUE_SIZE 40
#define WHOLE_MAX  1e15 /* below it each whole number is one of double */
#define OPEN_MEDIA "application/openmetrics-text"

static void add_head(struct metrics_text *text, const char *what, const char *words);
static void add_name(struct metrics_text *text, bool is_sample);
static void add_labels(struct metrics_text *text, const struct metrics_label *label,
                       bool *is_first);
static void add_label(struct metrics_text *text, const struct metrics_label *label);
static void add_value(struct metrics_text *text, double value);

void metrics_text_begin(struct metrics_text *text, enum metrics_format format,
                        const struct metrics_label *common)
{
    *text = (struct metrics_text){ .format = format, .common = common };
}

void metrics_text_family(struct metrics_text *text, enum metrics_type type, const char *name,
                         const char *unit, const char *help)
{
    static const char *const words[] = { [METRICS_GAUGE] = "gauge",
                                         [METRICS_COUNTER] = "counter",
                                         [METRICS_INFO] = "info" };
    bool                     is_open = text->format == METRICS_OPEN;

    text->type = type;
    text->family = name;
    add_head(text, "TYPE", type == METRICS_INFO && !is_open ? "gauge" : words[type]);
    if (unit != NULL && is_open)
        add_head(text, "UNIT", unit);
    add_head(text, "HELP", help);
}

static void add_head(struct metrics_text *text, const char *what, const char *words)
{
    buffer_add_text(&text->out, "# ");
    buffer_add_text(&text->out, what);
    buffer_add_text(&text->out, " ");
    add_name(text, false);
    buffer_add_text(&text->out, " ");
    buffer_add_text(&text->out, words);
    buffer_add_text(&text->out, "\n");
}

/* In the older format a family is called as its samples are. */
static void add_name(struct metrics_text *text, bool is_sample)
{
    buffer_add_text(&text->out, text->family);
    if (!is_sample && text->format == METRICS_OPEN)
        return;
    if (text->type == METRICS_COUNTER)
        buffer_add_text(&text->out, "_total");
    else if (text->type == METRICS_INFO)
        buffer_add_text(&text->out, "_info");
}

void metrics_text_add(struct metrics_text *text, double value, const struct metrics_label *label)
{
    bool is_first = true;

    if (text->type == METRICS_COUNTER && !(value >= 0))
        return;
    add_name(text, true);
    add_labels(text, text->common, &is_first);
    add_labels(text, label, &is_first);
    if (!is_first)
        buffer_add_text(&text->out, "}");
    buffer_add_text(&text->out, " ");
    add_value(text, value);
    buffer_add_text(&text->out, "\n");
}

static void add_labels(struct metrics_text *text, const struct metrics_label *label,
                       bool *is_first)
{
    for (; label != NULL && label->name != NULL; label++) {
        buffer_add_text(&text->out, *is_first ? "{" : ",");
        add_label(text, label);
        *is_first = false;
    }
}

/* A reader refuses the whole text if it is not UTF-8. What is safe to print has no line break
 * either. */
static void add_label(struct metrics_text *text, const struct metrics_label *label)
{
    const char *value = label->value != NULL ? label->value : "";
    char       *safe = sanitize_text(value, strlen(value)), *at;

    buffer_add_text(&text->out, label->name);
    buffer_add_text(&text->out, "=\"");
    for (at = safe; *at != '\0'; at++) {
        if (*at == '\\' || *at == '"')
            buffer_add_text(&text->out, "\\");
        buffer_add(&text->out, at, 1);
    }
    buffer_add_text(&text->out, "\"");
    free(safe);
}

static void add_value(struct metrics_text *text, double value)
{
    char words[VALUE_SIZE];

    if (isnan(value))
        snprintf(words, sizeof words, "NaN");
    else if (isinf(value))
        snprintf(words, sizeof words, value > 0 ? "+Inf" : "-Inf");
    else if (value > -WHOLE_MAX && value < WHOLE_MAX && value == (double)(long long)value)
        snprintf(words, sizeof words, "%lld", (long long)value);
    else
        snprintf(words, sizeof words, "%.15g", value);
    buffer_add_text(&text->out, words);
}

void metrics_text_one(struct metrics_text *text, enum metrics_type type, const char *name,
                      const char *unit, double value, const char *help)
{
    metrics_text_family(text, type, name, unit, help);
    metrics_text_add(text, value, NULL);
}

void metrics_text_end(struct metrics_text *text)
{
    if (text->format == METRICS_OPEN)
        buffer_add_text(&text->out, "# EOF\n");
    buffer_add(&text->out, "", 1);
    text->out.size--;
}

const char *metrics_text_type(enum metrics_format format)
{
    return format == METRICS_OPEN ? OPEN_MEDIA "; version=1.0.0; charset=utf-8"
                                  : "text/plain; version=0.0.4; charset=utf-8";
}

enum metrics_format metrics_text_accepted(const char *accept)
{
    return accept != NULL && strcasestr(accept, OPEN_MEDIA) != NULL ? METRICS_OPEN
                                                                    : METRICS_PROMETHEUS;
}
