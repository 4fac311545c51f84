/* report.c - see report.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/report.h"

#include <errno.h>
#include <string.h>

static void table_head(FILE *out, const struct roster *roster, const char *backend,
                       const char *why);
static void json_text(FILE *out, const char *name, const char *text, const char *behind);

int report_open(struct report *report, const struct check_options *options,
                struct error *err)
{
    *report = (struct report){ .table = stdout, .json_name = options->json };
    if (options->json != NULL && strcmp(options->json, "-") == 0) {
        report->table = stderr;
        report->json = stdout;
    } else if (options->json != NULL) {
        report->json = fopen(options->json, "we");
        if (report->json == NULL)
            return err_set(err, "--json %s: %s", options->json, strerror(errno));
    }
    return 0;
}

void report_head(struct report *report, const struct check_options *options,
                 const struct roster *roster, const char *backend, const char *why)
{
    const struct roster_rank *rank;
    FILE                     *json = report->json;
    int                       i;

    if (report->table == NULL)
        return;
    table_head(report->table, roster, backend, why);
    fflush(report->table);
    if (json == NULL)
        return;
    fprintf(json, "{\"version\": \"%s\", \"ranks\": %d, \"nodes\": %d, ", PACKAGE_VERSION,
            roster->size, roster->nodes);
    json_text(json, "backend", backend, ", ");
    json_text(json, "backend_why", why, ", ");
    fprintf(json, "\"dtype\": \"%s\", \"op\": \"%s\",\n \"rank\": [",
            dtype_name((enum dtype)options->dtype), redop_name((enum redop)options->redop));
    for (i = 0; i < roster->size; i++) {
        rank = &roster->rank[i];
        fprintf(json, "%s\n  {\"rank\": %d, \"node\": %d, \"local_rank\": %d, ",
                i > 0 ? "," : "", i, rank->node, rank->local_rank);
        json_text(json, "host", rank->host, ", ");
        json_text(json, "gpu", rank->device.name, ", ");
        json_text(json, "uuid", rank->device.uuid, "}");
    }
    fputs("],\n \"results\": [", json);
}

void report_row(struct report *report, const struct check_options *options, int ranks,
                const struct report_row *row)
{
    const struct collective *what = row->collective;
    const char *type = what->want ? dtype_name((enum dtype)options->dtype) : "none";
    const char *redop = what->reduces ? redop_name((enum redop)options->redop) : "none";
    double      algbw = row->time_s > 0 ? (double)row->bytes / row->time_s / 1e9 : 0;
    double      busbw = what->bus_factor ? algbw * what->bus_factor(ranks) : 0;

    if (report->table == NULL)
        return;
    if (what != report->last)
        fprintf(report->table, "# %s\n", what->name);
    report->last = what;
    fprintf(report->table, "%11zu %11zu %8s %5s %4d %8.*f %7.2f %7.2f %6.0f\n",
            row->bytes, row->count, type, redop, what->root, row->time_s < 0.01 ? 2 : 0,
            row->time_s * 1e6, algbw, busbw, row->wrong);
    fflush(report->table);
    if (report->json != NULL)
        fprintf(report->json,
                "%s\n  {\"collective\": \"%s\", \"size\": %zu, \"count\": %zu, \"type\": \"%s\", "
                "\"redop\": \"%s\", \"root\": %d, \"time_us\": %.3f, \"algbw\": %.6f, "
                "\"busbw\": %.6f, \"wrong\": %.0f}",
                report->rows > 0 ? "," : "", what->name, row->bytes, row->count, type, redop,
                what->root, row->time_s * 1e6, algbw, busbw, row->wrong);
    report->rows++;
}

void report_skipped(struct report *report, const struct collective *what)
{
    if (report->table != NULL)
        fprintf(report->table, "# %s: needs %d ranks\n", what->name, what->ranks_min);
}

int report_close(struct report *report, const struct roster *roster, const char *backend,
                 double wrong, double seconds, struct error *err)
{
    int bad;

    if (report->table == NULL)
        return 0;
    fprintf(report->table, "# check %s: %d rank%s on %d node%s, %s, %d results, %.0f wrong "
                           "element%s, %.1f s\n",
            wrong > 0 ? "FAILED" : "passed", roster->size, roster->size == 1 ? "" : "s",
            roster->nodes, roster->nodes == 1 ? "" : "s", backend, report->rows, wrong,
            wrong == 1 ? "" : "s", seconds);
    if (report->json != NULL) {
        fprintf(report->json, "],\n \"wrong\": %.0f, \"ok\": %s, \"seconds\": %.3f}\n", wrong,
                wrong > 0 ? "false" : "true", seconds);
        bad = ferror(report->json);
        if (report->json == stdout ? fflush(stdout) != 0 : fclose(report->json) != 0)
            bad = 1;
        report->json = NULL;
        if (bad)
            return err_set(err, "--json %s: %s", report->json_name, strerror(errno));
    }
    if (fflush(report->table) != 0 || ferror(report->table))
        return err_set(err, "standard output: %s", strerror(errno));
    return 0;
}

static void table_head(FILE *out, const struct roster *roster, const char *backend,
                       const char *why)
{
    const struct roster_rank *rank;
    int                       i;

    fprintf(out, "# muster-train %s check: %d rank%s on %d node%s, %s\n",
            PACKAGE_VERSION, roster->size, roster->size == 1 ? "" : "s", roster->nodes,
            roster->nodes == 1 ? "" : "s", backend);
    if (*why)
        fprintf(out, "# %s, since %s\n", backend, why);
    if (roster->machines < roster->nodes)
        fputs("# not all nodes are machines of their own\n", out);
    for (i = 0; i < roster->size; i++) {
        rank = &roster->rank[i];
        fprintf(out, "#   rank %3d  node %2d  %s  %s%s%s\n", i, rank->node, rank->host,
                rank->device.usable ? rank->device.name : "cpu",
                rank->device.uuid[0] != '\0' ? " " : "", rank->device.uuid);
    }
    fputs("#\n"
          "#      size       count     type redop root     time   algbw   busbw #wrong\n"
          "#       (B)  (elements)                          (us)  (GB/s)  (GB/s)\n",
          out);
    if (roster->size == 1)
        fputs("# one rank: nothing crosses a bus, busbw is 0 where all could stay local\n", out);
}

/* Host and GPU names are plain in practice; nothing here relies on it. */
static void json_text(FILE *out, const char *name, const char *text, const char *behind)
{
    fprintf(out, "\"%s\": \"", name);
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
            fputc('?', out);
        else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
    fprintf(out, "\"%s", behind);
}
