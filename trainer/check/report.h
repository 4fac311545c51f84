/* report.h - the results of the check, and their output
 *
 * Rank 0 collects the results; on the other ranks all calls do nothing. The text begins with
 * the verdict and is short. report_table.c prints the columns of nccl-tests, for programs that
 * parse them. The JSON file and the HTML page have everything.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REPORT_H
#define MUSTER_REPORT_H

#include <stdio.h>

#include "check/check_options.h"
#include "check/collective.h"
#include "check/nodes/matrix.h"
#include "check/roster.h"
#include "strlist.h"

/* The layers of the check, in order. The check stops at the first layer that fails. */
enum layer { LAYER_PREFLIGHT, LAYER_REACH, LAYER_CONNECT, LAYER_VALUES, LAYER_PAIRS,
             LAYER_COLLECTIVES, LAYER_ARRIVAL, LAYERS };
enum layer_state { LAYER_NOT_RUN, LAYER_OK, LAYER_SLOW, LAYER_FAILED };

struct report_row {
    const struct collective *collective;
    size_t count;  /* elements */
    size_t bytes;
    double time_s; /* per call, mean over the ranks */
    double wrong;  /* wrong elements on all ranks */
    double in_place_s, in_place_wrong; /* in_place_s < 0: not run */
};

struct report {
    bool                        is_on;
    const struct check_options *options;
    const struct roster        *roster;
    const char                 *backend, *backend_why;
    const struct matrix        *matrix; /* NULL: not measured */
    const double               *work_s; /* of each rank; NULL: not measured */
    struct {
        enum layer_state state;
        double           seconds;
        char            *text; /* owned; NULL: nothing to say */
    } layer[LAYERS];
    struct strlist     faults;      /* the verdict's lines */
    struct strlist     differences; /* between nodes; none of them is an error */
    struct report_row *row;
    int                rows;
    double             wrong;
    int                status; /* exit status of the program */
    double             seconds;
    FILE              *text, *json, *html; /* json, html: NULL if not asked for */
};

extern const char *const layer_names[LAYERS];

/* With more nodes, only the pairs that were measured again are written. */
#define REPORT_NODES_MAX 200

/* Called by rank 0. -1 if a file cannot be created. */
int  report_open(struct report *report, const struct check_options *options,
                 struct error *err);
void report_layer(struct report *report, enum layer layer, enum layer_state state,
                  double seconds, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Adds a row. With --nccl-tests, prints it at once. */
void report_row(struct report *report, const struct report_row *row);
/* Writes the verdict and everything else; -1 if a write fails. */
int  report_close(struct report *report, struct error *err);
void report_clear(struct report *report);

/* In GB/s (1e9 bytes), as in nccl-tests. */
double report_algbw(const struct report_row *row);
double report_busbw(const struct report *report, const struct report_row *row);

/* The writers. */
void report_text(const struct report *report, FILE *out);
void report_table_head(const struct report *report, FILE *out);
void report_table_row(const struct report *report, FILE *out, const struct report_row *row);
void report_table_foot(const struct report *report, FILE *out);
void report_json(const struct report *report, FILE *out);
void report_html(const struct report *report, FILE *out);

#endif
