/* report_text.c - the verdict, then its reasons, on one screen; see report.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/report.h"

#include <stdlib.h>
#include <string.h>

#define LINES     25 /* without --full */
#define NODES_MAX 12 /* in a printed matrix */
#define WIDE      16 /* width of a node's name in the matrix */
#define COLUMNS   80
#define INDENT    29 /* of the text about a layer */

/* The output, and the number of lines that are left. */
struct page {
    FILE *out;
    int   left;
};

static void print_verdict(const struct report *report, struct page *page);
static void print_layers(const struct report *report, struct page *page);
static void print_wrapped(struct page *page, const char *text);
static void print_list(struct page *page, const char *head, const struct strlist *list);
static void print_matrix(const struct report *report, struct page *page);
static void print_collectives(const struct report *report, struct page *page);
static void print_rows(const struct report *report, FILE *out);

void report_text(const struct report *report, FILE *out)
{
    struct page page = { out, report->options->full ? 1 << 20 : LINES };

    print_verdict(report, &page);
    print_layers(report, &page);
    print_list(&page, "the nodes differ in:", &report->differences);
    print_matrix(report, &page);
    print_collectives(report, &page);
    if (report->options->full && report->rows > 0)
        print_rows(report, out);
}

static void print_verdict(const struct report *report, struct page *page)
{
    const struct roster *roster = report->roster;
    const char          *verdict = report->status == 0 ? "passed" : "FAILED";
    int                  layer;
    size_t               i;

    for (layer = 0; layer < LAYERS - 1; layer++)
        if (report->layer[layer].state >= LAYER_SLOW)
            break;
    fprintf(page->out, "check %s", verdict);
    if (report->status != 0)
        fprintf(page->out, " at %s", layer_names[layer]);
    fprintf(page->out, ": %d rank%s", roster->size, roster->size == 1 ? "" : "s");
    if (roster->nodes > 0)
        fprintf(page->out, " on %d node%s, %s", roster->nodes, roster->nodes == 1 ? "" : "s",
                report->backend);
    fprintf(page->out, ", %.0f wrong element%s, %.1f s\n", report->wrong,
            report->wrong == 1 ? "" : "s", report->seconds);
    page->left--;
    for (i = 0; i < report->faults.count && page->left > LAYERS + 3; i++, page->left--)
        fprintf(page->out, "  %s\n", report->faults.item[i]);
    if (i < report->faults.count) {
        fprintf(page->out, "  and %zu more (--full, --json)\n", report->faults.count - i);
        page->left--;
    }
}

static void print_layers(const struct report *report, struct page *page)
{
    static const char *const states[] = { "", "ok", "SLOW", "FAILED" };
    int                      i;

    for (i = 0; i < LAYERS; i++, page->left--) {
        if (report->layer[i].state == LAYER_NOT_RUN) {
            fprintf(page->out, "%-12s-\n", layer_names[i]);
            continue;
        }
        fprintf(page->out, "%-12s%-7s%6.1f s", layer_names[i],
                states[report->layer[i].state], report->layer[i].seconds);
        print_wrapped(page, report->layer[i].text);
        fputc('\n', page->out);
    }
}

/* Appends text to the current line, and continues it below. Does not break words. */
static void print_wrapped(struct page *page, const char *text)
{
    const size_t room = COLUMNS - INDENT;
    size_t       size;

    while (*text != '\0') {
        size = strlen(text);
        if (size > room)
            for (size = room; size > 0 && text[size] != ' '; size--)
                ;
        if (size == 0)
            size = strcspn(text, " ");
        fprintf(page->out, "  %.*s", (int)size, text);
        text += size + strspn(text + size, " ");
        if (*text != '\0') {
            fprintf(page->out, "\n%*s", INDENT - 2, "");
            page->left--;
        }
    }
}

static void print_list(struct page *page, const char *head, const struct strlist *list)
{
    size_t i;

    if (list->count == 0 || page->left < 3)
        return;
    fprintf(page->out, "%s\n", head);
    page->left--;
    for (i = 0; i < list->count && (page->left > 1 || i + 1 == list->count); i++, page->left--)
        fprintf(page->out, "  %.150s\n", list->item[i]);
    if (i < list->count) {
        fprintf(page->out, "  and %zu more (--full, --json)\n", list->count - i);
        page->left--;
    }
}

/* Prints GB/s from each node (a row) to each other node. Leaves a matrix that does not fit to
 * the HTML page. */
static void print_matrix(const struct report *report, struct page *page)
{
    const struct matrix *matrix = report->matrix;
    char *const         *name = report->roster->name;
    int                  from, to, nodes = matrix != NULL ? matrix->nodes : 0;
    size_t               length;

    if (nodes < 2 || (!report->options->full && nodes > NODES_MAX) || page->left < nodes + 1)
        return;
    fprintf(page->out, "%-*s", WIDE, "GB/s from, to");
    for (to = 0; to < nodes; to++) {
        length = strlen(name[to]); /* print the end of the name, where names often differ */
        fprintf(page->out, " %8s", name[to] + (length > 8 ? length - 8 : 0));
    }
    for (from = 0; from < nodes; from++) {
        fprintf(page->out, "\n%-*.*s", WIDE, WIDE, name[from]);
        for (to = 0; to < nodes; to++)
            if (from == to)
                fprintf(page->out, " %8s", "-");
            else
                fprintf(page->out, "%s%8.3f", matrix->slow[from * nodes + to] ? "!" : " ",
                        matrix->bandwidth[from * nodes + to] / 1e9);
    }
    fputc('\n', page->out);
    page->left -= nodes + 1;
}

/* Prints the largest size of each collective. */
static void print_collectives(const struct report *report, struct page *page)
{
    const struct report_row *row;
    int                      i;

    if (report->rows == 0 || page->left < 3 || report->options->full)
        return;
    fprintf(page->out, "%-16s%12s  %12s  %12s\n", "collective", "bytes", "time us",
            "busbw GB/s");
    page->left--;
    for (i = 0; i < report->rows && page->left > 0; i++) {
        row = &report->row[i];
        if (i + 1 < report->rows && report->row[i + 1].collective == row->collective)
            continue;
        fprintf(page->out, "%-16s%12zu  %12.1f  %12.3f\n", row->collective->name, row->bytes,
                row->time_s * 1e6, report_busbw(report, row));
        page->left--;
    }
}

static void print_rows(const struct report *report, FILE *out)
{
    struct report so_far = *report;
    int           i;

    report_table_head(report, out);
    for (i = 0; i < report->rows; i++) {
        so_far.rows = i + 1;
        report_table_row(&so_far, out, &report->row[i]);
    }
}
