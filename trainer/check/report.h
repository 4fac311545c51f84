/* report.h - what the check prints: a table for people, JSON for programs
 *
 * The table has the columns of nccl-tests, so what reads those reads ours. Only
 * rank 0 has a report; for the others all calls do nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REPORT_H
#define MUSTER_REPORT_H

#include <stdio.h>

#include "check/check_options.h"
#include "check/collective.h"
#include "check/roster.h"

struct report {
    FILE       *table; /* NULL: say nothing */
    FILE       *json;  /* NULL: none */
    const char *json_name;
    int         rows;
    const struct collective *last; /* whose heading was printed last */
};

struct report_row {
    const struct collective *collective;
    size_t count;  /* elements */
    size_t bytes;
    double time_s; /* one call, the mean over the ranks */
    double wrong;  /* elements, on all ranks */
};

/* Rank 0 opens it; -1 when --json FILE cannot be created. */
int  report_open(struct report *report, const struct check_options *options,
                 struct error *err);
void report_head(struct report *report, const struct check_options *options,
                 const struct roster *roster, const char *backend, const char *why);
void report_row(struct report *report, const struct check_options *options, int ranks,
                const struct report_row *row);
/* There are too few ranks for it. */
void report_skipped(struct report *report, const struct collective *what);

/* The last line, and the end of the JSON; -1 when not all could be written. */
int  report_close(struct report *report, const struct roster *roster, const char *backend,
                  double wrong, double seconds, struct error *err);

#endif
