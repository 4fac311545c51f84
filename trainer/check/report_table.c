/* report_table.c - the columns of nccl-tests, for programs that parse them; see report.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/report.h"

static void print_half(FILE *out, double time_s, size_t bytes, double factor, double wrong);
static bool is_first(const struct report *report, const struct report_row *row);

void report_table_head(const struct report *report, FILE *out)
{
    const struct roster      *roster = report->roster;
    const struct roster_rank *rank;
    int                       i;

    fprintf(out, "# muster-train %s check: %d rank%s on %d node%s%s, %s%s%s%s\n",
            PACKAGE_VERSION, roster->size, roster->size == 1 ? "" : "s", roster->nodes,
            roster->nodes == 1 ? "" : "s",
            roster->machines < roster->nodes ? " (some nodes share a machine)" : "",
            report->backend, *report->backend_why ? " (" : "", report->backend_why,
            *report->backend_why ? ")" : "");
    for (i = 0; i < roster->size; i++) {
        rank = &roster->rank[i];
        fprintf(out, "#   rank %3d  node %2d  %s  %s %s\n", i, rank->node, rank->host,
                rank->device.usable ? rank->device.name : "cpu", rank->device.uuid);
    }
    fputs("#\n"
          "#                                                        out-of-place"
          "                       in-place\n"
          "#       size         count      type   redop    root"
          "     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n"
          "#        (B)    (elements)                          "
          "     (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n",
          out);
    if (roster->size == 1)
        fputs("# one rank: no data is sent, so busbw may be 0\n", out);
}

void report_table_row(const struct report *report, FILE *out, const struct report_row *row)
{
    const struct collective *what = row->collective;
    const char  *type = what->want ? dtype_name((enum dtype)report->options->dtype) : "none";
    const char  *redop = what->reduces ? redop_name((enum redop)report->options->redop) : "none";
    const double factor = what->bus_factor ? what->bus_factor(report->roster->size) : 0;

    if (is_first(report, row))
        fprintf(out, "# %s\n", what->name);
    fprintf(out, "%12zu  %12zu  %8s  %6s  %6d", row->bytes, row->count, type, redop, what->root);
    print_half(out, row->time_s, row->bytes, factor, row->wrong);
    if (row->in_place_s >= 0)
        print_half(out, row->in_place_s, row->bytes, factor, row->in_place_wrong);
    else
        fprintf(out, "  %7s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A");
    fputc('\n', out);
}

static void print_half(FILE *out, double time_s, size_t bytes, double factor, double wrong)
{
    const double algbw = time_s > 0 ? (double)bytes / time_s / 1e9 : 0;

    fprintf(out, "  %7.*f  %6.2f  %6.2f  %6.0f", time_s < 0.01 ? 2 : 0, time_s * 1e6, algbw,
            algbw * factor, wrong);
}

static bool is_first(const struct report *report, const struct report_row *row)
{
    return report->rows < 2 || report->row[report->rows - 2].collective != row->collective;
}

/* Prints the lines that parsers of nccl-tests look for, and muster's own. */
void report_table_foot(const struct report *report, FILE *out)
{
    const struct roster *roster = report->roster;
    double               sum = 0;
    int                  i, wrong_rows = 0;
    size_t               line;

    for (i = 0; i < report->rows; i++) {
        sum += report_busbw(report, &report->row[i]);
        wrong_rows += report->row[i].wrong + report->row[i].in_place_wrong > 0;
    }
    if (report->rows > 0) {
        fprintf(out, "# Out of bounds values : %d %s\n", wrong_rows,
                wrong_rows > 0 ? "FAILED" : "OK");
        fprintf(out, "# Avg bus bandwidth    : %g\n#\n", sum / report->rows);
    }
    for (line = 0; line < report->faults.count; line++)
        fprintf(out, "# %s\n", report->faults.item[line]);
    fprintf(out, "# check %s: %d rank%s on %d node%s, %s, %d results, %.0f wrong element%s, "
                 "%.1f s\n",
            report->status != 0 ? "FAILED" : "passed", roster->size,
            roster->size == 1 ? "" : "s", roster->nodes, roster->nodes == 1 ? "" : "s",
            report->backend, report->rows, report->wrong, report->wrong == 1 ? "" : "s",
            report->seconds);
}
