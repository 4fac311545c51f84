/* report_html.c - the report as one HTML page without scripts or external files; see report.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "check/report.h"
#include "check/report_curves.h"

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;"
    "color:#222;background:#fff}"
    "h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}"
    ".ok{color:#176b2c}.bad{color:#b3261e}"
    "table{border-collapse:collapse}th,td{padding:.25em .6em;text-align:left}"
    "td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
    ".heat td{text-align:right;min-width:4em;border:2px solid #fff}"
    ".heat td.slow{outline:3px solid #b3261e;outline-offset:-3px}"
    "div.wide{overflow-x:auto}svg{max-width:100%;height:auto}"
    "caption,.note{text-align:left;color:#555;font-size:.9em}";

static void print_head(const struct report *report, FILE *out);
static void print_layers(const struct report *report, FILE *out);
static void print_list(const char *head, const struct strlist *list, FILE *out);
static void print_heat(const struct report *report, FILE *out);
static void print_suspects(const struct report *report, FILE *out);
static void print_cell(const struct matrix *matrix, int from, int to, FILE *out);
static void print_rows(const struct report *report, FILE *out);
static void print_ranks(const struct report *report, FILE *out);
static void escaped(const char *text, FILE *out);

void report_html(const struct report *report, FILE *out)
{
    print_head(report, out);
    print_layers(report, out);
    print_list("The nodes differ in", &report->differences, out);
    print_heat(report, out);
    report_curves(report, out);
    print_rows(report, out);
    print_ranks(report, out);
    fputs("</body>\n</html>\n", out);
}

static void print_head(const struct report *report, FILE *out)
{
    const struct roster *roster = report->roster;
    const bool           ok = report->status == 0;

    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<title>muster check: %s</title>\n<style>%s</style>\n</head>\n<body>\n"
            "<h1 class=\"%s\">muster check %s</h1>\n",
            ok ? "passed" : "FAILED", style, ok ? "ok" : "bad", ok ? "passed" : "FAILED");
    fprintf(out, "<p>%d rank%s on %d node%s, %s, %.0f wrong element%s, %.1f s, muster %s</p>\n",
            roster->size, roster->size == 1 ? "" : "s", roster->nodes,
            roster->nodes == 1 ? "" : "s", report->backend, report->wrong,
            report->wrong == 1 ? "" : "s", report->seconds, PACKAGE_VERSION);
    print_list(NULL, &report->faults, out);
}

static void print_list(const char *head, const struct strlist *list, FILE *out)
{
    size_t i;

    if (list->count == 0)
        return;
    if (head != NULL)
        fprintf(out, "<h2>%s</h2>\n", head);
    fprintf(out, "<ul%s>\n", head == NULL ? " class=\"bad\" id=\"verdict\"" : "");
    for (i = 0; i < list->count; i++) {
        fputs("<li>", out);
        escaped(list->item[i], out);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

static void print_layers(const struct report *report, FILE *out)
{
    static const char *const states[] = { "not run", "ok", "SLOW", "FAILED" };
    int                      i;

    fputs("<table id=\"layers\">\n", out);
    for (i = 0; i < LAYERS; i++) {
        fprintf(out, "<tr><th>%s</th><td class=\"%s\">%s</td><td class=\"n\">%.1f s</td><td>",
                layer_names[i], report->layer[i].state > LAYER_OK ? "bad" : "ok",
                states[report->layer[i].state], report->layer[i].seconds);
        if (report->layer[i].text != NULL)
            escaped(report->layer[i].text, out);
        fputs("</td></tr>\n", out);
    }
    fputs("</table>\n", out);
}

static void print_heat(const struct report *report, FILE *out)
{
    const struct matrix *matrix = report->matrix;
    int                  from, to;

    if (matrix == NULL || matrix->nodes < 2)
        return;
    if (matrix->nodes > REPORT_NODES_MAX) {
        print_suspects(report, out);
        return;
    }
    fprintf(out,
            "<h2>Bandwidth between nodes, GB/s</h2>\n"
            "<p class=\"note\">From the row's node to the column's node. Expected: "
            "%.3f; framed: slower, even when measured alone. Point at a cell for details.</p>\n"
            "<div class=\"wide\"><table class=\"heat\" id=\"matrix\">\n<tr><th></th>",
            matrix->reference / 1e9);
    for (to = 0; to < matrix->nodes; to++) {
        fputs("<th>", out);
        escaped(report->roster->name[to], out);
        fputs("</th>", out);
    }
    fputs("</tr>\n", out);
    for (from = 0; from < matrix->nodes; from++) {
        fputs("<tr><th>", out);
        escaped(report->roster->name[from], out);
        fputs("</th>", out);
        for (to = 0; to < matrix->nodes; to++)
            print_cell(matrix, from, to, out);
        fputs("</tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

/* Prints the suspects as a list, if there are too many nodes for a matrix. */
static void print_suspects(const struct report *report, FILE *out)
{
    const struct matrix *matrix = report->matrix;
    int                  from, to, at;

    fprintf(out, "<h2>Pairs of nodes that were measured again, GB/s; %.3f expected</h2>\n"
                 "<table id=\"matrix\">\n<tr><th>from</th><th>to</th><th class=\"n\">first</th>"
                 "<th class=\"n\">alone</th></tr>\n", matrix->reference / 1e9);
    for (from = 0; from < matrix->nodes; from++) {
        for (to = 0; to < matrix->nodes; to++) {
            at = from * matrix->nodes + to;
            if (matrix->alone[at] <= 0)
                continue;
            fputs("<tr><td>", out);
            escaped(report->roster->name[from], out);
            fputs("</td><td>", out);
            escaped(report->roster->name[to], out);
            fprintf(out, "</td><td class=\"n\">%.3f</td><td class=\"n %s\">%.3f</td></tr>\n",
                    matrix->bandwidth[at] / 1e9, matrix->slow[at] ? "bad" : "ok",
                    matrix->alone[at] / 1e9);
        }
    }
    fputs("</table>\n", out);
}

/* Colors a cell from red at 0 to green at the reference. The scale is logarithmic, because bad
 * links are slower by factors. */
static void print_cell(const struct matrix *matrix, int from, int to, FILE *out)
{
    const int    at = from * matrix->nodes + to;
    const double share = matrix->bandwidth[at] / (matrix->reference > 0 ? matrix->reference : 1);
    double       good = share > 0.05 ? 1 + log(share < 1 ? share : 1) / log(20) : 0;

    if (from == to) {
        fputs("<td></td>", out);
        return;
    }
    fprintf(out, "<td%s style=\"background:hsl(%.0f 70%% 78%%)\" title=\"latency %.1f us, both "
                 "ways at once %.3f",
            matrix->slow[at] ? " class=\"slow\"" : "", good * 130,
            matrix->latency_s[at] * 1e6, matrix->duplex[at] / 1e9);
    if (matrix->alone[at] > 0)
        fprintf(out, ", alone %.3f", matrix->alone[at] / 1e9);
    fprintf(out, "\">%.3f</td>", matrix->bandwidth[at] / 1e9);
}

static void print_rows(const struct report *report, FILE *out)
{
    const struct report_row *row;
    int                      i;

    if (report->rows == 0)
        return;
    fputs("<h2>Collectives</h2>\n<table id=\"collectives\">\n<tr><th></th><th class=\"n\">bytes"
          "</th><th class=\"n\">time, us</th><th class=\"n\">algbw, GB/s</th><th class=\"n\">"
          "busbw, GB/s</th><th class=\"n\">wrong</th></tr>\n", out);
    for (i = 0; i < report->rows; i++) {
        row = &report->row[i];
        fprintf(out, "<tr><th>%s</th><td class=\"n\">%zu</td><td class=\"n\">%.1f</td>"
                     "<td class=\"n\">%.3f</td><td class=\"n\">%.3f</td><td class=\"n\">%.0f"
                     "</td></tr>\n",
                row->collective->name, row->bytes, row->time_s * 1e6, report_algbw(row),
                report_busbw(report, row), row->wrong + row->in_place_wrong);
    }
    fputs("</table>\n", out);
}

static void print_ranks(const struct report *report, FILE *out)
{
    const struct roster_rank *rank;
    int                       i;

    if (report->roster->nodes == 0)
        return; /* the ranks are not known */
    fputs("<h2>Ranks</h2>\n<table id=\"ranks\">\n<tr><th class=\"n\">rank</th><th>node</th>"
          "<th>GPU</th><th class=\"n\">same work, ms</th></tr>\n", out);
    for (i = 0; i < report->roster->size; i++) {
        rank = &report->roster->rank[i];
        fprintf(out, "<tr><td class=\"n\">%d</td><td>", i);
        escaped(report->roster->name[rank->node], out);
        fputs("</td><td>", out);
        escaped(rank->device.usable ? rank->device.name : "none", out);
        fputs("</td><td class=\"n\">", out);
        if (report->work_s != NULL)
            fprintf(out, "%.2f", report->work_s[i] * 1e3);
        fputs("</td></tr>\n", out);
    }
    fputs("</table>\n", out);
}

/* Escapes text for HTML: names and variables of nodes are not trusted. */
static void escaped(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        default:
            if ((unsigned char)*text >= 0x20)
                fputc(*text, out);
        }
    }
}
