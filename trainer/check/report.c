/* report.c - see report.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

const char *const layer_names[LAYERS] = { "preflight", "reach",       "connect", "values",
                                          "pairs",     "collectives", "arrival" };

static int open_file(FILE **file, const char *option, const char *name, struct error *err);
static int close_file(FILE **file, const char *option, const char *name, struct error *err);

int report_open(struct report *report, const struct check_options *options,
                struct error *err)
{
    *report = (struct report){ .is_on = true, .options = options, .text = stdout };
    if (open_file(&report->json, "json", options->json, err) < 0 ||
        open_file(&report->html, "html", options->html, err) < 0)
        return -1;
    if (report->json == stdout && report->html == stdout)
        return err_set(err, "--json and --html: only one of them can be standard output");
    if (report->json == stdout || report->html == stdout)
        report->text = stderr;
    return 0;
}

static int open_file(FILE **file, const char *option, const char *name, struct error *err)
{
    if (name == NULL)
        return 0;
    *file = strcmp(name, "-") == 0 ? stdout : fopen(name, "we");
    if (*file != NULL)
        return 0;
    return err_set(err, "--%s %s: %s%s", option, name, strerror(errno),
                   errno == ENOENT ? " (rank 0 writes it, on its node; \"-\" is standard output)"
                                   : "");
}

void report_layer(struct report *report, enum layer layer, enum layer_state state,
                  double seconds, const char *format, ...)
{
    char    text[300];
    va_list ap;

    if (!report->is_on)
        return;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    report->layer[layer].state = state;
    report->layer[layer].seconds = seconds;
    free(report->layer[layer].text);
    report->layer[layer].text = xstrdup(text);
}

void report_row(struct report *report, const struct report_row *row)
{
    if (!report->is_on)
        return;
    report->row = xreallocarray(report->row, (size_t)report->rows + 1, sizeof *report->row);
    report->row[report->rows++] = *row;
    report->wrong += row->wrong + row->in_place_wrong;
    if (!report->options->nccl_tests)
        return;
    if (report->rows == 1)
        report_table_head(report, report->text);
    report_table_row(report, report->text, row);
    fflush(report->text);
}

double report_algbw(const struct report_row *row)
{
    return row->time_s > 0 ? (double)row->bytes / row->time_s / 1e9 : 0;
}

double report_busbw(const struct report *report, const struct report_row *row)
{
    const struct collective *what = row->collective;

    return what->bus_factor ? report_algbw(row) * what->bus_factor(report->roster->size) : 0;
}

int report_close(struct report *report, struct error *err)
{
    const struct check_options *options = report->options;

    if (!report->is_on)
        return 0;
    report->is_on = false;
    if (options->nccl_tests)
        report_table_foot(report, report->text);
    else
        report_text(report, report->text);
    if (report->json != NULL)
        report_json(report, report->json);
    if (report->html != NULL)
        report_html(report, report->html);
    if (close_file(&report->json, "json", options->json, err) < 0 ||
        close_file(&report->html, "html", options->html, err) < 0)
        return -1;
    if (fflush(report->text) != 0 || ferror(report->text))
        return err_set(err, "standard output: %s", strerror(errno));
    return 0;
}

static int close_file(FILE **file, const char *option, const char *name, struct error *err)
{
    FILE *out = *file;
    int   bad;

    if (out == NULL)
        return 0;
    *file = NULL;
    bad = ferror(out);
    if (out == stdout ? fflush(out) != 0 : fclose(out) != 0)
        bad = 1;
    return bad ? err_set(err, "--%s %s: %s", option, name, strerror(errno)) : 0;
}

void report_clear(struct report *report)
{
    int layer;

    for (layer = 0; layer < LAYERS; layer++)
        free(report->layer[layer].text);
    strlist_clear(&report->faults);
    strlist_clear(&report->differences);
    free(report->row);
    *report = (struct report){ 0 };
}
