/* report_json.c - the complete report as JSON, for programs; see report.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <jansson.h>

#include "check/report.h"

static json_t *text_of(const char *text);
static json_t *list_of(const struct strlist *list);
static json_t *ranks_of(const struct report *report);
static json_t *layers_of(const struct report *report);
static json_t *rows_of(const struct report *report);
static json_t *pairs_of(const struct report *report);

void report_json(const struct report *report, FILE *out)
{
    json_t *all = json_object();
    int     layer;

    json_object_set_new(all, "version", json_string(PACKAGE_VERSION));
    json_object_set_new(all, "ok", json_boolean(report->status == 0));
    json_object_set_new(all, "status", json_integer(report->status));
    for (layer = 0; layer < LAYERS; layer++)
        if (report->layer[layer].state >= LAYER_SLOW)
            break;
    json_object_set_new(all, "failed_layer",
                        layer < LAYERS ? json_string(layer_names[layer]) : json_null());
    json_object_set_new(all, "verdict", list_of(&report->faults));
    json_object_set_new(all, "ranks", json_integer(report->roster->size));
    json_object_set_new(all, "nodes", json_integer(report->roster->nodes));
    json_object_set_new(all, "backend", text_of(report->backend));
    json_object_set_new(all, "backend_why", text_of(report->backend_why));
    json_object_set_new(all, "dtype",
                        json_string(dtype_name((enum dtype)report->options->dtype)));
    json_object_set_new(all, "op", json_string(redop_name((enum redop)report->options->redop)));
    json_object_set_new(all, "rank", ranks_of(report));
    json_object_set_new(all, "layers", layers_of(report));
    json_object_set_new(all, "differences", list_of(&report->differences));
    if (report->matrix != NULL) {
        json_object_set_new(all, "pairs", pairs_of(report));
        json_object_set_new(all, "pairs_reference",
                            json_real(report->matrix->reference / 1e9));
    }
    json_object_set_new(all, "results", rows_of(report));
    json_object_set_new(all, "wrong", json_integer((json_int_t)report->wrong));
    json_object_set_new(all, "seconds", json_real(report->seconds));
    json_dumpf(all, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(all);
}

/* Returns "" for text that is not UTF-8, as a host name or a variable may be. */
static json_t *text_of(const char *text)
{
    json_t *value = json_string(text != NULL ? text : "");

    return value != NULL ? value : json_string("(not UTF-8)");
}

static json_t *list_of(const struct strlist *list)
{
    json_t *array = json_array();
    size_t  i;

    for (i = 0; i < list->count; i++)
        json_array_append_new(array, text_of(list->item[i]));
    return array;
}

static json_t *ranks_of(const struct report *report)
{
    const struct roster_rank *rank;
    json_t                   *array = json_array();
    int                       i;

    for (i = 0; i < report->roster->size && report->roster->nodes > 0; i++) {
        rank = &report->roster->rank[i];
        json_array_append_new(array, json_pack("{s:i, s:i, s:i, s:o, s:o, s:o, s:o}", "rank", i,
                                               "node", rank->node, "local_rank",
                                               rank->local_rank, "host", text_of(rank->host),
                                               "gpu", text_of(rank->device.name), "uuid",
                                               text_of(rank->device.uuid), "work_ms",
                                               report->work_s == NULL
                                                   ? json_null()
                                                   : json_real(report->work_s[i] * 1e3)));
    }
    return array;
}

static json_t *layers_of(const struct report *report)
{
    static const char *const states[] = { "not run", "ok", "slow", "failed" };
    json_t                  *array = json_array();
    int                      i;

    for (i = 0; i < LAYERS; i++)
        json_array_append_new(array, json_pack("{s:s, s:s, s:f, s:o}", "name", layer_names[i],
                                               "state", states[report->layer[i].state],
                                               "seconds", report->layer[i].seconds, "text",
                                               text_of(report->layer[i].text)));
    return array;
}

static json_t *rows_of(const struct report *report)
{
    const struct check_options *options = report->options;
    const struct report_row    *row;
    const struct collective    *what;
    json_t                     *array = json_array(), *one;
    int                         i;

    for (i = 0; i < report->rows; i++) {
        row = &report->row[i];
        what = row->collective;
        one = json_pack("{s:s, s:I, s:I, s:s, s:s, s:i, s:f, s:f, s:f, s:f}", "collective",
                        what->name, "size", (json_int_t)row->bytes, "count",
                        (json_int_t)row->count, "type",
                        what->want ? dtype_name((enum dtype)options->dtype) : "none", "redop",
                        what->reduces ? redop_name((enum redop)options->redop) : "none", "root",
                        what->root, "time_us", row->time_s * 1e6, "algbw", report_algbw(row),
                        "busbw", report_busbw(report, row), "wrong", row->wrong);
        if (row->in_place_s >= 0) {
            json_object_set_new(one, "in_place_time_us", json_real(row->in_place_s * 1e6));
            json_object_set_new(one, "in_place_wrong", json_real(row->in_place_wrong));
        }
        json_array_append_new(array, one);
    }
    return array;
}

static json_t *pairs_of(const struct report *report)
{
    const struct matrix *matrix = report->matrix;
    json_t              *array = json_array();
    int                  from, to, at;

    for (from = 0; from < matrix->nodes; from++) {
        for (to = 0; to < matrix->nodes; to++) {
            at = from * matrix->nodes + to;
            if (from == to ||
                (matrix->nodes > REPORT_NODES_MAX && matrix->alone[at] <= 0))
                continue;
            json_array_append_new(
                array, json_pack("{s:o, s:o, s:f, s:f, s:f, s:o, s:b}", "from",
                                 text_of(report->roster->name[from]), "to",
                                 text_of(report->roster->name[to]), "gbs",
                                 matrix->bandwidth[at] / 1e9, "gbs_both_ways",
                                 matrix->duplex[at] / 1e9, "latency_us",
                                 matrix->latency_s[at] * 1e6, "gbs_alone",
                                 matrix->alone[at] > 0 ? json_real(matrix->alone[at] / 1e9)
                                                       : json_null(),
                                 "slow", matrix->slow[at]));
        }
    }
    return array;
}
